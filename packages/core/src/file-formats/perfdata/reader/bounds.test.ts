import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ByteSource, CounterpointError, memorySource } from '../../../base/index.ts';
import {
  FEATURE_EVENT_DESC,
  FEATURE_HOSTNAME,
  FEATURE_TRACING_DATA,
  FILE_HEADER_SIZE,
  PERF_RECORD_AUXTRACE,
  PERF_RECORD_HEADER_ATTR,
  PERF_RECORD_HEADER_EVENT_TYPE,
  PERF_RECORD_SAMPLE,
  PERF_TYPE_TRACEPOINT,
} from '../../../format/abi/index.ts';
import {
  BodyWriter,
  encodeAttr,
  encodeRecord,
  makeAttr,
  SampleLayout,
} from '../../../format/records/index.ts';
import { assertQuick } from '../../../test/assert-quick.ts';
import { featureRecord, joined, packed, packedRuns, rawRecord, words } from '../../../test/raw-records.ts';
import { ATTR, recording, round, sample } from '../../../test/recordings.ts';
import { writePerfData } from '../writer/index.ts';
import { openPerfData, type PerfDataReader, readRecords } from './index.ts';

// What a few bytes may claim, and how much is made of it: memory, time and order stay
// bounded by the bytes there are.

async function* pieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.slice(at, at + size);
}

async function scanned(input: Parameters<typeof openPerfData>[0]): Promise<PerfDataReader> {
  const reader = await openPerfData(input);
  await reader.scan({ record() {} });
  return reader;
}

async function inversions(reader: PerfDataReader): Promise<number> {
  let last = 0n;
  let count = 0;
  for await (const { record } of readRecords(reader)) {
    if (!('sample' in record)) continue;
    if (record.sample.time! < last) count++;
    last = record.sample.time!;
  }
  return count;
}

/** A sample as bytes, as the writer makes it. */
function sampleBytes(time: bigint): Uint8Array<ArrayBuffer> {
  const writer = new BodyWriter();
  encodeRecord(writer, sample({ time }), new SampleLayout(ATTR));
  return writer.take().slice();
}

test('what waits for its turn is counted by its size, not by the pieces it came in', async () => {
  const perRing = 1000;
  const records = [];
  for (let at = 0; at < 3; at++) {
    for (const ring of [0, 1])
      for (let i = 0; i < perRing; i++)
        records.push(sample({ time: BigInt(1 + (at * perRing + i) * 2 + ring), cpu: ring }));
    records.push(round());
  }
  const bytes = recording(records, { mode: 'pipe' });
  // Two rounds, and a bit: in pieces of a kilobyte there are some hundreds of them.
  const reader = await openPerfData(pieces(bytes, 1000), { orderLimitBytes: bytes.length * 1.5 });
  assert.equal(await inversions(reader), 0);
  assert.deepEqual(reader.damage.list(), []);
});

test('many small compressed records are put in order', async () => {
  const records = Array.from({ length: 300 }, (_, i) => packed(sampleBytes(BigInt(1000 - i)), i === 0));
  const reader = await openPerfData(memorySource(recording([...records, round()])), {
    orderLimitBytes: 1 << 20,
  });
  assert.equal(await inversions(reader), 0);
  assert.equal(reader.recordCounts.get(PERF_RECORD_SAMPLE), 300);
  assert.deepEqual(reader.damage.list(), []);
});

test('memory of compressed content is used again while the rest of it is parsed', async () => {
  // All records of a chunk go out early, one by one: none may be in memory that was given away.
  const times = Array.from({ length: 200 }, (_, i) => BigInt(i + 1));
  const records = times.map((time, i) => packed(joined(sampleBytes(time), sampleBytes(time)), i === 0));
  const reader = await openPerfData(memorySource(recording(records)), { orderLimitBytes: 1 });
  assert.equal(await inversions(reader), 0);
  assert.equal(reader.recordCounts.get(PERF_RECORD_SAMPLE), 400);
});

