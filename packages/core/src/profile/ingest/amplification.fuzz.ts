import assert from 'node:assert/strict';
import { test } from 'node:test';
import { collectStats, writeScript } from '../../answers/index.ts';
import { memorySource } from '../../base/index.ts';
import {
  encodeFeatures,
  encodeRecords,
  encodeTracingData,
  openPerfData,
  writePerfData,
} from '../../file-formats/perfdata/index.ts';
import {
  FEATURE_EVENT_DESC,
  PERF_RECORD_AUXTRACE,
  PERF_RECORD_HEADER_ATTR,
  PERF_RECORD_HEADER_EVENT_TYPE,
  PERF_RECORD_HEADER_TRACING_DATA,
  PERF_TYPE_TRACEPOINT,
} from '../../format/abi/index.ts';
import { encodeAttr, makeAttr, SampleLayout } from '../../format/records/index.ts';
import { EXAMPLE_FEATURES } from '../../test/example-features.ts';
import { EXAMPLE_RECORDS } from '../../test/example-records.ts';
import { exampleTracingParts } from '../../test/example-tracing.ts';
import { fuzz } from '../../test/fuzz.ts';
import type { Random } from '../../test/random.ts';
import { featureRecord, joined, packed, packedRuns, rawRecord, words } from '../../test/raw-records.ts';
import { ATTR, comm, mmap2, recording, round, sample } from '../../test/recordings.ts';
import { ingestPerfData } from './index.ts';

// What a recording costs, by its bytes: two or three kinds of records, thousands of each, in files and
// in pieces; and files whose headers claim the same bytes many times. Where one kind makes the other
// dear, time grows with the square.

const KIND_BYTES = 150_000;
/** A case of this size takes a tenth of a second; quadratic ones take several. */
const MAX_CPU_SECONDS = 1.5;
const MAX_CPU_NS_PER_BYTE = 2500;
const MAX_RESIDENT_KB = 1 << 20;

/** The nth record of a kind. */
type Kind = (n: number) => Uint8Array<ArrayBuffer>;

const LAYOUT = new SampleLayout(ATTR);
const encoder = new TextEncoder();
const attr = encodeAttr(makeAttr({ type: PERF_TYPE_TRACEPOINT, config: 77n, sampleType: 7n }));
const tracing = encodeTracingData(exampleTracingParts());

function describedIds(count: number, from: number): Uint8Array<ArrayBuffer> {
  return joined(
    new Uint8Array(Uint32Array.of(1, attr.length).buffer),
    attr,
    new Uint8Array(Uint32Array.of(count, 8).buffer),
    encoder.encode('an:event'),
    words(...Array.from({ length: count }, (_, i) => from + i)),
  );
}

const KINDS: Kind[] = [
  () => rawRecord(PERF_RECORD_HEADER_ATTR, attr),
  (n) => rawRecord(PERF_RECORD_HEADER_ATTR, joined(attr, words(n * 3, n * 3 + 1, n * 3 + 2))),
  () => rawRecord(PERF_RECORD_HEADER_EVENT_TYPE, joined(words(77), encoder.encode('an:event'))),
  (n) => featureRecord(FEATURE_EVENT_DESC, describedIds(1000, n)),
  (n) => featureRecord(FEATURE_EVENT_DESC, describedIds(2, n)),
  (n) => featureRecord(n, new Uint8Array(8)),
  () => joined(rawRecord(PERF_RECORD_HEADER_TRACING_DATA, words(0))),
  () => joined(rawRecord(PERF_RECORD_HEADER_TRACING_DATA, words(tracing.length)), tracing),
  () => joined(rawRecord(PERF_RECORD_AUXTRACE, words(8, 0, 0, 0, 0)), words(0)),
  (n) => packed(encodeRecords([sample({ time: BigInt(1e9 - n) })], LAYOUT, true), n === 0),
  (n) => packed(Uint8Array.of(n), n === 0),
  (n) => packedRuns(n % 256, 500, n === 0),
  (n) => rawRecord(1000 + n, new Uint8Array()),
  () => new Uint8Array(64),
  (n) => encodeRecords([sample({ time: BigInt(1e9 - n), tid: n, cpu: n })], LAYOUT, true),
  (n) =>
    encodeRecords([sample({ time: BigInt(n + 1), pid: n, chain: [BigInt(n), BigInt(n * 7)] })], LAYOUT, true),
  (n) => encodeRecords([comm(n, `name ${n}`, BigInt(n))], LAYOUT, true),
  (n) =>
    encodeRecords([mmap2(10, BigInt(n % 1000) << 12n, 1n << 40n, `/file ${n}`, BigInt(n))], LAYOUT, true),
  (n) => encodeRecords([mmap2(n, 0n, 1n << 63n, `/file`, 5n)], LAYOUT, true),
  () => encodeRecords([round()], LAYOUT, true),
  ...EXAMPLE_RECORDS.map((record): Kind => {
    const bytes = encodeRecords([record], LAYOUT, true);
    return () => bytes;
  }),
  ...[...encodeFeatures({ ...EXAMPLE_FEATURES, raw: new Map() }, true)].map(([bit, section]): Kind => {
    const bytes = featureRecord(bit, section);
    return () => bytes;
  }),
];

