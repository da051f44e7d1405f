import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memorySource } from '@counterpoint/core/base';
import { type AuxPiece, type AuxStretch, auxQueues, overlapOf, readStretches } from './index.ts';

/** Decoding begins at the byte 255. */
const MARKS = {
  findMark: (bytes: Uint8Array, from: number) => bytes.indexOf(255, from),
  findLastMark: (bytes: Uint8Array, before: number) => bytes.lastIndexOf(255, before - 1),
};

function piece(fields: Partial<AuxPiece>): AuxPiece {
  return { index: 0, cpu: 0, tid: -1, auxOffset: 0n, reference: 0n, fileOffset: 0, sizeBytes: 0, ...fields };
}

async function stretches(
  data: readonly { bytes: number[]; auxOffset: number }[],
  options: { isSnapshot?: boolean; longestBytes?: number } = {},
): Promise<AuxStretch[]> {
  const all = data.flatMap(({ bytes }) => bytes);
  let fileOffset = 0;
  const pieces = data.map(({ bytes, auxOffset }) => {
    const one = piece({ auxOffset: BigInt(auxOffset), fileOffset, sizeBytes: bytes.length });
    fileOffset += bytes.length;
    return one;
  });
  const found: AuxStretch[] = [];
  const queue = { cpu: 0, tid: -1, pieces };
  for await (const one of readStretches(queue, memorySource(Uint8Array.from(all)), {
    isSnapshot: false,
    ...MARKS,
    ...options,
  }))
    found.push(one);
  return found;
}

test('pieces belong to rings; one that changes its owner is another', () => {
  const queues = auxQueues([
    piece({ index: 0, cpu: 0 }),
    piece({ index: 1, cpu: 1 }),
    piece({ index: 0, cpu: 0 }),
    piece({ index: 0, cpu: 3 }),
  ]);
  assert.deepEqual(
    queues.map(({ cpu, pieces }) => [cpu, pieces.length]),
    [
      [0, 2],
      [1, 1],
      [3, 1],
    ],
  );
});

test('pieces that follow each other are one stretch; a gap begins another', async () => {
  const found = await stretches([
    { bytes: [1, 2, 3], auxOffset: 0 },
    { bytes: [4, 5], auxOffset: 3 },
    { bytes: [6], auxOffset: 9 },
  ]);
  assert.deepEqual(
    found.map(({ bytes, isContinued }) => [[...bytes], isContinued]),
    [
      [[1, 2, 3, 4, 5], false],
      [[6], false],
    ],
  );
});

test('a long stretch is cut at a mark, and goes on there', async () => {
  const found = await stretches(
    [
      { bytes: [255, 2, 3], auxOffset: 0 },
      { bytes: [4, 255, 6, 7], auxOffset: 3 },
      { bytes: [8], auxOffset: 7 },
    ],
    { longestBytes: 5 },
  );
  assert.deepEqual(
    found.map(({ bytes, isContinued }) => [[...bytes], isContinued]),
    [
      [[255, 2, 3, 4], false],
      [[255, 6, 7, 8], true],
    ],
  );
});

test('snapshots lose what the one before had; without anything in common there is a gap', async () => {
  const found = await stretches(
    [
      { bytes: [9, 255, 1, 2, 255, 3], auxOffset: 0 },
      { bytes: [7, 255, 1, 2, 255, 3, 4, 5], auxOffset: 0 },
      { bytes: [255, 8], auxOffset: 0 },
    ],
    { isSnapshot: true },
  );
  assert.deepEqual(
    found.map(({ bytes }) => [...bytes]),
    [
      [9, 255, 1, 2, 255, 3, 4, 5],
      [255, 8],
    ],
  );
  const overlap = (a: number[], b: number[]) =>
    overlapOf(Uint8Array.from(a), Uint8Array.from(b), MARKS.findMark);
  assert.equal(overlap([255, 1, 255, 1], [255, 1, 2]), 2);
  assert.equal(overlap([1, 2], [255, 1]), 0);
  assert.equal(overlap([255, 1, 2], [1, 2, 3]), 0);
  assert.equal(overlap([255, 1, 2], [255, 1]), 0);
});

test('sizes that lie give what there is', async () => {
  const queue = {
    cpu: 0,
    tid: -1,
    pieces: [
      piece({ fileOffset: 1, sizeBytes: 1e15 }),
      piece({ auxOffset: 10n ** 15n, fileOffset: 1e15, sizeBytes: 5 }),
    ],
  };
  const found: AuxStretch[] = [];
  for await (const one of readStretches(queue, memorySource(Uint8Array.of(1, 2, 3)), {
    isSnapshot: false,
    ...MARKS,
  }))
    found.push(one);
  assert.deepEqual(
    found.map(({ bytes }) => [...bytes]),
    [[2, 3]],
  );
});
