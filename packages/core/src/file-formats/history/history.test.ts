import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memorySource } from '../../base/index.ts';
import { PERF_RECORD_SAMPLE } from '../../format/abi/index.ts';
import { corpusFiles } from '../../test/corpus.ts';
import { fixtureRecordings } from '../../test/fixture-recordings.ts';
import { comm, recording, sample } from '../../test/recordings.ts';
import { lossAtEnd, openPerfData, type PerfDataReader } from '../perfdata/index.ts';
import { checksumAround } from './checksum.ts';
import { isHistory, openHistory, writeHistory, writePerfDataOf } from './index.ts';
import { AT_HEADER_CHECKSUM, FOOTER_BYTES, INDEX_STEP } from './layout.ts';

type Bytes = Uint8Array<ArrayBuffer>;

async function gathered(work: (write: (piece: Bytes) => void) => Promise<unknown>): Promise<Bytes> {
  const pieces: Bytes[] = [];
  await work((piece) => void pieces.push(piece.slice()));
  return new Uint8Array(await new Blob(pieces).arrayBuffer());
}

const toHistory = (bytes: Bytes, firstSequence = 0) =>
  gathered((write) => writeHistory(memorySource(bytes), write, { firstSequence }));

async function toPerfData(history: Bytes): Promise<Bytes> {
  let header = new Uint8Array();
  const bytes = await gathered(async (write) => {
    ({ header } = await writePerfDataOf(await openHistory(history), write));
  });
  bytes.set(header);
  return bytes;
}

/** FINISHED_ROUND, COMPRESSED, COMPRESSED2. */
const NOT_KEPT = new Set([68, 81, 83]);
/** What a stream says in records, and a file in its header. */
const IN_STREAMS = new Set([64, 65, 66, 67, 78, 80]);

/** Samples, and all else, in order of time. */
async function recordsOf(
  bytes: Bytes,
  isStream = false,
): Promise<{ reader: PerfDataReader; samples: string[]; others: string[] }> {
  const reader = await openPerfData(memorySource(bytes));
  const samples: string[] = [];
  const others: string[] = [];
  await reader.scan({
    record(view, start, end, type) {
      const text = Buffer.from(view.buffer, view.byteOffset + start, end - start).toString('hex');
      if (type === PERF_RECORD_SAMPLE) samples.push(text);
      else if (!NOT_KEPT.has(type) && !(IN_STREAMS.has(type) && isStream)) others.push(text);
    },
  });
  return { reader, samples, others };
}

/** So many samples of one event, a nanosecond apart. */
const manySamples = (count: number): Bytes =>
  recording([
    comm(1, 'first', 5n),
    ...Array.from({ length: count }, (_, n) =>
      sample({ time: 10n + BigInt(n), pid: 1, chain: Array.from({ length: 1 + (n % 9) }, () => BigInt(n)) }),
    ),
  ]);

const view = (bytes: Uint8Array) => new DataView(bytes.buffer, bytes.byteOffset, bytes.length);

/** As writers made it that knew checksums of slots only: a shorter header, and a footer of 64 bytes. */
function asEarlier(bytes: Bytes, headerBytes: number): Bytes {
  const earlier = bytes.slice(0, bytes.length - 32);
  view(earlier).setUint32(8, headerBytes, true);
  earlier[earlier.length - 64 + 7] = '1'.charCodeAt(0);
  return earlier;
}
const STRIDE_AT = 12;
const RECORDS_AT = 24;

test('recordings there and back are the same records', async () => {
  const files = [
    ...fixtureRecordings().map(({ name, bytes }) => ({ name, bytes })),
    ...corpusFiles('perfdata').filter(({ bytes }) => bytes.length < 4 << 20),
  ];
  let samples = 0;
  for (const { name, bytes } of files) {
    const history = await toHistory(bytes).catch((error) => {
      assert.equal(error.code, 'ERR_HISTORY', name);
      assert.match(error.message, /hardware traces/);
      return null;
    });
    if (history === null) continue;
    const { isPipe } = await openPerfData(memorySource(bytes));
    const before = await recordsOf(bytes, isPipe);
    const after = await recordsOf(await toPerfData(history));
    assert.deepEqual(after.samples, before.samples, name);
    // A file that ends too early says so in a record of its history.
    const isCut = lossAtEnd(before.reader) !== null;
    assert.equal(after.others.length, before.others.length + (isCut ? 1 : 0), name);
    for (const other of before.others) assert.ok(after.others.includes(other), name);
    const opened = await openHistory(history);
    assert.deepEqual(opened.damage, [], name);
    assert.equal(opened.count, before.samples.length, name);
    samples += opened.count;
  }
  assert.ok(samples > 20, `${samples} samples`);
});