function manyOf(kind: Kind): Uint8Array[] {
  const records: Uint8Array[] = [];
  for (let size = 0, n = 0; size < KIND_BYTES; n++) {
    const bytes = kind(n);
    size += bytes.length;
    records.push(bytes);
  }
  return records;
}

/** Two or three kinds, one after the other or in turns. */
function manyRecords(random: Random): Uint8Array<ArrayBuffer> {
  const kinds = Array.from({ length: 2 + random.below(2) }, () => manyOf(random.pick(KINDS)));
  const most = Math.max(...kinds.map(({ length }) => length));
  const records = random.oneIn(3)
    ? Array.from({ length: most }, (_, n) => kinds.flatMap((kind) => kind.slice(n, n + 1))).flat()
    : kinds.flat();
  return recording(records, { mode: random.oneIn(4) ? 'file' : 'pipe' });
}

/** Events and features by the thousand, whose sections are where they like. */
function manyClaims(random: Random): Uint8Array<ArrayBuffer> {
  const count = 1 + random.below(2000);
  const attrs = Array.from({ length: count }, () => ({ attr: ATTR, ids: [1n], name: '' }));
  const raw = new Map(Array.from({ length: random.below(100) }, (_, n) => [n + 120, new Uint8Array(8)]));
  const records = [sample({ time: 1n })];
  const bytes = writePerfData({ attrs, records, features: { ...EXAMPLE_FEATURES, raw } });
  const view = new DataView(bytes.buffer);
  const claim = (at: number) => {
    if (at + 16 > bytes.length || random.oneIn(20)) return;
    const offset = random.oneIn(2) ? 0 : random.below(bytes.length);
    view.setBigUint64(at, BigInt(offset), true);
    view.setBigUint64(
      at + 8,
      BigInt(random.oneIn(2) ? bytes.length - offset : random.below(bytes.length)),
      true,
    );
  };
  const entrySize = view.getUint32(16, true);
  const attrsAt = view.getUint32(24, true);
  for (let event = 0; event < count; event++) claim(attrsAt + (event + 1) * entrySize - 16);
  const table = Number(view.getBigUint64(40, true) + view.getBigUint64(48, true));
  for (let n = 0; n < raw.size + 20; n++) claim(table + n * 16);
  return bytes;
}

async function* pieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.slice(at, at + size);
}

const symbols = { open: async () => null };

async function ask(bytes: Uint8Array<ArrayBuffer>, random: Random): Promise<void> {
  const isPipe = bytes[8] === 16;
  const size = random.pick([100, 4096, 1 << 16]);
  const open = () => openPerfData(isPipe && random.oneIn(2) ? pieces(bytes, size) : memorySource(bytes));
  const stats = await collectStats(await open());
  if (stats.damage.length === 0 && stats.samples > 0) assert.ok(stats.firstTimeNs !== null);
  if (random.oneIn(2)) await ingestPerfData(await open(), { symbols, aggregate: random.oneIn(2) });
  else await writeScript(await open(), { symbols, json: random.oneIn(2) }, () => {});
}

test('a recording costs by its bytes', async () => {
  let input: Uint8Array<ArrayBuffer> = new Uint8Array();
  const cases = await fuzz(
    'amplification',
    async (random) => {
      input = random.oneIn(5) ? manyClaims(random) : manyRecords(random);
      const before = process.cpuUsage();
      await ask(input, random);
      const { user, system } = process.cpuUsage(before);
      const seconds = (user + system) / 1e6;
      const allowed = MAX_CPU_SECONDS + (input.length * MAX_CPU_NS_PER_BYTE) / 1e9;
      if (process.env['FUZZ_SHOW'])
        console.log(seconds.toFixed(2), input.length, process.resourceUsage().maxRSS);
      assert.ok(seconds < allowed, `${seconds} s for ${input.length} bytes`);
    },
    () => input,
  );
  assert.ok(cases === null || cases > 2, `only ${cases} cases`);
  const { maxRSS } = process.resourceUsage();
  assert.ok(maxRSS < MAX_RESIDENT_KB, `${maxRSS} kB resident`);
});
