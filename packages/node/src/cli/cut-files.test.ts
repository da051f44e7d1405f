import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { counterpoint } from '../test/command-line.ts';
import { temporaryFolder } from '../test/perf.ts';

const fixture = (name: string) =>
  readFileSync(new URL(`../../../../fixtures/perfdata/${name}.data`, import.meta.url));

const ANSWERS = [
  ['report'],
  ['report', '--json'],
  ['report', '--tree'],
  ['report', '--stats'],
  ['script'],
  ['script', '--json'],
  ['export', '-f', 'folded', '-o', '-'],
];

test('a recording that is cut off before its first sample is no answer: status 1, and what to do', async (t) => {
  const folder = temporaryFolder(t);
  for (const [name, length] of [
    ['plain', 192],
    ['plain', 200],
    ['plain', 256],
    ['big-endian', 256],
    ['call-chains', 256],
    ['several-events', 700],
    ['pipe', 150],
  ] as const) {
    const path = join(folder, `${name}.data`);
    writeFileSync(path, fixture(name).subarray(0, length));
    for (const words of ANSWERS) {
      const { status, err } = await counterpoint(...words, '-i', path);
      assert.equal(status, 1, `${words.join(' ')} of ${name} cut to ${length}`);
      assert.match(err, /ends before its first sample: the file was cut off/);
      assert.match(err, /Copy it again/);
    }
  }
  const path = join(folder, 'short.data');
  for (const length of [1, 50, 150]) {
    writeFileSync(path, fixture('plain').subarray(0, length));
    const { status, err } = await counterpoint('report', '-i', path);
    assert.equal(status, 1);
    assert.match(err, /cut off/);
  }
});

test('what a cut or damaged recording still has is shown, and --fail-on-loss is 3', async (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, 'perf.data');
  const whole = fixture('plain');
  const damaged = Buffer.from(whole);
  // The size of the first record.
  damaged.fill(0, 198, 200);
  // In the data between two records, inside of a record, in the features; and whole, with damage.
  for (const bytes of [whole.subarray(0, 576), whole.subarray(0, 600), whole.subarray(0, 1300), damaged]) {
    writeFileSync(path, bytes);
    for (const words of ANSWERS) {
      const plain = await counterpoint(...words, '-i', path);
      assert.equal(plain.status, 0, words.join(' '));
      assert.doesNotMatch(plain.out, /Nothing lost/);
      assert.equal((await counterpoint(...words, '--fail-on-loss', '-i', path)).status, 3, words.join(' '));
    }
  }
  writeFileSync(path, whole);
  for (const words of ANSWERS)
    assert.equal((await counterpoint(...words, '--fail-on-loss', '-i', path)).status, 0, words.join(' '));
});