test('any record is one read, and the same as when all are read', async () => {
  const bytes = await toHistory(manySamples(1000), 7);
  const reads: number[] = [];
  const source = memorySource(bytes);
  const history = await openHistory({
    size: source.size,
    read: (offset, length) => {
      reads.push(length);
      return source.read(offset, length);
    },
  });
  assert.deepEqual([history.count, history.firstSequence, history.events.length], [1000, 7, 1]);
  reads.length = 0;
  for (const n of [999, 0, 500]) {
    const { sequence, timeNs, record, event } = (await history.at(n))!;
    assert.deepEqual([sequence, timeNs, event?.index], [7 + n, 10n + BigInt(n), 0]);
    assert.ok('sample' in record && record.sample.callchain!.length === 2 + (n % 9));
  }
  assert.deepEqual(reads, [history.strideBytes, history.strideBytes, history.strideBytes]);
  let next = 0;
  for await (const { timeNs } of history.records()) assert.equal(timeNs, 10n + BigInt(next++));
  assert.equal(next, 1000);
  for (const n of [-1, 1000, 0.5]) await assert.rejects(history.at(n), { code: 'ERR_HISTORY' });
});

test('a time is found by the index', async () => {
  const history = await openHistory(await toHistory(manySamples(3 * INDEX_STEP + 1)));
  const last = 10n + BigInt(history.count - 1);
  for (const [time, n] of [
    [0n, 0],
    [10n, 0],
    [11n, 1],
    [10n + BigInt(INDEX_STEP), INDEX_STEP],
    [10n + BigInt(2 * INDEX_STEP - 1), 2 * INDEX_STEP - 1],
    [last, history.count - 1],
    [last + 1n, history.count],
  ] as const)
    assert.equal(await history.find(time), n, `${time}`);
  const same = recording(Array.from({ length: 600 }, (_, n) => sample({ time: n < 2 ? 1n : 2n })));
  assert.equal(await (await openHistory(await toHistory(same))).find(2n), 2);
});

test('an empty recording is an empty history', async () => {
  const history = await openHistory(await toHistory(recording([comm(1, 'none', 5n)])));
  assert.deepEqual([history.count, history.damage], [0, []]);
  assert.equal(await history.find(1n), 0);
});

for (const [what, spoil, damage] of [
  ['page 0', (bytes: Bytes) => bytes.fill(0, 0, 128), ['bad-header', 'bad-attrs']],
  [
    'page 0 and the footer',
    (bytes: Bytes) => bytes.fill(0, 0, 128).fill(0, bytes.length - FOOTER_BYTES),
    ['bad-header', 'bad-attrs', 'bad-index'],
  ],
  [
    'page 0 and what is behind the records',
    (bytes: Bytes) => bytes.slice(0, Number(view(bytes).getBigUint64(48, true))).fill(0, 0, 128),
    ['bad-header', 'bad-attrs', 'bad-sideband', 'bad-index'],
  ],
  [
    'the index',
    (bytes: Bytes) => {
      const at = Number(view(bytes).getBigUint64(64, true));
      return bytes.fill(0xff, at, at + 40);
    },
    ['bad-index'],
  ],
  [
    'the end',
    (bytes: Bytes) => bytes.slice(0, Number(view(bytes).getBigUint64(48, true))),
    ['no-footer', 'bad-sideband', 'bad-index'],
  ],
] as const)
  test(`without ${what} every record is still there`, async () => {
    const bytes = await toHistory(manySamples(700), 30);
    const history = await openHistory(spoil(bytes.slice()));
    assert.deepEqual(
      history.damage.map(({ code }) => code),
      damage,
    );
    assert.deepEqual([history.count, history.firstSequence], [700, 30]);
    assert.equal((await history.at(699))!.timeNs, 709n);
    assert.equal(await history.find(409n), 399);
  });

test('of a file that is cut there is what was whole; a damaged slot is left out and told', async () => {
  const whole = await toHistory(manySamples(700));
  const [stride, from] = [
    view(whole).getUint32(STRIDE_AT, true),
    Number(view(whole).getBigUint64(RECORDS_AT, true)),
  ];
  const cut = await openHistory(whole.slice(0, from + 100 * stride + 20));
  assert.equal(cut.count, 100);
  assert.ok(cut.damage.some(({ code }) => code === 'cut-off'));
  // Page 0 has the events; nothing says who ran.
  const back = await recordsOf(await toPerfData(whole.slice(0, from + 100 * stride + 20)));
  const { samples } = await recordsOf(manySamples(700));
  assert.deepEqual(back.samples, samples.slice(0, 100));
  assert.equal(back.others.length, 1);
  const told = Buffer.from(back.others[0]!, 'hex').toString('latin1');
  assert.match(told, /"kind":"record-damaged",.*"count":"600"/);

  const spoiled = whole.slice();
  spoiled.fill(0x55, from + 10 * stride, from + 10 * stride + 16);
  view(spoiled).setUint32(from + 20 * stride + 4, 60_000, true);
  const history = await openHistory(spoiled);
  let found = 0;
  for await (const _ of history.records()) found++;
  assert.equal(found, 698);
  assert.deepEqual(history.damage, [{ code: 'bad-slot', count: 2, firstOffset: from + 10 * stride }]);
  assert.equal(await history.at(10), null);
});

