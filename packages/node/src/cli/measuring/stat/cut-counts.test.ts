import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { isProof } from '../../../../../core/src/test/proof.ts';
import { counterpoint } from '../../../test/command-line.ts';
import { perf, perfIsMissing, temporaryFolder } from '../../../test/perf.ts';

const FORMS = [[], ['--json'], ['-x', ',']];
const skip = perfIsMissing();

/**
 * Before, at and behind places where a record can end, as far as the data goes, and some of what stands
 * behind it: in `npm run proof` each of them, else each third, and others in each stream.
 */
function* lengths(size: number): Generator<number> {
  let places = 0;
  for (let at = 0; at < size; at += at < 304 || at > 800 ? 40 : 8)
    if (isProof || places++ % 3 === size % 3) yield* [at, at + 1, at + 7].filter((length) => length < size);
}

/** What was counted, or that there is nothing to answer with: never neither. */
async function checkCut(path: string, bytes: Buffer, length: number): Promise<void> {
  writeFileSync(path, bytes.subarray(0, length));
  for (const form of FORMS) {
    const { status, out, err } = await counterpoint('stat', 'report', ...form, '-i', path);
    const where = `${form.join(' ')} at ${length} of ${bytes.length}: status ${status}: ${out}${err}`;
    if (status !== 0) {
      assert.equal(status, 1, where);
      assert.equal(out, '', where);
      assert.match(err, /cut off|empty file|expected a perf.data header/, where);
      assert.doesNotMatch(err, /recording of samples/, where);
      continue;
    }
    assert.match(out, /context-switches|"cs"|cs/, where);
    if (form[0] === '--json') {
      const { loss, damage } = JSON.parse(out.slice(Math.max(0, out.lastIndexOf('\n{'))));
      assert.ok(loss.length + damage.length > 0, where);
    } else assert.match(err, /^Lost: /m, where);
  }
}

const RECORDED: readonly string[][] = [['true'], ['-I', '20', 'sleep', '0.07']];

for (const words of RECORDED)
  test(`a recording of counts that is cut anywhere: an answer with its loss, or none: ${words.join(' ')}`, {
    skip,
  }, async (t) => {
    const path = join(temporaryFolder(t), 'cut.data');
    await counterpoint('stat', 'record', '-q', '-e', 'cs,page-faults', '-o', path, ...words);
    const ours = readFileSync(path);
    for (const length of lengths(ours.length)) await checkCut(path, ours, length);
    perf('stat', 'record', '-e', 'cs,page-faults', '-o', path, ...words);
    const theirs = readFileSync(path);
    for (const length of lengths(theirs.length)) await checkCut(path, theirs, length);
  });

test('a stream of counts that is cut anywhere', { skip }, async (t) => {
  const path = join(temporaryFolder(t), 'cut.data');
  const piped = perfBytes('stat', 'record', '-e', 'cs,page-faults', '-o', '-', 'true');
  for (const length of lengths(piped.length)) await checkCut(path, piped, length);
});

test('a stream of counts has no samples, and one of samples no counts', { skip }, async (t) => {
  const path = join(temporaryFolder(t), 'pipe.data');
  writeFileSync(path, perfBytes('stat', 'record', '-e', 'cs', '-o', '-', 'true'));
  for (const words of [['report'], ['report', '--json'], ['script'], ['export', '-f', 'folded', '-o', '-']]) {
    const { status, out, err } = await counterpoint(...words, '-i', path);
    assert.equal(status, 1, words.join(' '));
    assert.equal(out, '', words.join(' '));
    assert.match(err, /has counts, not samples\n {2}counterpoint stat report shows them/);
  }
  assert.match((await counterpoint('report', '--stats', '-i', path)).out, /STAT events: +[1-9]/);
  const samples = new URL('../../../../../../fixtures/perfdata/pipe.data', import.meta.url);
  writeFileSync(path, readFileSync(samples));
  const { status, err } = await counterpoint('stat', 'report', '-i', path);
  assert.equal(status, 1);
  assert.match(
    err,
    /has no counts: it is a recording of samples\n.*To show samples, use counterpoint report/,
  );
});

function perfBytes(...words: string[]): Buffer {
  const { stdout, stderr } = spawnSync('perf', words, { stdio: ['ignore', 'pipe', 'pipe'] });
  assert.ok(stdout.length > 100, String(stderr));
  return stdout;
}
