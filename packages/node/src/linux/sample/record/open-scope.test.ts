/** What is attached to events is there for each thread of the target, or all is opened again. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { parseEvents } from '@counterpoint/core/events';
import { systemEventLookup } from '../../kernel/local-pmus/index.ts';
import { type Note, planEvents } from '../../kernel/perf-events/index.ts';
import { liveHandles, realSys } from '../../kernel/sys/index.ts';
import { listThreads } from '../../kernel/target/index.ts';
import { openForScope } from './open-scope.ts';
import { openTarget, type Scope, samplingOptions } from './request.ts';

const SLEEPS = 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)';

test('a thread that begins while something is attached is watched, and nothing is attached twice', async () => {
  const options = { frequency: 99 };
  const scope: Scope = { kind: 'processes', pids: [process.pid] };
  const notes: Note[] = [];
  const workers: Worker[] = [];
  const attached = new Set<number>();
  try {
    const { sampled, target } = openForScope({
      sys: realSys,
      scope,
      options,
      target: openTarget(scope, options, null),
      planned: planEvents(
        parseEvents('cpu-clock:u', systemEventLookup()),
        samplingOptions(scope, options, notes),
      ),
      pages: { wanted: 8, enough: 8 },
      notes,
      attach() {
        const open = workers.length;
        attached.add(open);
        if (open < 2) workers.push(new Worker(SLEEPS, { eval: true }));
        return { [Symbol.dispose]: () => void attached.delete(open) };
      },
    });
    const missing = listThreads(process.pid).filter((tid) => !target.tasks.includes(tid));
    sampled.close();
    assert.deepEqual([missing, workers.length, attached.size], [[], 2, 1]);
    assert.deepEqual(notes, []);
  } finally {
    for (const worker of workers) await worker.terminate();
  }
  assert.deepEqual(liveHandles(), []);
});

test('where it cannot be attached the events are closed, too', () => {
  const scope: Scope = { kind: 'processes', pids: [process.pid] };
  const notes: Note[] = [];
  const parsed = parseEvents('cpu-clock:u', systemEventLookup());
  assert.throws(
    () =>
      openForScope({
        sys: realSys,
        scope,
        options: {},
        target: openTarget(scope, {}, null),
        planned: planEvents(parsed, samplingOptions(scope, {}, notes)),
        pages: { wanted: 8, enough: 8 },
        notes,
        attach: () => {
          throw new Error('not today');
        },
      }),
    /not today/,
  );
  assert.deepEqual(liveHandles(), []);
});
