import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { writePerfData } from '@counterpoint/core/perfdata';
import { noPerf, perf, TemporaryFolder } from '../../../../core/src/test/perf.ts';
import { joinChunks, loadPrograms } from '../../test/real-programs.ts';
import { type EncodingOptions, ExecutionEncoder, RandomWalk } from '../execution/index.ts';
import { encodePtInfo, type PtInfo, readPtInfo } from './pt-info.ts';
import { ptRecording } from './pt-recording.ts';

const folder = new TemporaryFolder();
after(() => folder.remove());

const INFO: PtInfo = {
  pmuType: 8,
  clock: { timeShift: 31, timeMult: 1_022_611_261, timeZero: 0xffff_ffff_0000_0001n },
  tscBit: 1n << 10n,
  noRetCompBit: 1n << 11n,
  mtcBit: 1n << 9n,
  mtcFreqBits: 0xfn << 14n,
  cycBit: 2n,
  schedSwitch: 2,
  isSnapshot: true,
  isPerCpu: true,
  tscCtcNumerator: 84,
  tscCtcDenominator: 1,
  maxNonTurboRatio: 21,
  filter: 'filter main @ /bin/a',
  hasEventTrace: true,
};

test('what a recording says about Intel PT: written and read, in both byte orders, whole and in older forms', () => {
  for (const littleEndian of [true, false]) {
    const { data } = encodePtInfo(INFO, littleEndian);
    assert.equal(data.length % 8, 0);
    assert.deepEqual(readPtInfo(data, littleEndian), INFO);
    assert.equal(readPtInfo(data.subarray(0, 80), littleEndian).mtcBit, 0n);
    assert.throws(() => readPtInfo(data.subarray(0, 79), littleEndian), { code: 'ERR_PT_INFO' });
  }
  assert.deepEqual(readPtInfo(encodePtInfo({ ...INFO, clock: null, filter: '' }).data).clock, null);
});

const ENCODINGS: EncodingOptions[] = [
  {},
  { returnCompression: false },
  { tsc: true },
  { tsc: true, mtc: true },
  { tsc: true, mtc: true, cyc: true, longTnt: true },
  { deferTips: true },
];

test('a random walk in a file of ours: perf script prints the same instructions', {
  skip: noPerf,
}, async (context) => {
  const programs = await loadPrograms();
  if (programs === null) return context.skip('no gzip and libc for x86-64 here');
  const { image, code, entries } = programs;
  for (const [index, encoding] of ENCODINGS.entries()) {
    const encoder = new ExecutionEncoder(
      image,
      new RandomWalk({ seed: 11 + index, entries, interruptEvery: index % 2 === 0 ? 0 : 60 }),
      encoding,
    );
    const trace = joinChunks(encoder.chunks({ instructions: 60_000 }));
    const mappings = code.map(({ path, address, sizeBytes, offset }) => ({
      path,
      address,
      sizeBytes,
      fileOffset: offset,
    }));
    const bytes = writePerfData(ptRecording({ pid: 4242, comm: 'walk', mappings, trace, encoding }));
    const path = folder.file('walk.data', bytes);
    const { stdout, stderr, status } = perf(['script', '-i', path, '--itrace=i1ie', '-F', 'ip', '--ns']);
    const name = JSON.stringify(encoding);
    assert.equal(status, 0, `${name}: ${stderr}`);
    let hash = 0x811c_9dc5;
    let count = 0;
    for (const [, ip = ''] of stdout.matchAll(/^\s*([0-9a-f]+)\s*$/gm)) {
      const address = BigInt(`0x${ip}`);
      hash = Math.imul(hash ^ Number(address & 0xffff_ffffn), 0x0100_0193);
      hash = Math.imul(hash ^ Number(address >> 32n), 0x0100_0193);
      count++;
    }
    assert.equal(
      count,
      encoder.truth.instructions,
      `${name}: ${stderr} ${stdout.match(/.*error.*/)?.[0] ?? ''}`,
    );
    assert.equal(hash >>> 0, encoder.truth.addressHash, name);
  }
});
