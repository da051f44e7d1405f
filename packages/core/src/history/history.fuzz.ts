import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CounterpointError, memorySource } from '../base/index.ts';
import { fixtureRecordings } from '../test/fixture-recordings.ts';
import { fuzz } from '../test/fuzz.ts';
import { mutate, setWord } from '../test/mutate.ts';
import type { Random } from '../test/random.ts';
import { openHistory, writeHistory, writePerfDataOf } from './index.ts';
import { FOOTER_BYTES, SLOT_MARKER } from './layout.ts';

// Damaged histories: nothing is thrown but our errors, nothing loops, nothing is
// made that the bytes do not hold.

let input = new Uint8Array();

async function histories(): Promise<Uint8Array<ArrayBuffer>[]> {
  return await Promise.all(
    fixtureRecordings().map(async ({ bytes }) => {
      const pieces: Uint8Array<ArrayBuffer>[] = [];
      await writeHistory(memorySource(bytes), (piece) => void pieces.push(piece.slice()));
      return new Uint8Array(await new Blob(pieces).arrayBuffer());
    }),
  );
}

/** Page 0, heads of slots, the footer. */
function damaged(bytes: Uint8Array<ArrayBuffer>, random: Random): Uint8Array<ArrayBuffer> {
  const copy = bytes.slice();
  const places = [
    () => setWord(copy, random, 0, 160),
    () => setWord(copy, random, Math.max(0, copy.length - FOOTER_BYTES)),
    () => setWord(copy, random, 4096, Math.min(copy.length, 4096 + 600)),
    () => mutate(copy, random),
    () => {
      const view = new DataView(copy.buffer);
      for (let at = 0; at + 4 <= copy.length; at += 8)
        if (random.oneIn(3)) view.setUint32(at, SLOT_MARKER, true);
      return copy;
    },
  ];
  let result = copy;
  for (let n = 1 + random.below(3); n > 0; n--) result = random.pick(places)();
  return result;
}

async function readAll(bytes: Uint8Array<ArrayBuffer>, random: Random): Promise<void> {
  const history = await openHistory(bytes);
  assert.ok(history.count * history.strideBytes <= bytes.length);
  let found = 0;
  for await (const { bytes: record } of history.records()) {
    assert.ok(record.length <= history.strideBytes);
    found++;
  }
  assert.ok(found <= history.count);
  if (history.count > 0) await history.at(random.below(history.count));
  const place = await history.find(BigInt(random.u32()));
  assert.ok(place >= 0 && place <= history.count);
  let written = 0;
  await writePerfDataOf(history, (piece) => {
    written += piece.length;
  });
  assert.ok(written <= 40 * bytes.length + 10_000, `${written} of ${bytes.length}`);
}

test('damaged histories', async () => {
  const seeds = await histories();
  await fuzz(
    'history',
    async (random) => {
      input = damaged(random.pick(seeds), random);
      try {
        await readAll(input, random);
      } catch (error) {
        if (!(error instanceof CounterpointError)) throw error;
      }
    },
    () => input,
  );
});
