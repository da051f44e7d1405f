/** Where the output takes no more: what it has, and what it says of the rest. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, describe, test } from 'node:test';
import { memorySource } from '@counterpoint/core/base';
import { openPerfData, readRecords } from '@counterpoint/core/perfdata';
import { collectStats } from '@counterpoint/core/query';
import { commandLineProcess } from '../../../test/command-line.ts';
import { examineMachine } from '../../kernel/probe/index.ts';
import { liveHandles, realSys } from '../../kernel/sys/index.ts';
import { record } from './index.ts';

const directory = mkdtempSync(join(tmpdir(), 'counterpoint-full-disk-'));
after(() => rmSync(directory, { recursive: true }));
afterEach(() => assert.deepEqual(liveHandles(), []));
const skip = process.getuid?.() === 0 ? false : 'needs root';

for (const [size, hasFeatures, format] of [
  ['256k', true, null],
  ['48k', false, null],
  ['256k', true, 'double-buffer'],
  ['256k', true, 'on-miss'],
] as const)
  test(`a disk full at ${size}${format === null ? '' : `, ${format}`}: what was written stays readable, what was not is counted in it, and the command goes on`, {
    skip,
  }, async () => {
    const small = mkdtempSync(join(directory, 'small-'));
    if (spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'none', small]).status !== 0) return;
    try {
      const path = join(small, 'perf.data');
      const end = join(small, 'end');
      const notes: string[] = [];
      const result = await record({
        // It has to live on to see the file, which is there only after it is said that the recording ends.
        command: ['sh', '-c', `while ! [ -e ${end} ]; do :; done; exit 4`],
        onNote: (all) => {
          const text = all.find(({ kind }) => kind === 'command-goes-on')?.text;
          if (text === undefined) return;
          notes.push(text);
          mkdirSync(end);
        },
        events: 'cpu-clock',
        frequency: 9000,
        ...(format === null ? { callGraph: true } : { formats: [format] }),
        flushIntervalMs: 10,
        launch: { stdio: ['ignore', 'ignore', 'ignore'] },
        output: path,
      });
      assert.equal(result.stopped, 'write-error');
      assert.match(result.error!.message, /no space left/);
      assert.deepEqual([result.exitCode, result.exitSignal], [4, null]);
      assert.match(
        notes.join(),
        /no space left.*the recording ends here, the command \(process \d+\) continues/,
      );
      // Each overflow is a sample, or a loss.
      const overflows = result.formats.reduce((sum, one) => sum + Number(one.overflows), 0);
      const losses = result.loss.reduce((sum, { count }) => sum + Number(count), 0);
      if (format !== null) assert.equal(result.samples + losses, overflows);
      const unwritten = result.loss.find(({ kind }) => kind === 'recorder-stopped');
      assert.ok(Number(unwritten?.count) > 0);
      const stats = await collectStats(await openPerfData(memorySource(new Uint8Array(readFileSync(path)))));
      const told = stats.loss.find(({ kind }) => kind === 'recorder-stopped');
      assert.deepEqual([told?.count, told?.unit, told?.exact], [unwritten?.count, 'samples', true]);
      assert.equal(stats.samples, result.samples);
      const reader = await openPerfData(memorySource(new Uint8Array(readFileSync(path))));
      let samples = 0;
      for await (const { record: one } of readRecords(reader)) if ('sample' in one) samples++;
      assert.equal(reader.isUnfinished, false);
      // On the smallest disk they find room or not, by where the last records ended.
      if (hasFeatures) assert.ok((reader.features.buildIds?.length ?? 0) > 0, 'the features found no room');
      assert.ok(samples > 10);
      assert.deepEqual(reader.damage.list(), []);
    } finally {
      spawnSync('umount', [small]);
    }
  });

/**
 * Files may have 64 KiB: as an ordinary user meets a full disk. The limit is this
 * process's, and the command's.
 */
const BLOCKED = `ulimit -f 128; exec "$0" "$@"`;

describe('an output that takes no more', {
  skip: examineMachine(realSys, 1).canRecord ? false : 'nothing can be recorded here',
}, () => {
  const events = ['-e', 'cpu-clock', '-F', '5000', '-g', '--all-user'];
  const recordIn = (shell: string, ...words: string[]) => {
    const own = commandLineProcess();
    return spawn('sh', ['-c', shell, process.execPath, ...own, 'record', ...events, ...words], {
      stdio: ['ignore', 'pipe', 'pipe'],
      cwd: directory,
    });
  };
  const textOf = (stream: NodeJS.ReadableStream) => {
    let text = '';
    stream.on('data', (piece) => (text += piece));
    return () => text;
  };

  test('a limit of file sizes: the command goes on to its end; the status is 1', async () => {
    const done = join(directory, 'done');
    const busy = `i=0; while [ $i -lt 3000000 ]; do i=$((i+1)); done; mkdir ${done}`;
    const child = recordIn(BLOCKED, '-o', join(directory, 'limited.data'), '--', 'sh', '-c', busy);
    const err = textOf(child.stderr);
    const [status] = await once(child, 'exit');
    assert.equal(status, 1, err());
    assert.match(
      err(),
      /largest allowed size: the recording ends here, the command \(process \d+\) continues/,
    );
    assert.match(err(), /ulimit -f/);
    assert.ok(existsSync(done), 'the command did not get to its end');
  });

  test('a process that was there before goes on', async () => {
    const busy = spawn('sh', ['-c', 'while :; do :; done'], { stdio: 'ignore' });
    try {
      const child = recordIn(BLOCKED, '-o', join(directory, 'pid.data'), '-p', String(busy.pid));
      const err = textOf(child.stderr);
      const [status] = await once(child, 'exit');
      assert.equal(status, 1, err());
      assert.match(err(), /the recording ends here, the target continues/);
      assert.deepEqual([busy.exitCode, busy.signalCode], [null, null]);
      process.kill(busy.pid!, 0);
    } finally {
      busy.kill('SIGKILL');
    }
  });

  test('a pipe whose reader goes; Ctrl-C ends the command that went on', async () => {
    const child = recordIn('exec "$0" "$@"', '-o', '-', '--', 'sh', '-c', 'while :; do :; done');
    const err = textOf(child.stderr);
    const ended = once(child, 'exit');
    let received = 0;
    // Some samples of it: what goes before them is written while the command still waits.
    child.stdout.on('data', ({ length }: Buffer) => {
      received += length;
      if (received > 100_000) child.stdout.destroy();
    });
    const told = new Promise<void>((resolve) => {
      child.stderr.on('data', () => err().includes(') continues') && resolve());
    });
    await Promise.race([told, ended]);
    assert.equal(child.exitCode, null, err());
    child.kill('SIGINT');
    await ended;
    const pid = /the command \(process (\d+)\)/.exec(err())![1];
    assert.throws(() => process.kill(Number(pid), 0), { code: 'ESRCH' });
  });
});
