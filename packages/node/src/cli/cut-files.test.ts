import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { isProof } from '../../../core/src/test/proof.ts';
import { commandLineProcess, counterpoint } from '../test/command-line.ts';
import { perfIsMissing, temporaryFolder } from '../test/perf.ts';

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

/** Where the records of a stream begin and end. */
function boundaries(bytes: Buffer): number[] {
  const ends = [16];
  for (let at = 16; at + 8 <= bytes.length; at += bytes.readUInt16LE(at + 6))
    ends.push(at + bytes.readUInt16LE(at + 6));
  return ends;
}

const FINISHED = [68, 82];

const OURS = [process.execPath, ...commandLineProcess()];

for (const recorder of [['perf'], OURS])
  test(`a stream that is cut anywhere says so, or gives no answer: ${recorder === OURS ? 'ours' : 'of perf'}`, {
    skip: perfIsMissing(),
  }, async (t) => {
    const bytes = streamOf(recorder);
    const path = join(temporaryFolder(t), 'cut.data');
    const ends = boundaries(bytes);
    assert.equal(ends.at(-1), bytes.length);
    const firstSample = ends.findIndex((_, n) => n > 0 && bytes.readUInt32LE(ends[n - 1]!) === 9);
    assert.ok(firstSample > 5);
    for (const [n, end] of ends.slice(0, -1).entries())
      for (const length of isProof || n % 3 === 0 || n < firstSample + 2 ? [end, end + 1, end + 9] : [end]) {
        if (length >= bytes.length) continue;
        writeFileSync(path, bytes.subarray(0, length));
        // Behind these marks a whole recording can end.
        const isEnd = length === end && n > 0 && FINISHED.includes(bytes.readUInt32LE(ends[n - 1]!));
        for (const words of [['report'], ['script', '--json'], ['report', '--stats']]) {
          const { status, out, err } = await counterpoint(...words, '-i', path);
          const where = `${words.join(' ')} of ${length} bytes: ${out}${err}`;
          if (isEnd) assert.equal(status, 0, where);
          else if (n < firstSample) {
            assert.equal(status, 1, where);
            assert.match(err, /ends before its first sample/, where);
          } else {
            assert.equal(status, 0, where);
            assert.match(out + err, /Lost: .*the file was cut off/, where);
          }
        }
      }
    writeFileSync(path, bytes);
    assert.match((await counterpoint('report', '-i', path)).out, /Nothing lost/);
    writeFileSync(path, bytes.subarray(0, 16));
    const head = await counterpoint('report', '--header-only', '-i', path);
    assert.equal(head.status, 1);
    assert.match(head.err, /ends before its first event: the file was cut off/);
  });

test('what a stream has that perf inject put together is not called cut', {
  skip: perfIsMissing(),
}, async (t) => {
  const path = join(temporaryFolder(t), 'injected.data');
  const input = streamOf(['perf']);
  for (const more of [[], ['-b']]) {
    writeFileSync(path, spawnSync('perf', ['inject', ...more, '-i', '-', '-o', '-'], { input }).stdout);
    assert.match((await counterpoint('report', '-i', path)).out, /Nothing lost/, more.join(' '));
  }
});

function streamOf([program, ...words]: readonly string[]): Buffer {
  const options = ['record', '-q', '-e', 'page-faults', '-c', '40', '-o', '-', '--', 'true'];
  // An exclusive event of a test beside this one can take all of its time: then there are no samples.
  for (let attempt = 0; ; attempt++) {
    const { stdout, stderr } = spawnSync(program!, [...words, ...options], { maxBuffer: 1 << 26 });
    assert.ok(stdout.length > 1000, String(stderr));
    const ends = boundaries(stdout);
    if (ends.slice(0, -1).some((end) => stdout.readUInt32LE(end) === 9)) return stdout;
    assert.ok(attempt < 5, `no samples in ${ends.length} records`);
  }
}

test('a file of holes that says it has 90 GB of data costs what is there, and says what is missing', async (t) => {
  const path = join(temporaryFolder(t), 'sparse.data');
  const bytes = Buffer.from(fixture('plain'));
  const dataOffset = bytes.readBigUInt64LE(40);
  const dataSize = Number(bytes.readBigUInt64LE(48));
  bytes.writeBigUInt64LE(90n << 30n, 48);
  writeFileSync(path, bytes.subarray(0, Number(dataOffset) + dataSize));
  truncateSync(path, 90 * 2 ** 30 + Number(dataOffset));
  const { status, out } = await counterpoint('report', '--stats', '--json', '-i', path);
  assert.equal(status, 0);
  const { loss, samples, damage } = JSON.parse(out);
  assert.ok(samples > 0);
  const [{ kind, count }] = loss;
  assert.equal(kind, 'file-truncated');
  assert.ok(Number(count) > 89 * 2 ** 30, count);
  assert.ok(damage.some(({ code }: { code: string }) => code === 'data-past-end'));
  // Far less than that was looked at.
  const whole = await counterpoint('report', '--json', '-i', path);
  assert.equal(whole.status, 0);
  assert.equal((await counterpoint('report', '--fail-on-loss', '-i', path)).status, 3);
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
