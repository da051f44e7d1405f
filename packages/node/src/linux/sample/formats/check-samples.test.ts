import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkRows, checkSample } from './check-samples.ts';
import type { SampleRows } from './format.ts';

const SAMPLE = { event: 0, ip: 0x1000n, pid: 1, tid: -1, cpu: 0, timeNs: 5n, period: 1n };
const refusedBecause = (message: RegExp) => ({ code: 'ERR_FORMAT_SAMPLE', message });

test('what is no sample is told with its field, what came, and what it must be', () => {
  const cases: [unknown, RegExp][] = [
    ['hello', /^toSamples of the format own gives 'hello'; it must be a sample, an object$/],
    [null, /gives null/],
    [{}, /^a sample of the format own has event undefined; it must be one of its events, from 0 to 1$/],
    [{ ...SAMPLE, event: 9 }, /event 9/],
    [{ ...SAMPLE, event: -1 }, /event -1/],
    [{ ...SAMPLE, ip: 4096 }, /has ip 4096; it must be a bigint of 64 bits$/],
    [{ ...SAMPLE, pid: Number.NaN }, /has pid NaN; it must be a whole number of 32 bits$/],
    [{ ...SAMPLE, cpu: 1.5 }, /has cpu 1\.5/],
    [{ ...SAMPLE, timeNs: undefined }, /has timeNs undefined/],
    [{ ...SAMPLE, period: 1n << 70n }, /has period 1180591620717411303424n; .* not negative$/],
    [{ ...SAMPLE, address: 'x' }, /has address 'x'/],
    [{ ...SAMPLE, callchain: [1n, 2] }, /has callchain .*; it must be an array of bigints$/],
  ];
  for (const [sample, message] of cases)
    assert.throws(() => checkSample('own', sample, 2), refusedBecause(message));
  for (const right of [SAMPLE, { ...SAMPLE, ip: -5n, callchain: [-512n, 1n] }])
    assert.equal(checkSample('own', right, 2), right);
});

const AT = { event: 0, pid: 1, tid: 1, ip: 2, period: 4 };
const ROWS: SampleRows = {
  ...{ words: new Uint32Array(12), rowWords: 6, count: 2, at: AT, cpu: 0, timeNs: 1n },
};

test('rows: their shape once, and the event of each', () => {
  const cases: [unknown, RegExp][] = [
    [5, /^toRows of the format own gives 5; it must be rows/],
    [{ ...ROWS, words: [1, 2] }, /gives words a plain array; it must be a Uint32Array$/],
    [{ ...ROWS, rowWords: 0 }, /rowWords 0/],
    [{ ...ROWS, count: 3 }, /a row 2; it must be one of the 2 in words$/],
    [{ ...ROWS, places: new Uint32Array([0]) }, /places/],
    [{ ...ROWS, places: new Uint32Array([0, 7]) }, /a row 7/],
    [
      { ...ROWS, at: { ...AT, period: 5 } },
      /at\.period 5; it must be a word of a row of 6, with room for 2$/,
    ],
    [{ ...ROWS, at: { ...AT, pid: undefined } }, /at\.pid undefined/],
    [{ ...ROWS, cpu: 1.5 }, /cpu 1\.5/],
    [{ ...ROWS, timeNs: 5 }, /timeNs 5/],
    [{ ...ROWS, timesNs: new BigUint64Array(1) }, /timesNs .*a BigUint64Array of 2 at least$/],
    [{ ...ROWS, words: new Uint32Array(12).fill(3) }, /a row with event 3; it must be 0, its only event$/],
  ];
  for (const [rows, message] of cases)
    assert.throws(() => checkRows('own', rows, 1), refusedBecause(message));
  assert.equal(checkRows('own', ROWS, 1), ROWS);
});
