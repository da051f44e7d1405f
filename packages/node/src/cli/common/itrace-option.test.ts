import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { corpusUrl, lacksCorpus } from '../../../../core/src/test/corpus.ts';
import { openRecording } from '../../host/open/index.ts';
import { runCommandLine } from '../main.ts';
import { itraceOptions } from './itrace-option.ts';
import { Output } from './output.ts';

const RECORDING = fileURLToPath(corpusUrl('perfdata/quipper/perf.data.intel_pt-4.14'));
const skip = lacksCorpus('perfdata/quipper/');

async function run(...words: string[]) {
  const sink = () => ({
    text: '',
    isTerminal: false,
    columns: () => 0,
    write(text: string | Uint8Array) {
      this.text += typeof text === 'string' ? text : new TextDecoder().decode(text);
    },
  });
  const out = sink();
  const err = sink();
  const status = await runCommandLine(words, new Output(out), new Output(err));
  return { status, out: out.text, err: err.text };
}

test('a real trace without its programs: errors as perf prints them, how many, and what to do', {
  skip,
}, async () => {
  const { status, out, err } = await run('script', '-i', RECORDING, '--itrace=i1000ie');
  assert.equal(status, 0);
  assert.match(
    out,
    /^ instruction trace error type 1 time 641\.\d{9} cpu \d pid 3174 tid 3174 ip 0x[0-9a-f]+ code 5: /m,
  );
  assert.match(err, /12043 errors while the trace was decoded \(12043 × Failed to get instruction\)/);
  assert.match(err, /build-id cache/);
});

test('what needs no programs: the samples, synchronization points and frequencies that perf finds', {
  skip,
}, async () => {
  const { status, out } = await run('script', '-i', RECORDING, '--itrace=p');
  assert.equal(status, 0);
  const expected = JSON.parse(readFileSync(new URL('../expected.json', pathToFileURL(RECORDING)), 'utf8'));
  const { per_event: found } = expected['perfdata/quipper/perf.data.intel_pt-4.14'];
  const count = (event: string) => out.split('\n').filter((line) => line.includes(` ${event}: `)).length;
  assert.deepEqual([count('psb'), count('cbr')], [found.psb, found.cbr]);
  // Not in those figures, which were read from another version of perf; perf 6.1 prints as many.
  assert.equal(count('cycles'), 15);
});

test('left alone, the trace is said to be there', { skip }, async () => {
  const { status, out, err } = await run('report', '-i', RECORDING, '--no-itrace', '-v');
  assert.equal(status, 0);
  assert.match(out, /of event 'cycles'/);
  assert.match(err, /bytes of hardware trace, which is not decoded/);
});

test('letters that are none are a mistake of usage, pointed at', { skip }, async () => {
  const { status, err } = await run('report', '-i', RECORDING, '--itrace=i10x');
  assert.equal(status, 129);
  assert.match(err, /'i10x'\n +\\___ the unit of a period/);
  const views = await run('script', '-i', RECORDING, '--insn-trace', '--call-trace');
  assert.equal(views.status, 129);
});

test('a log of decoding: a file in the working directory, which is said, or the output', {
  skip,
}, async () => {
  const before = process.cwd();
  const folder = mkdtempSync(join(tmpdir(), 'counterpoint-log-'));
  process.chdir(folder);
  try {
    const { status, err } = await run('script', '-i', RECORDING, '--itrace=de');
    assert.equal(status, 0);
    assert.match(err, /^Log of decoding: intel_pt\.log \(\d.*B\)\.$/m);
    const log = readFileSync(join(folder, 'intel_pt.log'), 'utf8');
    assert.match(log, /^ {2}[0-9a-f]{8}: {2}02 82 .* psb$/m);
    assert.match(log, /^error at [0-9a-f]+, address [0-9a-f]+: no memory mapped/m);
    rmSync(join(folder, 'intel_pt.log'));
    const printed = await run('report', '-i', RECORDING, '--itrace=d+o+ei');
    assert.match(printed.out, /^--- before an error of queue \d/m);
    assert.doesNotMatch(printed.err, /Log of decoding/);
    assert.ok(!existsSync(join(folder, 'intel_pt.log')));
  } finally {
    process.chdir(before);
    rmSync(folder, { recursive: true });
  }
});

test('the decoder is asked for only if the recording can have a trace, or letters are given', {
  skip,
}, async () => {
  const given = (letters?: string) =>
    ({ string: () => letters, boolean: () => true }) as unknown as Parameters<typeof itraceOptions>[0];
  const plain = fileURLToPath(new URL('../../../../../fixtures/perfdata/plain.data', import.meta.url));
  await using recording = await openRecording(plain);
  assert.equal(await itraceOptions(given(), 'report', undefined, recording), null);
  assert.equal((await itraceOptions(given('c'), 'report', undefined, recording))?.branches, true);
  await using traced = await openRecording(RECORDING);
  assert.equal((await itraceOptions(given(), 'report', undefined, traced))?.instructions, true);
});
