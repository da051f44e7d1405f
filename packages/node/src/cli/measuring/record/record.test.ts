import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  closeSync,
  constants,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { memorySource } from '@counterpoint/core/base';
import { openPerfData, readRecords } from '@counterpoint/core/perfdata';
import { examineMachine } from '../../../linux/kernel/probe/index.ts';
import { realSys } from '../../../linux/kernel/sys/index.ts';
import { commandLineProcess, counterpoint } from '../../../test/command-line.ts';
import { nodeAsNobody, noNobody } from '../../../test/ordinary-user.ts';

const folder = mkdtempSync(join(tmpdir(), 'counterpoint-cli-record-'));
chmodSync(folder, 0o777);
after(() => rmSync(folder, { recursive: true }));
const file = (name: string) => join(folder, name);

const examination = examineMachine(realSys, 1);
const skip = examination.canRecord ? false : `no recording here: ${examination.checks[0]!.why}`;

async function samplesIn(path: string): Promise<number> {
  const reader = await openPerfData(memorySource(new Uint8Array(readFileSync(path))));
  assert.equal(reader.isUnfinished, false);
  let samples = 0;
  for await (const { record } of readRecords(reader)) if ('sample' in record) samples++;
  return samples;
}

const RUNNER = commandLineProcess();

describe('an empty recording', { skip }, () => {
  const events = ['-e', 'page-faults', '-c', '1000000000', '--all-user'];

  test('says so, why, and what to do; it is no failure', async () => {
    const { status, err } = await counterpoint('record', ...events, '-o', file('empty.data'), '--', 'true');
    assert.equal(status, 0);
    assert.match(err, /EMPTY: no sample was taken, because page-faults\S* never reached its period/);
    assert.match(err, /sample more often/);
    // The event that has the records before the others begin is not one of the user's.
    const late = ['-D', '10', '-o', file('late.data'), '--', 'sleep', '0.05'];
    const { err: ofLate } = await counterpoint('record', ...events, ...late);
    assert.match(ofLate, /EMPTY: no sample was taken, because page-faults\S* never reached its period/);
    const { status: failing } = await counterpoint(
      'record',
      ...events,
      '-o',
      file('empty.data'),
      '--',
      'false',
    );
    assert.equal(failing, 1);
  });

  test('one with samples does not', async () => {
    const full = await counterpoint(
      'record',
      '-e',
      'page-faults',
      '-c',
      '1',
      '-o',
      file('full.data'),
      '--',
      'true',
    );
    assert.doesNotMatch(full.err, /EMPTY/);
  });
});

/** Whether a write to the pipe would wait. */
function isFull(pipe: string): boolean {
  const fd = openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK);
  try {
    writeSync(fd, 'x'.repeat(4096));
    return false;
  } catch {
    return true;
  } finally {
    closeSync(fd);
  }
}

