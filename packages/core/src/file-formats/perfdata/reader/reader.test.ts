import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ByteSource, CounterpointError, FormatError, memorySource } from '../../../base/index.ts';
import {
  PERF_RECORD_AUXTRACE,
  PERF_RECORD_COMPRESSED,
  PERF_RECORD_SAMPLE,
} from '../../../format/abi/index.ts';
import { BodyWriter, encodeRecord, type PerfRecord, SampleLayout } from '../../../format/records/index.ts';
import { ATTR, comm, recording, round, sample } from '../../../test/recordings.ts';
import { openPerfData, type PerfDataReader, readRecords } from './index.ts';

async function sampleTimes(reader: PerfDataReader): Promise<bigint[]> {
  const times: bigint[] = [];
  for await (const { record } of readRecords(reader)) if ('sample' in record) times.push(record.sample.time!);
  return times;
}

/** Pieces of a stream, each of `size` bytes. */
async function* pieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.slice(at, at + size);
}

const TWO_ROUNDS: PerfRecord[] = [
  ...[1n, 4n, 7n].map((time) => sample({ time, cpu: 0 })),
  ...[2n, 3n, 9n].map((time) => sample({ time, cpu: 1 })),
  round(),
  ...[8n, 11n].map((time) => sample({ time, cpu: 0 })),
  ...[10n, 12n].map((time) => sample({ time, cpu: 1 })),
  round(),
];

test('orders by time across rounds', async () => {
  const reader = await openPerfData(memorySource(recording(TWO_ROUNDS)));
  assert.deepEqual(await sampleTimes(reader), [1n, 2n, 3n, 4n, 7n, 8n, 9n, 10n, 11n, 12n]);
  assert.deepEqual(reader.damage.list(), []);
});

test('a pipe gives the same in pieces of any size', async () => {
  const bytes = recording(TWO_ROUNDS, { mode: 'pipe' });
  for (const size of [1, 7, 64, 1000, bytes.length]) {
    const reader = await openPerfData(pieces(bytes, size));
    assert.equal(reader.isPipe, true);
    assert.equal((await sampleTimes(reader)).length, 10, `pieces of ${size}`);
    assert.equal(reader.events.events[0]?.name, 'cpu-clock');
    assert.deepEqual(reader.damage.list(), []);
  }
});

test('big-endian files read as little-endian ones', async () => {
  for (const mode of ['file', 'pipe'] as const) {
    const reader = await openPerfData(memorySource(recording(TWO_ROUNDS, { mode, littleEndian: false })));
    assert.equal(reader.littleEndian, false);
    assert.equal((await sampleTimes(reader)).length, 10);
    assert.deepEqual(reader.damage.list(), []);
  }
});

test('files larger than a chunk: every record once, in order', async () => {
  const chain = Array.from({ length: 100 }, (_, i) => BigInt(0x1000 + i));
  const records: PerfRecord[] = [];
  for (let i = 1; i <= 9000; i++) {
    records.push(sample({ time: BigInt(i), chain }));
    if (i % 500 === 0) records.push(round());
  }
  const bytes = recording(records);
  assert.ok(bytes.length > 7_000_000);
  const times = await sampleTimes(await openPerfData(memorySource(bytes)));
  assert.deepEqual(
    times,
    Array.from({ length: 9000 }, (_, i) => BigInt(i + 1)),
  );
});

test('memory for ordering is bounded; what comes too late is counted', async () => {
  const records = Array.from({ length: 1000 }, (_, i) => sample({ time: BigInt(1000 - i) }));
  const reader = await openPerfData(memorySource(recording(records)), { orderLimitBytes: 20_000 });
  assert.equal((await sampleTimes(reader)).length, 1000);
  assert.ok(reader.damage.count('out-of-order') > 0);
});

test('a killed recording reads up to its last whole record', async () => {
  const records = [1n, 2n, 3n].map((time) => sample({ time }));
  const whole = recording(records);
  // The recorder writes the data size last: put it back to 0 and cut into the third sample.
  const view = new DataView(whole.buffer);
  const dataOffset = Number(view.getBigUint64(40, true));
  const recordSize = view.getUint16(dataOffset + 6, true);
  view.setBigUint64(48, 0n, true);
  const cut = whole.slice(0, dataOffset + recordSize * 2 + 20);
  const reader = await openPerfData(memorySource(cut));
  assert.equal(reader.isUnfinished, true);
  assert.deepEqual(await sampleTimes(reader), [1n, 2n]);
  assert.equal(reader.cutBytes, 20);
  assert.equal(reader.damage.count('record-cut'), 1);
});

test('a record of size 0 is stepped over', async () => {
  const bytes = recording([1n, 2n, 3n, 4n].map((time) => sample({ time })));
  const view = new DataView(bytes.buffer);
  const dataOffset = Number(view.getBigUint64(40, true));
  const recordSize = view.getUint16(dataOffset + 6, true);
  view.setUint16(dataOffset + recordSize + 6, 0, true);
  const reader = await openPerfData(memorySource(bytes));
  assert.deepEqual(await sampleTimes(reader), [1n, 3n, 4n]);
  assert.deepEqual(reader.damage.list(), [
    { code: 'bad-record-size', count: 1, firstOffset: dataOffset + recordSize },
  ]);
});

test('unknown record types are given raw and counted', async () => {
  const body = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8);
  const unknown: PerfRecord = { raw: true, type: 87, misc: 0, body, tail: new Uint8Array() };
  const reader = await openPerfData(memorySource(recording([unknown, sample({ time: 1n })])));
  const seen: PerfRecord[] = [];
  for await (const { record } of readRecords(reader)) seen.push(record);
  assert.deepEqual(seen[0], unknown);
  assert.equal(reader.recordCounts.get(87), 1);
});

