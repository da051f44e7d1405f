import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EXAMPLE_RECORDS, exampleAttr, exampleBytes } from '../../test/example-records.ts';
import {
  PERF_RECORD_BPF_METADATA,
  PERF_RECORD_USER_TYPE_START,
  RECORD_NAMES,
  RECORD_TABLE,
  recordTypeName,
} from '../abi/index.ts';
import {
  BodyWriter,
  decodeRecord,
  encodeRecord,
  isRaw,
  isSample,
  type PerfRecord,
  SampleLayout,
  trailerSize,
} from './index.ts';

const layout = new SampleLayout(exampleAttr());
const withoutTrailer = new SampleLayout(exampleAttr({ flags: { sampleIdAll: 0 } }));

function encode(record: PerfRecord, of: SampleLayout | null, littleEndian: boolean): Uint8Array<ArrayBuffer> {
  const writer = new BodyWriter(littleEndian);
  encodeRecord(writer, record, of);
  return writer.take();
}

function decode(bytes: Uint8Array<ArrayBuffer>, of: SampleLayout | null, littleEndian: boolean): PerfRecord {
  return decodeRecord(new DataView(bytes.buffer), 0, bytes.length, of, littleEndian);
}

test('every record type has an example', () => {
  const shown = new Set(EXAMPLE_RECORDS.map(({ type }) => type));
  const missing = [...RECORD_NAMES.keys()].filter((type) => !shown.has(type)).map(recordTypeName);
  assert.deepEqual(missing, []);
  // All but samples come from the table.
  assert.equal(RECORD_TABLE.length, RECORD_NAMES.size - 1);
});

for (const littleEndian of [true, false]) {
  const order = littleEndian ? 'little-endian' : 'big-endian';

  test(`records come back as they were, ${order}`, () => {
    for (const record of EXAMPLE_RECORDS) {
      const of = isSample(record) ? withoutTrailer : null;
      const bytes = encode(record, of, littleEndian);
      assert.deepEqual(decode(bytes, of, littleEndian), record, recordTypeName(record.type));
      const view = new DataView(bytes.buffer);
      assert.equal(view.getUint16(6, littleEndian), bytes.length);
      assert.equal(view.getUint32(0, littleEndian), record.type);
      assert.equal(view.getUint16(4, littleEndian), record.misc);
    }
  });

  test(`records come back with their sample id trailers, ${order}`, () => {
    const sampleId = { pid: 1, tid: 2, time: 3n, id: 4n, cpu: 5 };
    for (const record of EXAMPLE_RECORDS) {
      const hasTrailer = record.type < PERF_RECORD_USER_TYPE_START && !isSample(record) && !isRaw(record);
      const full = hasTrailer ? { ...record, sampleId } : record;
      const bytes = encode(full, layout, littleEndian);
      assert.deepEqual(decode(bytes, layout, littleEndian), full, recordTypeName(record.type));
      if (!hasTrailer) continue;
      assert.equal(bytes.length - encode(record, null, littleEndian).length, layout.trailerSize);
      // What another reader finds without decoding the body.
      const view = new DataView(bytes.buffer);
      const lowHalf = littleEndian ? 0 : 4;
      assert.equal(view.getUint32(bytes.length - layout.timeFromEnd + lowHalf, littleEndian), 3);
      assert.equal(view.getUint32(bytes.length - layout.idFromEnd + lowHalf, littleEndian), 4);
    }
  });

  test(`bytes come back as they were, with what a newer writer added, ${order}`, () => {
    for (const record of EXAMPLE_RECORDS) {
      const first = encode(record, withoutTrailer, littleEndian);
      assert.deepEqual(
        encode(decode(first, withoutTrailer, littleEndian), withoutTrailer, littleEndian),
        first,
      );

      const longer = new Uint8Array([...first, ...exampleBytes(8, 0xa0)]);
      new DataView(longer.buffer).setUint16(6, longer.length, littleEndian);
      const decoded = decode(longer, withoutTrailer, littleEndian);
      assert.deepEqual(encode(decoded, withoutTrailer, littleEndian), longer, recordTypeName(record.type));
    }
  });

  test(`a record cut anywhere decodes, ${order}`, () => {
    for (const record of EXAMPLE_RECORDS) {
      const bytes = encode(record, layout, littleEndian);
      for (let size = 8; size < bytes.length; size++) {
        const decoded = decode(bytes.slice(0, size), layout, littleEndian);
        assert.equal(decoded.type, record.type);
        assert.equal(decoded.misc, record.misc);
      }
    }
  });

  test(`records of older writers, without the last fields, come back as they were, ${order}`, () => {
    for (const [name, sizes] of [
      ['TIME_CONV', [32, 48, 56]],
      ['AUXTRACE_ERROR', [40, 48, 112]],
      ['MMAP2', [40, 64]],
      ['FORK', [24]],
    ] as const) {
      const full = encode(
        EXAMPLE_RECORDS.find(({ type }) => recordTypeName(type) === name)!,
        null,
        littleEndian,
      );
      for (const size of sizes) {
        const bytes = full.slice(0, size);
        new DataView(bytes.buffer).setUint16(6, size, littleEndian);
        const record = decode(bytes, null, littleEndian);
        assert.deepEqual(encode(record, null, littleEndian), bytes, `${name} of ${size}`);
        // A field that is set now is written.
        if ('machinePid' in record) record.vcpu = 5;
        else if ('capUserTimeShort' in record) record.reserved = exampleBytes(6);
        else continue;
        assert.equal(encode(record, null, littleEndian).length, full.length);
      }
    }
  });
}