test('without its beginning and its end a history becomes the same recording; without what names its events it says so', async () => {
  const recorded = recording([
    comm(1, 'first', 5n),
    ...Array.from({ length: 50 }, (_, n) => sample({ time: 10n + BigInt(n), pid: 1 })),
    ...Array.from({ length: 50 }, (_, n) => comm(2 + n, `process ${n}`, 100n + BigInt(n))),
  ]);
  const [whole, before] = [await toHistory(recorded), await recordsOf(recorded)];
  const places = view(whole);
  const [sideband, size] = [48, 56].map((at) => Number(places.getBigUint64(at, true))) as [number, number];
  const headless = whole.slice().fill(0, 0, 4096);
  const endless = headless.slice(0, sideband + size);
  for (const spoiled of [endless, headless.slice().fill(0, whole.length - FOOTER_BYTES)]) {
    assert.equal(await isHistory(memorySource(spoiled)), true);
    const { samples, others } = await recordsOf(await toPerfData(spoiled));
    assert.deepEqual([samples, others], [before.samples, before.others]);
  }
  // Cut in the middle of its processes: those before are there, with both its beginnings and without.
  const middle = sideband + Math.floor(size * 0.6);
  for (const spoiled of [whole.slice(0, middle), headless.slice(0, middle)]) {
    const { samples, others } = await recordsOf(await toPerfData(spoiled));
    assert.deepEqual(samples, before.samples);
    assert.ok(others.length > 5 && others.length < before.others.length, `${others.length}`);
    const codes = (await openHistory(spoiled)).damage.map(({ code }) => code);
    assert.ok(codes.includes('bad-sideband'), `${codes}`);
  }
  const bare = await openHistory(headless.slice(0, sideband));
  assert.equal(bare.count, 50);
  await assert.rejects(bare.sideband(), { code: 'ERR_HISTORY', message: /its beginning and its last part/ });
});

test('a writer that is older or newer: what both know is read', async () => {
  const bytes = await toHistory(manySamples(10), 3);
  const [stride, from] = [
    view(bytes).getUint32(STRIDE_AT, true),
    Number(view(bytes).getBigUint64(RECORDS_AT, true)),
  ];
  // An older one, which knew nothing behind the first sequence number: sideband, index, attrs.
  const old = await openHistory(asEarlier(bytes, 48));
  assert.deepEqual([old.count, old.firstSequence, (await old.at(9))!.timeNs], [10, 3, 19n]);
  assert.deepEqual(
    old.damage.map(({ code }) => code),
    ['bad-attrs', 'bad-sideband', 'bad-index'],
  );
  // A newer one, with more in its header, behind what is known, and 16 bytes more before each record.
  const newer = new Uint8Array(from + 10 * (stride + 16) + (bytes.length - from - 10 * stride));
  newer.set(bytes.subarray(0, from));
  for (let n = 0; n < 10; n++) {
    const slot = bytes.subarray(from + n * stride, from + (n + 1) * stride);
    newer.set(slot.subarray(0, 32), from + n * (stride + 16));
    newer.fill(0xee, from + n * (stride + 16) + 32, from + n * (stride + 16) + 48);
    newer.set(slot.subarray(32), from + n * (stride + 16) + 48);
  }
  newer.set(bytes.subarray(from + 10 * stride), from + 10 * (stride + 16));
  const header = view(newer);
  header.setUint32(8, 4096, true);
  header.setUint32(STRIDE_AT, stride + 16, true);
  header.setUint32(16, 48, true);
  for (const at of [48, 64]) header.setBigUint64(at, header.getBigUint64(at, true) + 160n, true);
  const page = new DataView(newer.buffer, 0, 4096);
  header.setUint32(AT_HEADER_CHECKSUM, checksumAround(page, AT_HEADER_CHECKSUM), true);
  const young = await openHistory(newer);
  assert.deepEqual(young.damage, []);
  assert.deepEqual((await young.at(9))!.record, (await (await openHistory(bytes)).at(9))!.record);
  assert.equal(young.events.length, 1);
  // And without its page 0.
  const found = await openHistory(newer.fill(0, 0, 128).slice(0, from + 10 * (stride + 16)));
  assert.deepEqual([found.count, found.strideBytes, (await found.at(9))!.timeNs], [10, stride + 16, 19n]);
});