test('compressed records that are not Zstandard are counted, the rest is read', async () => {
  const garbage: PerfRecord = {
    type: PERF_RECORD_COMPRESSED,
    misc: 0,
    data: Uint8Array.from({ length: 64 }, (_, i) => i * 7),
    tail: new Uint8Array(),
  };
  const reader = await openPerfData(
    memorySource(recording([sample({ time: 1n }), garbage, sample({ time: 2n })])),
  );
  assert.deepEqual(await sampleTimes(reader), [1n, 2n]);
  assert.equal(reader.damage.count('bad-compressed-data'), 1);
});

test('compressed records: content in Zstandard raw blocks, records across their borders', async () => {
  const writer = new BodyWriter();
  for (const time of [1n, 2n, 3n]) encodeRecord(writer, sample({ time }), new SampleLayout(ATTR));
  const content = writer.take();
  const parts = [content.slice(0, 100), content.slice(100)];
  const frameHeader = Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58);
  const compressed = parts.map((part, i): PerfRecord => {
    // Raw block: 3 bytes of header, type 0, then the bytes. The frame stays open, as perf leaves it.
    const block = Uint8Array.of((part.length << 3) & 0xff, part.length >> 5, 0);
    const head = i === 0 ? [...frameHeader, ...block] : [...block];
    return {
      type: PERF_RECORD_COMPRESSED,
      misc: 0,
      data: Uint8Array.of(...head, ...part),
      tail: new Uint8Array(),
    };
  });
  const reader = await openPerfData(memorySource(recording(compressed)));
  assert.deepEqual(await sampleTimes(reader), [1n, 2n, 3n]);
  assert.deepEqual(reader.damage.list(), []);
  assert.equal(reader.recordCounts.get(PERF_RECORD_SAMPLE), 3);
});

test('what is no perf.data is refused with the offset and what to do', async () => {
  await assert.rejects(openPerfData(memorySource(new Uint8Array())), (error) => {
    assert.ok(error instanceof FormatError);
    assert.equal(error.code, 'ERR_NOT_PERF_DATA');
    assert.match(error.message, /empty file/);
    return true;
  });
  const text = new TextEncoder().encode('#!/bin/sh\necho hello world, this is a script\n');
  await assert.rejects(openPerfData(memorySource(text)), (error) => {
    assert.ok(error instanceof FormatError);
    assert.match(error.message, /offset 0: expected the magic PERFILE2/);
    assert.match(error.remedy, /counterpoint record/);
    return true;
  });
  await assert.rejects(openPerfData(memorySource(recording([]).slice(0, 60))), FormatError);
});

test('a file that comes through a pipe asks for a name', async () => {
  await assert.rejects(openPerfData(pieces(recording([]), 100)), (error) => {
    assert.ok(error instanceof CounterpointError);
    assert.equal(error.code, 'ERR_NOT_SEEKABLE');
    return true;
  });
});

test('cut anywhere, a file gives a clear error or counted damage', async () => {
  const bytes = recording([comm(10, 'a', 1n), ...[2n, 3n].map((time) => sample({ time })), round()]);
  for (let size = 0; size < bytes.length; size += 3) {
    try {
      const reader = await openPerfData(memorySource(bytes.slice(0, size)));
      await sampleTimes(reader);
      assert.ok(reader.damage.total > 0, `cut at ${size}`);
    } catch (error) {
      assert.ok(error instanceof FormatError, `cut at ${size}: ${error}`);
    }
  }
});

test('reading goes no further than what is asked for', async () => {
  const bytes = recording(Array.from({ length: 60_000 }, (_, i) => sample({ time: BigInt(i + 1) })));
  const inner = memorySource(bytes);
  let read = 0;
  const counting: ByteSource = {
    size: inner.size,
    read: (offset, length) => {
      read += length;
      return inner.read(offset, length);
    },
  };
  const reader = await openPerfData(counting);
  for await (const { record } of readRecords(reader, { unordered: true })) if ('sample' in record) break;
  assert.ok(read < bytes.length, `${read} of ${bytes.length} bytes`);
});

test('an aborted scan ends with the signal’s reason', async () => {
  const controller = new AbortController();
  controller.abort(new Error('enough'));
  const reader = await openPerfData(memorySource(recording(TWO_ROUNDS)));
  await assert.rejects(reader.scan({ record() {} }, { signal: controller.signal }), /enough/);
});

test('hardware trace is stepped over and counted, in files and pipes', async () => {
  const trace = new Uint8Array(3_000_000).fill(0x99);
  const head: PerfRecord = {
    type: PERF_RECORD_AUXTRACE,
    misc: 0,
    dataSize: BigInt(trace.length),
    auxOffset: 0n,
    reference: 0n,
    index: 0,
    tid: 10,
    cpu: 0,
    reserved: 0,
    tail: new Uint8Array(),
  };
  for (const mode of ['file', 'pipe'] as const) {
    const bytes = recording([sample({ time: 1n }), head, trace, sample({ time: 2n })], { mode });
    const reader = await openPerfData(mode === 'pipe' ? pieces(bytes, 100_000) : memorySource(bytes));
    assert.deepEqual(await sampleTimes(reader), [1n, 2n]);
    assert.equal(reader.auxTraceBytes, trace.length);
    assert.deepEqual(reader.damage.list(), []);
  }
});
