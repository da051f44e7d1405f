/** Files of a recording by time and by size, and what steers it from outside. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync, readdirSync, readSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { commandLineProcess, counterpoint } from '../../../test/command-line.ts';
import { perf, perfIsMissing, temporaryFolder } from '../../../test/perf.ts';
import { until } from '../../../test/until-told.ts';

const skip = perfIsMissing();
const BUSY = 'i=0; while [ $i -lt N ]; do i=$((i+1)); done';
const busy = (rounds: number) => ['sh', '-c', BUSY.replace('N', `${rounds}`)];
const DATED = /^perf\.data\.\d{16,}$/;

async function samplesOf(data: string): Promise<number> {
  const { out } = await counterpoint('report', '--stats', '--json', '-i', data);
  return JSON.parse(out).events[0].samples;
}

/** The status and the errors of a recording whose reader has gone. */
function intoClosedPipe(words: readonly string[]): [status: string, stderr: string] {
  const script = '{ "$@"; echo "status $?" >&2; } | true';
  const { stderr } = spawnSync('sh', ['-c', script, 'sh', ...words], { encoding: 'utf8' });
  const [text = '', status = ''] = stderr.split(/status (\d+)\n/);
  return [status, text];
}

test('record into a pipe that is closed ends silently by SIGPIPE, as perf does', { skip }, () => {
  const words = ['record', '-e', 'cpu-clock:u', '-o', '-', '--', ...busy(20_000)];
  const ours = intoClosedPipe([process.execPath, ...commandLineProcess(), ...words]);
  assert.deepEqual(ours, intoClosedPipe(['perf', ...words]));
  assert.deepEqual(ours, ['141', '']);
});

describe('record --switch-output', { skip }, () => {
  test('by size: each file is whole, and perf names what it has', async (t) => {
    const folder = temporaryFolder(t);
    const words = ['-e', 'cpu-clock:u', '-F', '20000', '-o', join(folder, 'perf.data')];
    const { status, err } = await counterpoint(
      'record',
      '--switch-output=100K',
      ...words,
      '--',
      ...busy(700_000),
    );
    assert.equal(status, 0, err);
    const files = readdirSync(folder).sort();
    assert.ok(files.length >= 2, `${files}`);
    let samples = 0;
    for (const file of files) {
      assert.match(file, DATED);
      const data = join(folder, file);
      samples += await samplesOf(data);
      // The last file may have no sample.
      const lines = perf('script', '-i', data, '-F', 'comm,ip,dso')
        .split('\n')
        .filter((line) => line.trim() !== '');
      assert.equal(lines.length, await samplesOf(data));
      const unnamed = lines.filter((line) => line.includes('([unknown])') || !line.includes('sh '));
      assert.ok(unnamed.length <= lines.length / 20, `${unnamed.length} of ${lines.length} without a binary`);
    }
    const told = /\((\d+) samples\)/.exec(err)![1];
    assert.equal(samples, Number(told));
    assert.equal(err.match(/Dump \S+perf\.data\.\d+ \]/g)?.length, files.length - 1);
  });

  test('the latest files are kept', async (t) => {
    const folder = temporaryFolder(t);
    const words = ['-q', '-e', 'cpu-clock:u', '-F', '20000', '-o', join(folder, 'perf.data')];
    await counterpoint(
      'record',
      '--switch-output=60K',
      '--switch-max-files=2',
      ...words,
      '--',
      ...busy(700_000),
    );
    assert.equal(readdirSync(folder).length, 2);
  });

  test('at SIGUSR2 what was recorded by then is in a file, and it goes on in another', async (t) => {
    const folder = temporaryFolder(t);
    const data = join(folder, 'perf.data');
    const line = [
      'record',
      '--switch-output',
      '-e',
      'cpu-clock:u',
      '-o',
      data,
      '--',
      'sh',
      '-c',
      'while :; do :; done',
    ];
    const recorder = spawn(process.execPath, [...commandLineProcess(), ...line], { stdio: 'ignore' });
    t.after(() => recorder.kill('SIGKILL'));
    await until(() => (statSync(data, { throwIfNoEntry: false })?.size ?? 0) > 8192);
    recorder.kill('SIGUSR2');
    await until(() => readdirSync(folder).some((file) => DATED.test(file)));
    const first = readdirSync(folder).find((file) => DATED.test(file))!;
    assert.ok((await samplesOf(join(folder, first))) > 0);
    recorder.kill('SIGINT');
    await once(recorder, 'exit');
    assert.equal(readdirSync(folder).filter((file) => DATED.test(file)).length, 2);
  });

  test('what it cannot be is refused', async () => {
    for (const [words, pattern] of [
      [['--switch-output=7'], /signal, a size such as 100M/],
      [['--switch-max-files=2'], /is for --switch-output/],
      [['--switch-output', '-o', '-'], /a stream has no name/],
    ] as const) {
      const { status, err } = await counterpoint('record', ...words, '--', 'true');
      assert.notEqual(status, 0);
      assert.match(err, pattern);
    }
  });
});

