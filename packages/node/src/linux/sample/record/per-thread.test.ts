/** `record --per-thread`: events and rings of single threads, read by perf and beside perf's own. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { counterpoint } from '../../../test/command-line.ts';
import { perf, perfIsMissing } from '../../../test/perf.ts';
import { until } from '../../../test/until-told.ts';

const skip = perfIsMissing();

describe('record --per-thread', { skip }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'counterpoint-test-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const data = join(folder, 'perf.data');
  const SHELL = 'i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; gzip -9 -c /usr/bin/perf > /dev/null';
  const record = (...words: string[]) =>
    counterpoint('record', '--per-thread', '-e', 'cpu-clock', '-o', data, ...words);
  const linesOf = (text: string) => text.split('\n').filter((line) => line.trim() !== '');
  /** `cpu-clock: type: 1, ...` without what perf leaves out where there is one ring. */
  const attrOf = (path: string) =>
    linesOf(perf('evlist', '-v', '-i', path))
      .find((line) => line.startsWith('cpu-clock'))!
      .split(', ')
      .filter((part) => /^(inherit|task|mmap|comm|enable_on_exec|disabled|freq)\b/.test(part))
      .sort();

  test('of a command: its own thread, no child; the attr is perf’s', async () => {
    assert.equal((await record('--', 'sh', '-c', SHELL)).status, 0);
    const theirs = join(folder, 'theirs');
    perf('record', '-q', '--per-thread', '-e', 'cpu-clock', '-o', theirs, '--', 'sh', '-c', SHELL);
    const commsOf = (path: string) => [
      ...new Set(linesOf(perf('script', '-i', path, '-F', 'comm')).map((line) => line.trim())),
    ];
    assert.deepEqual(commsOf(data), ['sh']);
    assert.deepEqual(commsOf(theirs), ['sh']);
    assert.deepEqual(attrOf(data), attrOf(theirs));
    assert.ok(!attrOf(data).some((part) => part.startsWith('inherit')));
    // Both read it alike.
    const rows = (text: string) =>
      linesOf(text)
        .map((line) => line.trim())
        .sort();
    const ours = await counterpoint('script', '-i', data, '-F', 'comm,tid,time,event,ip');
    assert.deepEqual(rows(ours.out), rows(perf('script', '-i', data, '-F', 'comm,tid,time,event,ip')));
  });

  /** A program with threads that work until it is ended. */
  async function withThreads(use: (child: ChildProcess, threads: number[]) => Promise<void>): Promise<void> {
    const code = `
import hashlib, threading
def work():
    data = b'x' * 1000000
    while True: hashlib.sha256(data).digest()
for _ in range(3): threading.Thread(target=work, daemon=True).start()
threading.Event().wait()`;
    const child = spawn('/usr/bin/python3', ['-c', code], { stdio: 'ignore' });
    try {
      const threads = () => readdirSync(`/proc/${child.pid}/task`).map(Number);
      await until(() => threads().length === 4);
      await use(child, threads());
    } finally {
      child.kill('SIGKILL');
      await once(child, 'close');
    }
  }

  test('of a process: every thread has its own ring, and all are in the file', async () => {
    await withThreads(async ({ pid }, threads) => {
      const { out, status } = await record('-p', String(pid), '--plan', '--json', '--', 'sleep', '0.1');
      assert.equal(status, 0);
      const opens: { event: string; cpu: number; pid: number }[] = JSON.parse(out).opens;
      const places = opens
        .filter(({ event }) => event === 'cpu-clock')
        .map(({ cpu, pid: tid }) => `${cpu} ${tid}`);
      assert.deepEqual(places.sort(), threads.map((tid) => `-1 ${tid}`).sort());
      assert.equal((await record('-e', 'task-clock', '-p', String(pid), '--', 'sleep', '1')).status, 0);
      const tids = new Set(linesOf(perf('script', '-i', data, '-F', 'tid')).map(Number));
      // A second event writes into the ring of its thread, too.
      const events = new Set(linesOf(perf('script', '-i', data, '-F', 'event')).map((line) => line.trim()));
      assert.deepEqual([...events].sort(), ['cpu-clock:', 'task-clock:']);
      const busy = threads.filter((tid) => tid !== pid);
      for (const tid of busy) assert.ok(tids.has(tid), `thread ${tid}`);
      for (const tid of tids) assert.ok(threads.includes(tid));
    });
  });

  test('of a thread: nothing of its siblings', async () => {
    await withThreads(async ({ pid }, threads) => {
      const one = threads.find((tid) => tid !== pid)!;
      const { err, status } = await record('-t', String(one), '--call-graph', 'auto', '--', 'sleep', '0.5');
      assert.equal(status, 0, err);
      assert.match(err, /events of single threads/);
      const tids = new Set(linesOf(perf('script', '-i', data, '-G', '-F', 'tid')).map(Number));
      assert.deepEqual([...tids], [one]);
    });
  });

  test('what is of CPUs is refused', async () => {
    for (const words of [
      ['-a'],
      ['-C', '0'],
      ['--format', 'histogram'],
      ['--off-cpu'],
      ['--inherit'],
      ['--loop'],
    ])
      assert.equal((await record(...words, '--', 'true')).status, 129, words.join(' '));
  });
});