test('a record without a trailer gets zeros where its layout has one', () => {
  const record = EXAMPLE_RECORDS.find(({ type }) => recordTypeName(type) === 'COMM')!;
  const decoded = decode(encode(record, layout, true), layout, true);
  assert.deepEqual(decoded, { ...record, sampleId: { pid: 0, tid: 0, time: 0n, id: 0n, cpu: 0 } });
});

test('a record too short for a trailer has none', () => {
  assert.equal(trailerSize(3, 8 + layout.trailerSize - 1, layout), 0);
  assert.equal(trailerSize(3, 8 + layout.trailerSize, layout), layout.trailerSize);
  assert.equal(trailerSize(9, 1000, layout), 0);
  assert.equal(trailerSize(64, 1000, layout), 0);
  assert.equal(trailerSize(3, 1000, null), 0);
});

test('text that is not in the usual form is written as it stood, and as usual once it is changed', () => {
  // `a\0` then rubbish, and bytes that are not UTF-8.
  for (const area of [
    Uint8Array.of(0x61, 0, 0x62, 0, 0, 0, 0, 0),
    Uint8Array.of(0xff, 0x61, 0, 0, 0, 0, 0, 0),
  ]) {
    const writer = new BodyWriter(true);
    writer.beginRecord(3, 0);
    writer.i32(1);
    writer.i32(2);
    writer.rest(area);
    writer.endRecord();
    const bytes = writer.take();
    const record = decode(bytes, null, true);
    assert.deepEqual(encode(record, null, true), bytes);
    assert.ok('comm' in record);
    const renamed = decode(encode({ ...record, comm: 'new name' }, null, true), null, true);
    assert.ok('comm' in renamed);
    assert.equal(renamed.comm, 'new name');
  }
});

test('metadata of a BPF program have the place that perf gives them', () => {
  // struct perf_record_bpf_metadata of perf 6.17: name in 512 bytes, u64 count, entries of 64 + 256 bytes.
  const bytes = new Uint8Array(8 + 512 + 8 + 320);
  const view = new DataView(bytes.buffer);
  const put = (at: number, text: string) => bytes.set(new TextEncoder().encode(text), at);
  view.setUint32(0, PERF_RECORD_BPF_METADATA, true);
  view.setUint16(6, bytes.length, true);
  put(8, 'bpf_prog_0123456789abcdef_a_name_beyond_16_bytes');
  view.setBigUint64(520, 1n, true);
  put(528, 'version');
  put(528 + 64, '6.17');
  const record = decode(bytes, null, true);
  assert.ok('programName' in record);
  assert.equal(record.programName, 'bpf_prog_0123456789abcdef_a_name_beyond_16_bytes');
  assert.equal(record.count, 1n);
  assert.deepEqual(record.data, bytes.slice(528));
  assert.deepEqual(encode(record, null, true), bytes);
});

test('lists are no longer than their record, whatever the count says', () => {
  for (const name of ['NAMESPACES', 'ID_INDEX', 'THREAD_MAP', 'STAT_CONFIG', 'CALLCHAIN_DEFERRED']) {
    const record = EXAMPLE_RECORDS.find(({ type }) => recordTypeName(type) === name)!;
    const bytes = encode(record, null, true);
    const countAt = name === 'NAMESPACES' || name === 'CALLCHAIN_DEFERRED' ? 16 : 8;
    bytes.fill(0xff, countAt, countAt + 8);
    assert.deepEqual(decode(bytes, null, true), record, name);
  }
});

test('a record of more than 65,535 bytes cannot be written', () => {
  assert.throws(
    () =>
      encode(
        { raw: true, type: 60, misc: 0, body: new Uint8Array(65_528), tail: new Uint8Array() },
        null,
        true,
      ),
    RangeError,
  );
});