test('record --timestamp-filename writes the time behind the name', { skip }, async (t) => {
  const folder = temporaryFolder(t);
  const words = ['-q', '-e', 'cpu-clock:u', '-o', join(folder, 'perf.data'), '--timestamp-filename'];
  const before = new Date().getFullYear();
  const { status, err } = await counterpoint('record', ...words, 'true');
  assert.equal(status, 0, err);
  const [file = '', ...others] = readdirSync(folder);
  assert.match(file, DATED);
  assert.deepEqual(others, []);
  assert.ok([before, before + 1].includes(Number(file.split('.').pop()!.slice(0, 4))));
});

describe('record --control', { skip }, () => {
  test('nothing is sampled before enable and after disable; stop ends it; each is answered', async (t) => {
    const folder = temporaryFolder(t);
    const [commands, answers, data] = ['commands', 'answers', 'data'].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ];
    spawnSync('mkfifo', [commands, answers]);
    const ends = [commands, answers].map((path) => openSync(path, constants.O_RDWR | constants.O_NONBLOCK));
    t.after(() => {
      for (const fd of ends) closeSync(fd);
    });
    const words = [
      '-D',
      '-1',
      '--control',
      `fifo:${commands},${answers}`,
      '-e',
      'cpu-clock:u',
      '-e',
      'faults',
    ];
    const ended = counterpoint('record', ...words, '-o', data, '--', 'sh', '-c', 'while :; do :; done');
    const obeyed = async (command: string): Promise<number> => {
      const sentAt = Number(process.hrtime.bigint()) / 1e9;
      writeSync(ends[0]!, `${command}\n`);
      let answer = '';
      await until(() => {
        try {
          const bytes = Buffer.alloc(64);
          answer += bytes.toString('utf8', 0, readSync(ends[1]!, bytes));
        } catch {
          // Not yet.
        }
        return answer === 'ack\n';
      });
      return sentAt;
    };
    await obeyed('ping');
    await sleep(300);
    const enabled = await obeyed('enable cpu-clock:u');
    await sleep(500);
    await obeyed('disable');
    const disabled = Number(process.hrtime.bigint()) / 1e9;
    await sleep(300);
    await obeyed('evlist');
    await obeyed('stop');
    const { err } = await ended;
    assert.match(err, /^cpu-clock:u$/m);
    // perf prints times of CLOCK_MONOTONIC's kin: those of the clock that does not
    // stand still differ by little.
    const times = perf('script', '-i', data, '-F', 'time')
      .match(/[\d.]+(?=:)/g)!
      .map(Number);
    assert.ok(times.length > 20, `${times.length} samples`);
    const spanned = times.at(-1)! - times[0]!;
    assert.ok(spanned <= disabled - enabled + 0.05, `${spanned} s sampled in ${disabled - enabled} s`);
    assert.match(perf('script', '-i', data, '--show-mmap-events'), /MMAP2 .*libc/);
  });

  test('-D -1 without a pipe for enable is refused', async () => {
    const { status, err } = await counterpoint('record', '-D', '-1', 'true');
    assert.equal(status, 129);
    assert.match(err, /nothing would turn it on/);
  });
});
