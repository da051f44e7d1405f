import assert from 'node:assert/strict';
import { test } from 'node:test';
import { collectStats } from '../../../answers/index.ts';
import { type ByteSource, memorySource } from '../../../base/index.ts';
import type { PerfRecord } from '../../../format/records/index.ts';
import { recording, sample } from '../../../test/recordings.ts';
import { openPerfData } from './index.ts';

const MIB = 1 << 20;

/**
 * A file of more than 2 GB that nobody stores: header and attrs of a real one, then one megabyte of records
 * again and again. Most of it is in records of a type that is not known, the largest there can be.
 */
function largeSource(repeats: number): { source: ByteSource; perRepeat: number } {
  const filler: PerfRecord = {
    raw: true,
    type: 99,
    misc: 0,
    body: new Uint8Array(65_512),
    tail: new Uint8Array(),
  };
  const records: PerfRecord[] = [];
  for (let i = 0; i < 15; i++) records.push(sample({ time: 5n, chain: [0x10n] }), filler);
  const bytes = recording(records);
  const view = new DataView(bytes.buffer);
  const dataOffset = Number(view.getBigUint64(40, true));
  const dataSize = Number(view.getBigUint64(48, true));
  const block = bytes.slice(dataOffset, dataOffset + dataSize);
  const size = dataOffset + dataSize * repeats;
  // Unfinished: data to the end of the file, no features after it.
  view.setBigUint64(48, 0n, true);
  const head = bytes.slice(0, dataOffset);
  const readInto = async (target: Uint8Array, offset: number) => {
    let at = 0;
    while (at < target.length && offset + at < size) {
      const from = offset + at;
      const piece = from < dataOffset ? head.subarray(from) : block.subarray((from - dataOffset) % dataSize);
      const taken = Math.min(piece.length, target.length - at, size - from);
      target.set(piece.subarray(0, taken), at);
      at += taken;
    }
    return at;
  };
  const source: ByteSource = {
    size,
    readInto,
    read: async (offset, length) => {
      const target = new Uint8Array(Math.max(0, Math.min(length, size - offset)));
      await readInto(target, offset);
      return target;
    },
  };
  return { source, perRepeat: 15 };
}

test('a file beyond 2 GB streams in bounded memory', async () => {
  const { source, perRepeat } = largeSource(2300);
  assert.ok(source.size > 2 ** 31, `${source.size} bytes`);
  const reader = await openPerfData(source);
  let peakBytes = 0;
  const start = process.memoryUsage().rss;
  const stats = await collectStats(reader, {
    onProgress: () => {
      peakBytes = Math.max(peakBytes, process.memoryUsage().rss - start);
    },
  });
  assert.equal(stats.samples, 2300 * perRepeat);
  assert.equal(stats.records['unknown(99)'], 2300 * perRepeat);
  // Without FINISHED_ROUND everything could wait for its turn: the queue's limit (256
  // MiB) and a few chunks bound it.
  assert.ok(peakBytes < 420 * MIB, `${(peakBytes / MIB).toFixed(0)} MiB`);
});

test('a million samples aggregate in some tens of megabytes', async () => {
  const { ingestPerfData } = await import('../../../profile/ingest/index.ts');
  const records = Array.from({ length: 20_000 }, (_, i) =>
    sample({
      time: BigInt(i + 1),
      chain: Array.from({ length: 8 }, (_, depth) => BigInt(((i * 31 + depth) % 1000) * 16)),
    }),
  );
  const block = recording(records);
  const view = new DataView(block.buffer);
  const dataOffset = Number(view.getBigUint64(40, true));
  const dataSize = Number(view.getBigUint64(48, true));
  const data = block.slice(dataOffset, dataOffset + dataSize);
  const whole = new Uint8Array(dataOffset + dataSize * 50);
  whole.set(block.subarray(0, dataOffset));
  for (let i = 0; i < 50; i++) whole.set(data, dataOffset + i * dataSize);
  new DataView(whole.buffer).setBigUint64(48, 0n, true);
  const start = process.memoryUsage().rss;
  const reader = await openPerfData(memorySource(whole), { orderLimitBytes: 8 * MIB });
  const { profile } = await ingestPerfData(reader, { aggregate: true });
  assert.equal(profile.events[0]?.samples, 1_000_000);
  assert.ok(profile.samples.length <= 1000);
  const grownMib = (process.memoryUsage().rss - start) / MIB;
  assert.ok(grownMib < 150, `${grownMib.toFixed(0)} MiB`);
});
