import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toBigInt } from '../../base/index.ts';
import { Random } from '../../test/random.ts';
import { slowSample } from '../../test/slow-sample.ts';
import { SAMPLE_BIT_NAMES, SAMPLE_ID_BITS, sampleBitNames } from '../abi/index.ts';
import {
  BodyWriter,
  decodeRecord,
  decodeSample,
  decodeSampleInto,
  encodeRecord,
  encodeSample,
  isSample,
  makeAttr,
  type PerfEventAttr,
  type PerfRecord,
  type Sample,
  SampleFields,
  SampleLayout,
} from './index.ts';

const BITS = SAMPLE_BIT_NAMES.length;
const SAMPLE = 9;

function randomAttr(random: Random, sampleType: bigint): PerfEventAttr {
  return makeAttr({
    sampleType,
    readFormat: BigInt(random.below(32)),
    branchSampleType: BigInt(random.below(8)) << 17n,
    // A few registers, so that dumps stay short.
    sampleRegsUser: BigInt(random.u32() & 0x0105_0103),
    sampleRegsIntr: BigInt(random.u32() & 7) << 61n,
    flags: { sampleIdAll: random.below(2) },
  });
}

/** A sample with every part, some of them empty. */
function randomSample(random: Random, attr: PerfEventAttr): Sample {
  const words = (count: number) => Array.from({ length: count }, () => random.u64());
  const bits = (mask: bigint) => mask.toString(2).replaceAll('0', '').length;
  const registers = (mask: bigint) => {
    const abi = random.below(3);
    return { abi, registers: abi === 0 ? [] : words(bits(mask)) };
  };
  const id = random.u64();
  const stack = random.bytes(random.below(3) * 8);
  return {
    identifier: id,
    ip: random.u64(),
    pid: random.u32() | 0,
    tid: random.u32() | 0,
    time: random.u64(),
    addr: random.u64(),
    id,
    streamId: random.u64(),
    cpu: random.u32() | 0,
    period: random.u64(),
    read: {
      timeEnabled: random.u64(),
      timeRunning: random.u64(),
      values: Array.from({ length: random.below(4) }, () => ({
        value: random.u64(),
        id: random.u64(),
        lost: random.u64(),
      })),
    },
    callchain: words(random.below(5)),
    // Sizes as the kernel makes them: the four bytes of the size and the data fill whole words.
    raw: random.bytes(random.below(4) * 8 + 4),
    branchHwIndex: random.u64(),
    branches: Array.from({ length: random.below(3) }, () => ({
      from: random.u64(),
      to: random.u64(),
      flags: random.u64(),
      counters: random.u64(),
    })),
    userRegisters: registers(attr.sampleRegsUser),
    userStack: { bytes: stack, dynamicSize: stack.length === 0 ? 0 : random.below(stack.length) },
    weight: random.u64(),
    dataSource: random.u64(),
    transaction: random.u64(),
    interruptRegisters: registers(attr.sampleRegsIntr),
    physicalAddr: random.u64(),
    cgroup: random.u64(),
    dataPageSize: random.u64(),
    codePageSize: random.u64(),
    aux: random.bytes(random.below(3) * 8),
  };
}

function encodeOne(sample: Sample, layout: SampleLayout, le: boolean): Uint8Array<ArrayBuffer> {
  const writer = new BodyWriter(le);
  writer.beginRecord(SAMPLE, 0);
  encodeSample(writer, sample, layout);
  writer.endRecord();
  return writer.take();
}

/** One sample type of each kind: every bit alone, all bits, and random ones. */
function* sampleTypes(random: Random, rounds: number): Generator<bigint> {
  for (let bit = 0; bit < BITS; bit++) yield 1n << BigInt(bit);
  yield (1n << BigInt(BITS)) - 1n;
  yield 0n;
  for (let i = 0; i < rounds; i++) yield BigInt(random.below(1 << BITS));
}

test('samples are written and read as the plain statement of the layout has it', () => {
  const random = new Random(3);
  for (const sampleType of sampleTypes(random, 400)) {
    const attr = randomAttr(random, sampleType);
    const layout = new SampleLayout(attr);
    const le = random.oneIn(2);
    const bytes = encodeOne(randomSample(random, attr), layout, le);
    const view = new DataView(bytes.buffer);
    const slow = slowSample(view, 0, bytes.length, attr, le);
    assert.ok(slow !== null, sampleBitNames(layout.sampleType).join());
    assert.equal(slow.end, bytes.length);
    const sample = decodeSample(view, 0, bytes.length, layout, le);
    assert.deepEqual(sample, slow.sample, sampleBitNames(layout.sampleType).join());
    assert.deepEqual(encodeOne(sample!, layout, le), bytes);
    // One byte less is too short, and never more than that.
    if (bytes.length > 8) assert.equal(decodeSample(view, 0, bytes.length - 1, layout, le), null);
  }
});

