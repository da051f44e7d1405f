import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  openSync,
  rmdirSync,
  rmSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { commandLineProcess, counterpoint } from '../test/command-line.ts';
import { temporaryFolder } from '../test/perf.ts';

const samples = new URL('../../../../fixtures/perfdata/plain.data', import.meta.url);
const COUNT = ['-e', 'task-clock', '--', 'true'];
const skip = process.getuid?.() === 0 ? false : 'mounting needs root';

/** A tmpfs that is mounted while the test runs, or null where it cannot be. */
function mounted(t: { after(done: () => void): void }, options: string): string | null {
  const folder = mkdtempSync(join(tmpdir(), 'counterpoint-small-'));
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'none', folder]).status !== 0) return null;
  t.after(() => {
    spawnSync('umount', [folder]);
    rmdirSync(folder);
  });
  return folder;
}

/** The command line as a process of its own, whose standard output is `descriptor`. */
function run(words: readonly string[], descriptor: number) {
  return spawnSync(process.execPath, [...commandLineProcess(), ...words], {
    stdio: ['ignore', descriptor, 'pipe'],
    encoding: 'utf8',
  });
}

test('a disk that is full: each verb names its output, why it takes no more, and what to do', {
  skip,
}, async (t) => {
  const folder = temporaryFolder(t);
  const [counts, recording] = [join(folder, 'counts.data'), join(folder, 'samples.data')];
  copyFileSync(samples, recording);
  await counterpoint('stat', 'record', '-q', '-o', counts, ...COUNT);
  const small = mounted(t, 'size=64k');
  if (small === null) return t.skip('no tmpfs can be mounted');
  assert.equal(spawnSync('sh', ['-c', `cat /dev/zero > ${join(small, 'full')}`]).status, 1);
  const output = join(small, 'output');
  for (const words of [
    ['stat', '-o', output, ...COUNT],
    ['stat', '--json', '-o', output, ...COUNT],
    ['stat', '-x', ',', '-I', '10', '-o', output, '-e', 'task-clock', '--', 'sleep', '0.05'],
    ['stat', 'report', '-i', counts, '-o', output],
    ['stat', 'record', '-q', '-o', output, ...COUNT],
    ['export', '-f', 'svg', '-i', recording, '-o', output],
    ['record', '-q', '-e', 'page-faults', '-o', output, '--', 'true'],
  ]) {
    const { status, err } = await counterpoint(...words);
    assert.equal(status, 1, words.join(' '));
    assert.match(err, new RegExp(`cannot write ${output}: no space left on the device`), words.join(' '));
    assert.match(err, /Free some space, or write elsewhere with -o/, words.join(' '));
    assert.equal(/--max-size/.test(err), words.includes('record'), err);
  }
  const descriptor = openSync(output, 'w');
  const { status, stderr } = run(['report', '-i', recording], descriptor);
  closeSync(descriptor);
  assert.equal(status, 1);
  assert.match(stderr, /cannot write standard output: no space left on the device/);
});

test('a disk that gets full between two intervals of stat: it is said, and the command is waited for', {
  skip,
}, async (t) => {
  const small = mounted(t, 'size=16k');
  if (small === null) return t.skip('no tmpfs can be mounted');
  for (const form of [[], ['-x', ','], ['--json']]) {
    const output = join(small, 'output');
    const mark = join(temporaryFolder(t), 'mark');
    // A busy machine prints fewer intervals in a time: the command goes on until the disk is nearly full, and
    // then until the file does not grow any more.
    const size = `$(stat -c %s ${output} 2> /dev/null || echo 0)`;
    const script = `n=0; until [ ${size} -gt 8192 ] || [ $n -gt 300 ]; do sleep 0.1; n=$((n+1)); done; last=; until [ "$last" = ${size} ] || [ $n -gt 400 ]; do last=${size}; sleep 0.6; n=$((n+1)); done; touch ${mark}; exit 7`;
    const words = [...form, '-I', '1', '-o', output, '-e', 'cs,faults', '--', 'sh', '-c', script];
    const { status, err } = await counterpoint('stat', ...words);
    assert.equal(status, 1);
    // At once, and with what to do at the end.
    const said = `cannot write ${output}: no space left on the device`;
    assert.match(err, new RegExp(`${said}: no more is printed; the command goes on\n[^]*${said}\n  Free`));
    assert.ok(existsSync(mark), 'the command has ended, and so has stat');
    assert.ok(statSync(output).size > 8192);
    rmSync(output);
  }
});

test('a device that fails', (t) => {
  const recording = join(temporaryFolder(t), 'samples.data');
  copyFileSync(samples, recording);
  // Nothing is mapped at address 0: the kernel gives EIO.
  const descriptor = openSync('/proc/self/mem', 'r+');
  const { status, stderr } = run(['script', '-i', recording], descriptor);
  closeSync(descriptor);
  assert.equal(status, 1);
  assert.match(stderr, /cannot write standard output: the device below it failed \(input\/output error\)/);
  assert.match(stderr, /Write elsewhere/);
});