test('a record in compressed data stands where the compressed record does', async () => {
  const bytes = recording([packed(joined(sampleBytes(1n), sampleBytes(2n)), true)]);
  const dataOffset = Number(new DataView(bytes.buffer).getBigUint64(40, true));
  const offsets: number[] = [];
  for await (const { fileOffset } of readRecords(await openPerfData(memorySource(bytes))))
    offsets.push(fileOffset);
  assert.deepEqual(offsets, [dataOffset, dataOffset, dataOffset]);
});

test('a kilobyte that says it is gigabytes is not believed', async () => {
  const bytes = recording([
    sampleBytes(1n),
    packedRuns(0, 500, true),
    packedRuns(0, 500, false),
    sampleBytes(2n),
  ]);
  const reader = await scanned(memorySource(bytes));
  assert.equal(reader.damage.count('compressed-too-large'), 1);
  assert.equal(reader.recordCounts.get(PERF_RECORD_SAMPLE), 2);
});

test('what a sink throws comes out, for records in compressed data too', async () => {
  for (const content of [sampleBytes(1n), packed(sampleBytes(1n), true)]) {
    const reader = await openPerfData(memorySource(recording([content])));
    const scan = reader.scan({
      record(_view, _start, _end, type) {
        if (type === PERF_RECORD_SAMPLE) throw new Error('my own mistake');
      },
    });
    await assert.rejects(scan, /my own mistake/);
    assert.deepEqual(reader.damage.list(), []);
  }
});

/** A file of `count` events without ids. */
function manyEvents(count: number): {
  bytes: Uint8Array<ArrayBuffer>;
  view: DataView;
  idsAt: (event: number) => number;
} {
  const attrs = Array.from({ length: count }, () => ({ attr: ATTR, ids: [], name: '' }));
  const bytes = writePerfData({ attrs, records: [sample({ time: 1n })] });
  const view = new DataView(bytes.buffer);
  const entrySize = view.getUint32(16, true);
  const attrsAt = view.getUint32(24, true);
  return { bytes, view, idsAt: (event) => attrsAt + (event + 1) * entrySize - 16 };
}

test('ids that several events claim are damage, and read once at most', async () => {
  const { bytes, view, idsAt } = manyEvents(200);
  for (let event = 0; event < 200; event++)
    view.setBigUint64(idsAt(event) + 8, BigInt(bytes.length & ~7), true);
  const reader = await openPerfData(memorySource(bytes));
  assert.equal(reader.damage.count('ids-overlap'), 199);
  const ids = reader.events.events.reduce((sum, event) => sum + event.ids.length, 0);
  assert.ok(ids <= bytes.length / 8, `${ids} ids`);
});

test('one wrong size does not take the ids of other events', async () => {
  const attrs = [1n, 2n, 3n].map((id) => ({ attr: ATTR, ids: [id], name: '' }));
  const bytes = writePerfData({ attrs, records: [sample({ time: 1n })] });
  const view = new DataView(bytes.buffer);
  const sizeAt = view.getUint32(24, true) + view.getUint32(16, true) - 8;
  view.setBigUint64(sizeAt, 24n, true);
  const { events, damage } = await openPerfData(memorySource(bytes));
  assert.deepEqual(
    events.events.map(({ ids }) => ids),
    [[], [2], [3]],
  );
  assert.equal(damage.count('ids-overlap'), 1);
});

/** A file of 4 GB that nobody stores: `head`, then zeros. Counts what is read of it. */
function sparse(head: Uint8Array<ArrayBuffer>): ByteSource & { readBytes: number } {
  const source = {
    size: 2 ** 32,
    readBytes: 0,
    async read(offset: number, length: number) {
      const bytes = new Uint8Array(Math.max(0, Math.min(length, 2 ** 32 - offset)));
      source.readBytes += bytes.length;
      if (offset < head.length) bytes.set(head.subarray(offset, offset + bytes.length));
      return bytes;
    },
  };
  return source;
}