describe('usage', () => {
  for (const [words, pattern] of [
    [[], /nothing to record/],
    [['--call-graph', 'orc', 'true'], /--call-graph expects auto, fp, lbr, dwarf or dwarf,SIZE, not 'orc'/],
    [['-j', 'any,cnod', 'true'], /no kind of branch is called cnod; did you mean cond/],
    [['-b', '-j', 'any', 'true'], /-b and -j exclude each other/],
    [['-b', '--format', 'stacks', 'true'], /sampling formats cannot record branches/],
    [['--call-graph', 'dwarf,100000', 'true'], /SIZE is from 8 to 65528 bytes/],
    [['--call-graph', 'dwarf', '--format', 'stacks', 'true'], /sampling formats cannot copy stacks/],
    [['-F', 'often', 'true'], /-F expects/],
    [['-k', 'sundial', 'true'], /-k expects one of/],
    [['-c', '1000', '-F', '99', 'true'], /--freq and --count exclude each other/],
    [['-c', '18446744073709551616', 'true'], /(--count|-c) expects at most 9007199254740991/],
    [['-F', '99999999999999999999', 'true'], /(--freq|-F) expects at most/],
    [['-c', '1e9', 'true'], /(--count|-c) expects a whole number/],
    [['-m', '100G', 'true'], /(--mmap-pages|-m) expects at most 1048576 pages or /],
    [['-m', '1048577', 'true'], /(--mmap-pages|-m) expects a value from 1 to 1048576/],
    [['--all-user', '--all-kernel', 'true'], /exclude each other/],
    [['-e', 'no-such-event', 'true'], /event syntax error/],
  ] as const) {
    test(`record ${words.join(' ')}: 1 or 129, in words, and nothing is written`, async () => {
      const { status, err, out } = await counterpoint('record', '-o', file('usage.data'), ...words);
      assert.ok(status === 129 || status === 1, `${status}`);
      assert.match(err, pattern);
      assert.equal(out, '');
      assert.ok(!existsSync(file('usage.data')));
    });
  }

  test('--help has every flag of perf that is promised', async () => {
    const { out, status } = await counterpoint('record', '--help');
    assert.equal(status, 0);
    for (const flag of [
      '-e',
      '-F',
      '-c',
      '-g',
      '--call-graph',
      '-m',
      '-o',
      '-D',
      '-p',
      '-t',
      '-a',
      '-C',
      '-i',
      '-k',
      '-q',
    ])
      assert.match(out, new RegExp(`^ +(${flag}\\b|.*, ${flag}\\b)`, 'm'), flag);
  });
});