test('whatever is damaged in a slot is noticed, and the others are read; without a checksum it is taken', async () => {
  const bytes = await toHistory(manySamples(10), 0);
  const [stride, from] = [
    view(bytes).getUint32(STRIDE_AT, true),
    Number(view(bytes).getBigUint64(RECORDS_AT, true)),
  ];
  const slot = from + 4 * stride;
  const recordBytes = view(bytes).getUint32(slot + 4, true);
  const places = [...Array(24).keys(), ...Array.from({ length: recordBytes }, (_, at) => 32 + at)];
  for (const at of places)
    for (const bit of [0, 7]) {
      const damaged = bytes.slice();
      damaged[slot + at]! ^= 1 << bit;
      const history = await openHistory(damaged);
      const found: number[] = [];
      for await (const { sequence } of history.records()) found.push(sequence);
      assert.deepEqual(found, [0, 1, 2, 3, 5, 6, 7, 8, 9], `byte ${at}`);
      assert.equal(history.damagedRecords, 1);
    }
  // A writer that knows of no checksum leaves 0.
  const without = asEarlier(bytes, 128);
  view(without).setUint32(slot + 24, 0, true);
  without[slot + 32 + recordBytes - 1]! ^= 1;
  const history = await openHistory(without);
  assert.notEqual(await history.at(4), null);
  assert.deepEqual(history.damage, []);
});

test('damage of what names events, and of numbers of page 0, is told where it is', async () => {
  const bytes = await toHistory(manySamples(700));
  const size = bytes.length;
  const sideband = Number(view(bytes).getBigUint64(48, true));
  const index = Number(view(bytes).getBigUint64(64, true));
  const whole = await openHistory(bytes);
  const name = Buffer.from(bytes).indexOf(whole.events[0]!.name, sideband);
  for (const [at, code, offset] of [
    [16, 'bad-header', 0],
    [64, 'bad-header', 0],
    [128, 'bad-header', 0],
    [170, 'bad-attrs', 160],
    [name, 'bad-sideband', sideband],
    [index - 40, 'bad-sideband', sideband],
    [index + 20, 'bad-index', index],
    [size - 64, 'no-footer', size - FOOTER_BYTES],
  ] as const) {
    const damaged = bytes.slice();
    damaged.set(Uint8Array.of(0xce, 0x70, 0x81, 0x4d, 0x1f, 0xee, 0x9a, 0x0b), at);
    const history = await openHistory(damaged);
    assert.deepEqual(history.damage[0], { code, count: 1, firstOffset: offset }, `byte ${at}`);
    // A name that may be another one by now is not taken: the attr has one, too.
    assert.equal(history.events[0]!.name, code === 'bad-sideband' ? 'cpu-clock:HG' : 'cpu-clock', code);
    assert.equal((await history.at(699))!.timeNs, 709n);
    assert.equal(await history.find(409n), 399);
  }
  // An earlier writer's header has no checksum: its places may be anywhere, what is told may not.
  const earlier = asEarlier(bytes, 128);
  earlier.fill(0xce, 64, 72);
  for (const { firstOffset } of (await openHistory(earlier)).damage) assert.ok(firstOffset <= earlier.length);
});

test('with page 0 and the first slot gone, the others have their numbers', async () => {
  const bytes = await toHistory(manySamples(20), 30);
  const from = Number(view(bytes).getBigUint64(RECORDS_AT, true));
  const history = await openHistory(bytes.fill(0, 0, from + 16));
  assert.equal(await history.at(0), null);
  assert.equal((await history.at(19))!.sequence, 49);
});

test('an index is not made of damaged times', async () => {
  const bytes = await toHistory(manySamples(3 * INDEX_STEP));
  const [stride, from, index] = [
    view(bytes).getUint32(STRIDE_AT, true),
    Number(view(bytes).getBigUint64(RECORDS_AT, true)),
    Number(view(bytes).getBigUint64(64, true)),
  ];
  bytes.fill(0xff, index, index + 8);
  bytes.fill(0x7f, from + INDEX_STEP * stride + 16, from + INDEX_STEP * stride + 24);
  const history = await openHistory(bytes);
  assert.equal(await history.find(10n + BigInt(2 * INDEX_STEP + 5)), 2 * INDEX_STEP + 5);
});

test('other bytes are refused', async () => {
  for (const bytes of [
    new Uint8Array(),
    new Uint8Array(100),
    new Uint8Array(10_000).fill(0x43),
    manySamples(3),
  ])
    await assert.rejects(openHistory(bytes), { code: 'ERR_HISTORY', message: /no history/ });
});