/** A recording with these features, whose sections are then said to be elsewhere. */
function withSections(sections: { bit: number; offset: number; size: number }[]): Uint8Array<ArrayBuffer> {
  const raw = new Map(sections.map(({ bit }) => [bit, new Uint8Array(8)]));
  const bytes = writePerfData({
    attrs: [{ attr: ATTR, ids: [1n], name: '' }],
    records: [sample({ time: 1n })],
    features: { raw },
  });
  const view = new DataView(bytes.buffer);
  const table = Number(view.getBigUint64(40, true) + view.getBigUint64(48, true));
  const bits = [...raw.keys()].sort((a, b) => a - b);
  const present: number[] = [];
  for (let bit = 0; bit < 256; bit++)
    if ((bytes[72 + (bit >> 3)]! & (1 << (bit & 7))) !== 0) present.push(bit);
  for (const { bit, offset, size } of sections) {
    assert.ok(bits.includes(bit) && present.includes(bit));
    view.setBigUint64(table + present.indexOf(bit) * 16, BigInt(offset), true);
    view.setBigUint64(table + present.indexOf(bit) * 16 + 8, BigInt(size), true);
  }
  return bytes;
}

test('sections of features that share bytes, or are too much for memory, are damage', async () => {
  const shared = Array.from({ length: 40 }, (_, i) => ({ bit: 130 + i, offset: 10_000, size: 100 << 20 }));
  const source = sparse(withSections(shared));
  const reader = await openPerfData(source);
  assert.ok(source.readBytes < 101 << 20, `${source.readBytes} bytes`);
  assert.equal(reader.damage.total, 39);
  assert.equal(reader.damage.list()[0]!.code, 'feature-overlap:feature(131)');

  const large = Array.from({ length: 10 }, (_, i) => ({
    bit: 130 + i,
    offset: 10_000 + i * (60 << 20),
    size: 60 << 20,
  }));
  const apart = sparse(withSections([{ bit: FEATURE_TRACING_DATA, offset: 2 ** 31, size: 1.5e9 }, ...large]));
  const { damage, features } = await openPerfData(apart);
  assert.ok(apart.readBytes < 129 << 20, `${apart.readBytes} bytes`);
  assert.equal(damage.count('feature-too-large:TRACING_DATA'), 1);
  assert.equal(damage.total, 9);
  assert.deepEqual(
    [...features.raw.keys()].filter((bit) => bit >= 130),
    [130, 131],
  );
});

test('damage in tracing data is told where its section stands', async () => {
  const bytes = withSections([{ bit: FEATURE_TRACING_DATA, offset: 300, size: 8 }]);
  const { damage } = await openPerfData(sparse(bytes));
  assert.deepEqual(damage.list(), [{ code: 'bad-tracing-data', count: 1, firstOffset: 300 }]);
  assert.ok(bytes.length > FILE_HEADER_SIZE);
});

test('a pipe that ends inside hardware trace says so', async () => {
  const head = rawRecord(PERF_RECORD_AUXTRACE, words(1 << 20, 0, 0, 0, 0));
  for (const mode of ['pipe', 'file'] as const) {
    for (const there of [0, 1000]) {
      const bytes = recording([sample({ time: 1n }), head, new Uint8Array(there)], { mode });
      const at = bytes.findLastIndex((_, i) => bytes[i] === 71 && bytes[i + 6] === 48);
      const reader = await scanned(mode === 'pipe' ? pieces(bytes, 100) : memorySource(bytes));
      assert.deepEqual(reader.damage.list(), [{ code: 'aux-data-cut', count: 1, firstOffset: at }]);
      assert.equal(reader.cutBytes, there);
      assert.equal(reader.auxTraceBytes, there);
    }
  }
});

test('a cut attr in a pipe is told where its record stands', async () => {
  const before = recording([sample({ time: 1n })], { mode: 'pipe' });
  const bytes = joined(before, rawRecord(PERF_RECORD_HEADER_ATTR, new Uint8Array(16)));
  const reader = await scanned(pieces(bytes, 50));
  assert.deepEqual(reader.damage.list(), [{ code: 'attr-cut', count: 1, firstOffset: before.length }]);
});