describe('record', { skip }, () => {
  test("perf's two lines, and the status of the command", async () => {
    const { status, err, out } = await counterpoint(
      'record',
      '-e',
      'cpu-clock:u',
      '-o',
      file('a.data'),
      'sh',
      '-c',
      'exit 9',
    );
    assert.equal(status, 9);
    assert.equal(out, '');
    assert.match(err, /^\[ counterpoint record: Woken up (?:1 time|(?![01] )\d+ times) to write data \]$/m);
    assert.match(
      err,
      /^\[ counterpoint record: Captured and wrote 0\.\d{3} MB .*a\.data \(\d+ samples?\) \]$/m,
    );
    assert.ok((await samplesIn(file('a.data'))) >= 0);
  });

  test('-q is quiet; a missing command is 127, one that cannot run 126', async () => {
    const quiet = await counterpoint('record', '-q', '-e', 'cpu-clock:u', '-o', file('q.data'), 'true');
    assert.deepEqual([quiet.status, quiet.err], [0, '']);
    const missing = await counterpoint('record', '-o', file('q.data'), 'no-such-command-here');
    assert.equal(missing.status, 127);
    assert.match(missing.err, /command not found/);
    assert.equal((await counterpoint('record', '-o', file('q.data'), folder)).status, 126);
  });

  test('--fail-on-loss makes a success with loss 3', async () => {
    const words = ['-q', '-e', 'cpu-clock:u', '-F', '20000', '--fail-on-loss', '-o', file('loss.data')];
    const complete = await counterpoint('record', ...words, 'true');
    assert.equal(complete.status, 0);
    // One page that is looked at only when it is full.
    const busy = 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done';
    const { status } = await counterpoint('record', ...words, '-m', '1', '-g', 'sh', '-c', busy);
    assert.ok(status === 3 || status === 0);
  });

  test('a signal ends it with a complete file, and the command with it', async () => {
    const words = [
      'record',
      '-q',
      '-e',
      'cpu-clock:u',
      '-o',
      file('signal.data'),
      'sh',
      '-c',
      'echo go; while :; do :; done',
    ];
    const child = spawn(process.execPath, [...RUNNER, ...words], { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(child.stdout, 'data');
    await new Promise((resolve) => setTimeout(resolve, 50));
    child.kill('SIGINT');
    assert.equal(await statusOf(child), null);
    assert.equal(child.signalCode, 'SIGINT');
    assert.ok((await samplesIn(file('signal.data'))) > 10);
  });

  test('a named pipe without reader is waited for, and a signal ends the waiting', async () => {
    const pipe = file('unread');
    assert.equal(spawnSync('mkfifo', [pipe]).status, 0);
    const words = ['record', '-e', 'cpu-clock:u', '-o', pipe, 'touch', file('touched')];
    const child = spawn(process.execPath, [...RUNNER, ...words], { stdio: ['ignore', 'inherit', 'pipe'] });
    const guard = setTimeout(() => child.kill('SIGKILL'), 60_000);
    let text = '';
    for await (const piece of child.stderr) {
      text += piece;
      if (text.includes(`waiting for a reader of ${pipe}`)) child.kill('SIGINT');
    }
    await statusOf(child);
    clearTimeout(guard);
    assert.equal(child.signalCode, 'SIGINT', text);
    assert.match(text, /no program has read the named pipe .*nothing was recorded/);
    assert.equal(existsSync(file('touched')), false);
  });

  test('a reader of the pipe that takes nothing: the second signal ends it', async () => {
    const busy = 'echo go; while :; do :; done';
    const words = ['record', '-q', '-e', 'cpu-clock:u', '-F', '20000', '-o', '-', 'sh', '-c'];
    const pipe = file('full');
    assert.equal(spawnSync('mkfifo', [pipe]).status, 0);
    words[words.indexOf('-')] = pipe;
    // Open for both, nobody takes anything out of it.
    const reader = openSync(pipe, constants.O_RDWR);
    const child = spawn(process.execPath, [...RUNNER, ...words, busy], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const guard = setTimeout(() => child.kill('SIGKILL'), 60_000);
    await once(child.stdout, 'data');
    while (!isFull(pipe)) await new Promise((resolve) => setTimeout(resolve, 20));
    child.kill('SIGTERM');
    const again = setInterval(() => child.kill('SIGTERM'), 500);
    await statusOf(child);
    clearInterval(again);
    clearTimeout(guard);
    closeSync(reader);
    assert.equal(child.signalCode, 'SIGTERM');
  });

  test('a format whose collect never ends is named at the first signal, the second ends it', {
    skip: process.getuid?.() === 0 ? false : 'needs root',
  }, async () => {
    const format = file('endless.ts');
    writeFileSync(
      format,
      "export default { name: 'endless', version: 1, summary: '', options: {}, plan: () => ({}), onOverflow() {},\n" +
        '  async *collect() { await new Promise(() => {}); } };\n',
    );
    const words = [
      'record',
      '--format',
      format,
      '-e',
      'task-clock',
      '-o',
      file('endless.data'),
      'echo',
      'go',
    ];
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      const child = spawn(process.execPath, [...RUNNER, ...words], { stdio: ['ignore', 'pipe', 'pipe'] });
      // Without an end the test would wait for ever.
      const guard = setTimeout(() => child.kill('SIGKILL'), 60_000);
      await once(child.stdout, 'data');
      child.kill(signal);
      let text = '';
      for await (const piece of child.stderr) {
        text += piece;
        if (/format endless has not finished its collect; send the same signal again/.test(text)) break;
      }
      // The same one within 200 ms is taken for a copy of the first.
      await sleep(400);
      child.kill(signal);
      await statusOf(child);
      assert.equal(child.signalCode, signal, text);
      clearTimeout(guard);
    }
  });

  test('an ordinary user records what is theirs, in user space', { skip: noNobody() }, async () => {
    const busy = 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done';
    const words = ['record', '-o', file('user.data'), 'sh', '-c', busy];
    const run = nodeAsNobody([...RUNNER, ...words], folder);
    assert.equal(run.status, 0, run.stderr);
    assert.ok((await samplesIn(file('user.data'))) > 20);
    const level = Number(readFileSync('/proc/sys/kernel/perf_event_paranoid', 'utf8'));
    if (level >= 2) assert.match(run.stderr, /recording \S+u instead of cycles:P: .*only user space/);
    const all = nodeAsNobody([...RUNNER, 'record', '-a', '-o', file('all.data'), 'true'], folder);
    if (level >= 1) {
      assert.equal(all.status, 1);
      assert.match(all.stderr, /whole CPUs: kernel.perf_event_paranoid is \d/);
    }
  });
});

async function statusOf(child: ChildProcess): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  return child.exitCode;
}
