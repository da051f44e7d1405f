import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { listThreads } from '../target/index.ts';
import { beganBetween, openForProcesses } from './beginning-threads.ts';
import { addNote, type Note } from './notes.ts';

const SLEEPS = 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)';

/** Opens of this process during which threads begin: `begin` of the tries make one after they were listed. */
async function openWhile(begin: (open: number) => boolean) {
  const workers: Worker[] = [];
  const notes: Note[] = [{ kind: 'task-gone', text: 'of the planning' }];
  let opens = 0;
  let closed = 0;
  try {
    const opened = openForProcesses({
      pids: [process.pid],
      notes,
      open() {
        opens++;
        notes.push({ kind: 'task-gone', text: `of open ${opens}` });
        addNote(notes, { kind: 'ring-smaller', text: 'smaller' });
        const tasks = listThreads(process.pid);
        if (begin(opens)) workers.push(new Worker(SLEEPS, { eval: true }));
        return { tasks, close: () => closed++ };
      },
      tasksOf: ({ tasks }) => tasks,
    });
    const now = listThreads(process.pid);
    return { opens, closed, notes, missing: now.filter((tid) => !opened.tasks.includes(tid)) };
  } finally {
    for (const worker of workers) await worker.terminate();
  }
}

test('threads that begin between the list and the last event: all is opened again with them', async () => {
  const { opens, closed, notes, missing } = await openWhile((open) => open <= 2);
  assert.deepEqual([opens, closed, missing], [3, 2, []]);
  const texts = notes.map(({ text }) => text);
  assert.deepEqual(texts, ['of the planning', 'smaller', 'of open 3']);
});

test('where threads begin again and again it is said, and what was opened last is kept', async () => {
  const { opens, closed, notes, missing } = await openWhile(() => true);
  assert.deepEqual([opens, closed, missing.length], [5, 4, 1]);
  assert.match(notes.at(-1)!.text, /a thread that began meanwhile may be missing/);
  assert.equal(notes.at(-1)!.kind, 'threads-missed');
});

test('numbers of tasks begin again at the lowest', () => {
  assert.deepEqual(
    [100, 101, 105, 106].map((tid) => beganBetween(tid, 100, 105)),
    [false, true, true, false],
  );
  assert.deepEqual(
    [99, 100, 101, 300, 305, 306].map((tid) => beganBetween(tid, 100, 100)),
    Array(6).fill(false),
  );
  assert.deepEqual(
    [32_000, 32_001, 305, 306].map((tid) => beganBetween(tid, 32_000, 305)),
    [false, true, true, false],
  );
});
