import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CounterpointError, type Damage, memorySource } from '../../base/index.ts';
import { fixtureRecordings } from '../../test/fixture-recordings.ts';
import { fuzz } from '../../test/fuzz.ts';
import { flipBits, mutate, setWord } from '../../test/mutate.ts';
import type { Random } from '../../test/random.ts';
import { openHistory, writeHistory, writePerfDataOf } from './index.ts';
import { FOOTER_BYTES, SLOT_MARKER } from './layout.ts';

// Damaged histories: nothing is thrown but our errors, nothing loops, nothing is
// made that the bytes do not hold, and nothing that is wrong is taken for right.

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

/** All that a history says, as text; and what it says was wrong. */
async function answersOf(bytes: Uint8Array<ArrayBuffer>): Promise<{ said: string[]; damage: Damage[] }> {
  const history = await openHistory(bytes);
  const said = history.events.map(({ name, ids }) => `${name} ${ids}`);
  const times: bigint[] = [];
  for await (const { sequence, timeNs, event, bytes: record } of history.records()) {
    said.push(`${sequence} ${timeNs} ${event?.name} ${Buffer.from(record).toString('hex')}`);
    times.push(timeNs);
  }
  const middle = times[times.length >> 1] ?? 0n;
  said.push(`${history.firstSequence} ${history.count} ${middle} ${await history.find(middle)}`);
  if (history.count > 0) said.push(`${(await history.at(history.count - 1))?.timeNs}`);
  await writePerfDataOf(history, (piece) => void said.push(Buffer.from(piece).toString('hex')));
  return { said, damage: history.damage };
}

/** A block that was never written. */
function tearOut(bytes: Uint8Array<ArrayBuffer>, random: Random): void {
  const from = random.below(bytes.length);
  bytes.fill(0, from, from + random.pick([16, 200, 4096]));
}

/** As a disk or a copy damages a file: a few bits, a word, or a piece of it. */
function spoiled(bytes: Uint8Array<ArrayBuffer>, random: Random): Uint8Array<ArrayBuffer> {
  const copy = bytes.slice();
  const piece = (from: number) => copy.set(random.bytes(64).subarray(0, copy.length - from), from);
  const ways = [
    () => flipBits(copy, random),
    () => setWord(copy, random),
    () => setWord(copy, random, 0, 160),
    () => setWord(copy, random, copy.length - FOOTER_BYTES),
    () => piece(random.below(copy.length)),
    () => piece(copy.length - 1 - random.below(1000)),
    () => tearOut(copy, random),
  ];
  for (let n = 1 + random.below(2); n > 0; n--) random.pick(ways)();
  return copy;
}

test('whatever bytes are changed, what is read is right or the damage is told, where it is', async () => {
  const seeds = await histories();
  const truths = await Promise.all(seeds.map(answersOf));
  await fuzz(
    'changed history',
    async (random) => {
      const one = random.below(seeds.length);
      input = spoiled(seeds[one]!, random);
      try {
        const { said, damage } = await answersOf(input);
        if (damage.length === 0) assert.deepEqual(said, truths[one]!.said);
        for (const { code, firstOffset } of damage)
          assert.ok(Number.isInteger(firstOffset) && firstOffset < input.length, `${code} at ${firstOffset}`);
      } catch (error) {
        if (!(error instanceof CounterpointError)) throw error;
      }
    },
    () => input,
  );
});