test('on any bytes the decoder and the plain statement agree', () => {
  const random = new Random(4);
  let decoded = 0;
  for (let round = 0; round < 6000; round++) {
    const attr = randomAttr(random, BigInt(random.below(1 << BITS) & random.below(1 << BITS)));
    const layout = new SampleLayout(attr);
    const le = random.oneIn(2);
    const bytes = random.bytes(8 + random.below(40) * 8 + (random.oneIn(8) ? random.below(8) : 0));
    // Small words, so that counts and sizes are often possible.
    const view = new DataView(bytes.buffer);
    for (let at = 8; at + 8 <= bytes.length; at += 8) {
      if (random.oneIn(2)) view.setBigUint64(at, BigInt(random.below(6)), le);
    }
    view.setUint32(0, SAMPLE, le);
    const slow = slowSample(view, 0, bytes.length, attr, le);
    assert.deepEqual(decodeSample(view, 0, bytes.length, layout, le), slow?.sample ?? null);
    const record = decodeRecord(view, 0, bytes.length, layout, le);
    if (slow === null) assert.ok('raw' in record);
    else {
      decoded++;
      assert.deepEqual(record.tail, bytes.slice(slow.end));
    }
  }
  assert.ok(decoded > 1000, `only ${decoded} of the random samples were whole`);
});

test('reused fields hold nothing of the samples before', () => {
  const random = new Random(5);
  const reused = new SampleFields();
  const layouts = Array.from({ length: 12 }, (_, i) => {
    const attr = randomAttr(random, BigInt(random.below(1 << BITS)));
    // Some with the same bits and other parts of branch stacks.
    return { attr, layout: new SampleLayout(i % 3 === 0 ? attr : { ...attr, branchSampleType: 0n }) };
  });
  for (let round = 0; round < 500; round++) {
    const { attr, layout } = random.pick(layouts);
    const bytes = encodeOne(randomSample(random, attr), layout, true);
    const end = random.oneIn(4) ? 8 + random.below(bytes.length - 7) : bytes.length;
    const view = new DataView(bytes.buffer);
    const fresh = new SampleFields();
    assert.equal(
      decodeSampleInto(view, 0, end, layout, true, reused),
      decodeSampleInto(view, 0, end, layout, true, fresh),
    );
    assert.deepEqual({ ...reused, shape: 0 }, { ...fresh, shape: 0 });
  }
});

test('time and id stand where the layout says, in samples and in trailers', () => {
  const random = new Random(6);
  for (const sampleType of sampleTypes(random, 200)) {
    const attr = { ...randomAttr(random, sampleType) };
    attr.flags.sampleIdAll = 1;
    const layout = new SampleLayout(attr);
    const le = random.oneIn(2);
    const sample = randomSample(random, attr);
    const at = (bytes: Uint8Array<ArrayBuffer>, pos: number) => {
      const view = new DataView(bytes.buffer);
      const [first, second] = [view.getUint32(pos, le), view.getUint32(pos + 4, le)];
      return le ? toBigInt(first, second) : toBigInt(second, first);
    };
    const hasTime = (sampleType & 4n) !== 0n;
    const hasId = (sampleType & (64n | 65536n)) !== 0n;
    const body = encodeOne(sample, layout, le);
    assert.equal(layout.timeFromStart >= 0, hasTime);
    assert.equal(layout.idFromStart >= 0, hasId);
    if (hasTime) assert.equal(at(body, layout.timeFromStart), sample.time);
    if (hasId) assert.equal(at(body, layout.idFromStart), sample.id);

    const comm: PerfRecord = {
      type: 3,
      misc: 0,
      pid: 1,
      tid: 2,
      comm: 'x',
      tail: new Uint8Array(),
      sampleId: sample,
    };
    const writer = new BodyWriter(le);
    encodeRecord(writer, comm, layout);
    const bytes = writer.take();
    assert.equal(bytes.length, 24 + layout.trailerSize);
    assert.equal(layout.trailerSize > 0, (Number(sampleType) & SAMPLE_ID_BITS) !== 0);
    if (hasTime) assert.equal(at(bytes, bytes.length - layout.timeFromEnd), sample.time);
    if (hasId) assert.equal(at(bytes, bytes.length - layout.idFromEnd), sample.id);
    const back = decodeRecord(new DataView(bytes.buffer), 0, bytes.length, layout, le);
    if (layout.trailerSize > 0)
      assert.equal(back.sampleId?.tid, (sampleType & 2n) !== 0n ? sample.tid : undefined);
  }
});

test('raw data is filled up to whole words, as the kernel does', () => {
  const layout = new SampleLayout(makeAttr({ sampleType: 1n << 10n }));
  for (const [size, padded] of [
    [0, 4],
    [4, 4],
    [5, 12],
    [12, 12],
  ] as const) {
    const bytes = encodeOne({ raw: new Uint8Array(size).fill(7) }, layout, true);
    assert.equal(bytes.length % 8, 0);
    const { raw } = decodeSample(new DataView(bytes.buffer), 0, bytes.length, layout, true)!;
    assert.equal(raw!.length, padded);
    assert.ok(raw!.every((byte, i) => byte === (i < size ? 7 : 0)));
  }
});

test('bits that are not known are kept aside, and what they add becomes the tail', () => {
  const layout = new SampleLayout(makeAttr({ sampleType: 1n | (1n << 40n) | (1n << 25n) }));
  assert.equal(layout.unknownBits, (1n << 40n) | (1n << 25n));
  const bytes = Uint8Array.from([...encodeOne({ ip: 5n }, layout, true), 1, 2, 3, 4, 5, 6, 7, 8]);
  const record = decodeRecord(new DataView(bytes.buffer), 0, bytes.length, layout, true);
  assert.ok(isSample(record));
  assert.deepEqual(record.sample, { ip: 5n });
  assert.deepEqual([...record.tail], [1, 2, 3, 4, 5, 6, 7, 8]);
});
