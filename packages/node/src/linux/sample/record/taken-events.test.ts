/** A program that the kernel does not let anybody watch who began it: what a recording then says. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, describe, test } from 'node:test';
import {
  PERF_RECORD_COMM,
  PERF_RECORD_EXIT,
  PERF_RECORD_LOST,
  PERF_RECORD_MISC_COMM_EXEC,
  PERF_RECORD_MMAP2,
} from '@counterpoint/core/abi';
import { memorySource } from '@counterpoint/core/base';
import { openPerfData } from '@counterpoint/core/perfdata';
import { collectStats } from '@counterpoint/core/query';
import type { PerfRecord } from '@counterpoint/core/records';
import { commandLineProcess } from '../../../test/command-line.ts';
import { NOBODY, nodeAsNobody, noNobody } from '../../../test/ordinary-user.ts';
import { skipSpecial, specialProgram } from '../../../test/special-program.ts';
import { TakenEvents } from '../../kernel/perf-events/index.ts';
import { liveHandles } from '../../kernel/sys/index.ts';
import { LiveProfile, type RecordOptions, record } from './index.ts';

const isRoot = process.getuid?.() === 0;
const directory = mkdtempSync(join(tmpdir(), 'counterpoint-taken-'));
after(() => rmSync(directory, { recursive: true }));
afterEach(() => assert.deepEqual(liveHandles(), []));

describe('a program with more rights', { skip: skipSpecial(directory) }, () => {
  const shell = specialProgram(join(directory, 'special-sh'), '/bin/sh');
  const output = join(directory, 'perf.data');
  const run = (options: Partial<RecordOptions>) =>
    record({ events: 'cpu-clock', output, launch: { stdio: ['ignore', 'ignore', 'ignore'] }, ...options });
  const lossInFile = async () => {
    const stats = await collectStats(await openPerfData(memorySource(new Uint8Array(readFileSync(output)))));
    return stats.loss.filter(({ kind }) => kind === 'events-taken');
  };

  test('the command itself: it is said, it goes on to its end, and the file has it', async () => {
    const result = await run({ command: [shell, '-c', 'exit 7'] });
    assert.deepEqual([result.stopped, result.exitCode, result.samples], ['command-exited', 7, 0]);
    const [note] = result.notes.filter(({ kind }) => kind === 'events-taken');
    assert.ok(note!.text.includes(shell));
    assert.match(note!.text, isRoot ? /is set-user-id.*-a/ : /may be run, but not read.*as root/);
    const own = result.loss.filter(({ kind }) => kind === 'events-taken');
    assert.deepEqual(await lossInFile(), own);
    assert.deepEqual([own.length, own[0]!.count, own[0]!.unit], [1, '1', 'processes']);
  });

  test('while a server runs, and not when it has ended', async () => {
    const stop = new AbortController();
    const told: string[] = [];
    const result = await run({
      command: [shell, '-c', 'while :; do sleep 1; done'],
      signal: stop.signal,
      onNote: (notes) => {
        told.push(...notes.filter(({ kind }) => kind === 'events-taken').map(({ text }) => text));
        stop.abort();
      },
    });
    assert.equal(result.stopped, 'aborted');
    assert.equal(told.length, 1);
  });

  test('a child of the command', async () => {
    const script = `${shell} -c :; i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; exit 3`;
    const result = await run({ command: ['sh', '-c', script] });
    assert.equal(result.exitCode, 3);
    assert.ok(result.samples > 0);
    assert.equal((await lossInFile()).length, 1);
    assert.match(
      result.notes.map(({ text }) => text).join('\n'),
      /special-sh \(process \d+\) is no longer watched/,
    );
  });

  test('what the file says of it is no older than what was read before', async () => {
    // Samples at the beginning alone (a child uses far less than 40 ms of processor time), and
    // then rounds of other records.
    const spin = 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done';
    const result = await run({
      events: 'cpu-clock/period=40000000/',
      command: ['sh', '-c', `${shell} -c :; ${spin}; for i in 1 2 3 4 5 6 7 8; do sleep 0.1; done`],
    });
    assert.ok(result.samples > 0);
    assert.equal(result.loss.filter(({ kind }) => kind === 'events-taken').length, 1);
    const stats = await collectStats(await openPerfData(memorySource(new Uint8Array(readFileSync(output)))));
    assert.equal(stats.loss.filter(({ kind }) => kind === 'events-taken').length, 1);
    assert.deepEqual(stats.damage, []);
  });

  test('a process that was there before', async () => {
    const child = spawn('sh', ['-c', `read go; exec ${shell} -c 'sleep 60'`], {
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    try {
      const result = await run({ pids: [child.pid!], onStart: () => void child.stdin.write('\n') });
      assert.equal(result.stopped, 'target-ended');
      assert.equal((await lossInFile()).length, 1);
    } finally {
      child.kill('SIGKILL');
    }
  });

  test('one that runs already is refused to an ordinary user, in words', {
    skip: isRoot ? noNobody() : false,
  }, async () => {
    // Root may watch everybody: it has nobody try, with a program that nobody may run, but not read.
    const unread = join(directory, 'unread-sh');
    copyFileSync('/bin/sh', unread);
    if (isRoot) chownSync(unread, NOBODY, NOBODY);
    chmodSync(unread, 0o111);
    const child = spawn(unread, ['-c', 'echo; read end'], {
      stdio: ['pipe', 'pipe', 'ignore'],
      ...(isRoot ? { uid: NOBODY, gid: NOBODY } : {}),
    });
    try {
      await once(child.stdout!, 'data');
      const options = ['-o', join(directory, 'refused.data'), '-e', 'cpu-clock:u', '-p', `${child.pid}`];
      const words = [...commandLineProcess(), 'record', ...options];
      const { status, stderr } = isRoot
        ? nodeAsNobody(words, directory)
        : spawnSync(process.execPath, words, { encoding: 'utf8' });
      assert.equal(status, 1, stderr);
      assert.match(stderr, /your own process, which the kernel guards.*more rights/);
    } finally {
      child.kill('SIGKILL');
    }
  });

  test('sampling formats say it, too', async () => {
    if (!isRoot) return;
    await run({ command: [shell, '-c', ':'], formats: ['histogram'] });
    assert.equal((await lossInFile()).length, 1);
  });

  test('looks at it while it runs', {
    skip: !isRoot && 'only root loads programs into the kernel',
  }, async () => {
    const launch = { stdio: ['ignore', 'ignore', 'ignore'] } as const;
    await using live = await LiveProfile.open({
      command: [shell, '-c', ':'],
      events: 'cpu-clock',
      launch: { stdio: [...launch.stdio] },
    });
    let last: readonly string[] = [];
    let lost = 0;
    for await (const look of live) {
      last = look.losses.map(({ kind }) => kind);
      lost += look.lost;
    }
    assert.ok(last.includes('events-taken'));
    assert.equal(lost, 0, 'a process is no sample');
    assert.equal(live.notes.filter(({ kind }) => kind === 'events-taken').length, 1);
  });

  test('whole CPUs keep their events', { skip: !isRoot && 'only root watches whole CPUs' }, async () => {
    const result = await run({ systemWide: true, command: [shell, '-c', ':'] });
    assert.deepEqual(
      result.loss.filter(({ kind }) => kind === 'events-taken'),
      [],
    );
  });
});

describe('records of an exec', () => {
  const at = (time: number) => ({ sampleId: { time: BigInt(time) } });
  const comm = (time: number, misc = PERF_RECORD_MISC_COMM_EXEC) =>
    ({ type: PERF_RECORD_COMM, misc, pid: 5, tid: 5, comm: 'x', ...at(time) }) as unknown as PerfRecord;
  const map = (time: number) =>
    ({ type: PERF_RECORD_MMAP2, misc: 0, pid: 5, ...at(time) }) as unknown as PerfRecord;
  const exit = (time: number, tid = 5) =>
    ({ type: PERF_RECORD_EXIT, misc: 0, pid: 5, tid, ...at(time) }) as unknown as PerfRecord;
  /** `null` begins a pass. */
  const found = (records: readonly (PerfRecord | null)[]) => {
    const taken: bigint[] = [];
    const events = new TakenEvents(({ atNs }) => taken.push(atNs));
    for (const one of records) {
      if (one === null) events.beginPass();
      else events.add(one);
    }
    events.finish();
    return taken;
  };

  test('without a map before the exit', () => {
    assert.deepEqual(found([map(1), comm(2), exit(3)]), [2n]);
    assert.deepEqual(found([comm(1), map(2), comm(3), exit(4)]), [3n]);
  });
  test('an ordinary life is none of them', () => {
    assert.deepEqual(found([comm(1), map(2), exit(3)]), []);
    assert.deepEqual(found([exit(3)]), []);
    assert.deepEqual(found([comm(1), exit(2, 6), map(3), exit(4)]), []);
    assert.deepEqual(found([comm(1, 0), exit(2)]), [], 'a new name is no exec');
  });
  test('the map comes from a ring that is read later', () => {
    assert.deepEqual(found([comm(1), exit(3), map(2)]), []);
    assert.deepEqual(found([null, comm(1), exit(3), null, map(2), null]), []);
    assert.deepEqual(found([map(2), comm(1), exit(3)]), []);
  });
  test('where records were lost, a map may be among them: only what is as quick as an exec is told', () => {
    const lost = (time: number) =>
      ({ type: PERF_RECORD_LOST, misc: 0, ...at(time) }) as unknown as PerfRecord;
    assert.deepEqual(found([comm(1), lost(200_000), exit(400_000)]), []);
    assert.deepEqual(found([comm(1), exit(400_000), lost(500_000)]), [], 'the ring of another CPU');
    assert.deepEqual(found([lost(1), comm(2), exit(400_000)]), [2n], 'before');
    assert.deepEqual(found([comm(1), exit(12_000), lost(500_000)]), [1n]);
  });
  test('a number is used again', () => {
    assert.deepEqual(found([comm(1), exit(2), null, null, null, comm(5), map(6), exit(7)]), [1n]);
  });
});