test('metadata in a pipe costs by its bytes', async () => {
  const attr = encodeAttr(makeAttr({ type: PERF_TYPE_TRACEPOINT, config: 77n, sampleType: 7n }));
  const eventAttr = rawRecord(PERF_RECORD_HEADER_ATTR, attr);
  const eventType = rawRecord(
    PERF_RECORD_HEADER_EVENT_TYPE,
    joined(words(77), new TextEncoder().encode('old:name\0')),
  );
  const ids = Array.from({ length: 7000 }, (_, i) => i + 100);
  const description = featureRecord(
    FEATURE_EVENT_DESC,
    joined(
      new Uint8Array(Uint32Array.of(1, attr.length).buffer),
      attr,
      new Uint8Array(Uint32Array.of(ids.length, 8).buffer),
      new TextEncoder().encode('new:one\0'),
      words(...ids),
    ),
  );
  const host = featureRecord(FEATURE_HOSTNAME, new Uint8Array(8));
  const bytes = recording(
    [
      ...Array.from({ length: 8000 }, () => eventAttr),
      ...Array.from({ length: 20_000 }, () => eventType),
      description,
      ...Array.from({ length: 20_000 }, () => host),
    ],
    { mode: 'pipe' },
  );
  await assertQuick(1500, async () => {
    const reader = await scanned(memorySource(bytes));
    assert.equal(reader.events.events.at(-1)!.name, 'old:name');
  });
});

test('a record that comes byte by byte is not carried along each time', async () => {
  const bytes = recording([rawRecord(99, new Uint8Array(65_000)), sample({ time: 1n })], { mode: 'pipe' });
  const reader = await openPerfData(pieces(bytes, 1));
  let chunks = 0;
  await reader.scan({ record() {} }, { onChunk: () => void chunks++ });
  assert.equal(reader.recordCounts.get(99), 1);
  assert.ok(chunks < 60, `${chunks} chunks`);
});

test('a file of a million record types has some thousands', async () => {
  const types = Array.from({ length: 10_000 }, (_, i) => rawRecord(1000 + i, new Uint8Array()));
  const reader = await scanned(memorySource(recording(types)));
  assert.ok(reader.recordCounts.size < 5000);
  assert.ok(reader.damage.count('too-many-record-types') > 5000);
});

test('a second scan is refused', async () => {
  const reader = await scanned(memorySource(recording([sample({ time: 1n })])));
  await assert.rejects(
    reader.scan({ record() {} }),
    (error) => error instanceof CounterpointError && error.code === 'ERR_READ_ONCE',
  );
});

/** A stream that remembers whether it was let go. */
function watched(bytes: Uint8Array): AsyncIterable<Uint8Array> & { returned: number } {
  const stream = {
    returned: 0,
    [Symbol.asyncIterator]() {
      const inner = pieces(bytes, 16);
      return {
        next: () => inner.next(),
        return: async () => {
          stream.returned++;
          return inner.return(undefined);
        },
      };
    },
  };
  return stream;
}

test('a stream is let go when it is not read to its end', async () => {
  const refused = watched(new Uint8Array(100));
  await assert.rejects(openPerfData(refused), /PERFILE2/);
  assert.equal(refused.returned, 1);

  const bytes = recording(
    [1n, 2n, 3n].map((time) => sample({ time })),
    { mode: 'pipe' },
  );
  const stopped = watched(bytes);
  const reader = await openPerfData(stopped);
  await assert.rejects(reader.scan({ record: () => assert.fail('enough') }), /enough/);
  assert.equal(stopped.returned, 1);

  const left = watched(bytes);
  const unread = await openPerfData(left);
  await unread.close();
  await unread.close();
  assert.equal(left.returned, 1);

  const whole = watched(bytes);
  await scanned(whole);
  assert.equal(whole.returned, 0);
});
