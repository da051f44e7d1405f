import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CounterpointError, DamageLog, memorySource } from '../../base/index.ts';
import { FEATURE_NRCPUS, FILE_HEADER_SIZE, RECORD_HEADER_SIZE } from '../../format/abi/index.ts';
import {
  BodyWriter,
  decodeRecord,
  encodeRecord,
  type PerfRecord,
  readAttr,
  SampleLayout,
} from '../../format/records/index.ts';
import { corpusFiles } from '../../test/corpus.ts';
import { EXAMPLE_FEATURES } from '../../test/example-features.ts';
import { EXAMPLE_RECORDS, exampleAttr } from '../../test/example-records.ts';
import { exampleTracingParts } from '../../test/example-tracing.ts';
import { fixtureRecordings } from '../../test/fixture-recordings.ts';
import { fuzz } from '../../test/fuzz.ts';
import { type Mutation, mutate, setWord } from '../../test/mutate.ts';
import type { Random } from '../../test/random.ts';
import {
  decodeFeature,
  emptyFeatures,
  encodeFeatures,
  encodeRecords,
  encodeTracingData,
  openPerfData,
  parseTracingData,
} from './index.ts';

// Walk everything in damaged bytes: nothing is thrown but FormatError and CounterpointError, nothing loops,
// and no more is made of the bytes than they hold.

/**
 * Files of the corpus up to this size are taken whole, longer ones cut: a case should
 * take a millisecond, not a second.
 */
const MAX_INPUT = 64 << 10;
/** What all cases together may hold at most; the inputs are some megabytes. */
const MAX_RESIDENT_KB = 1 << 20;

let input: Uint8Array = new Uint8Array();

/** Words of the header and the attrs, where all offsets and sizes are. */
const headerWord: Mutation = (bytes, random) =>
  setWord(bytes, random, 0, Math.min(bytes.length, FILE_HEADER_SIZE + 200));

/**
 * The header of a record: its type or its size. Records are found from the data section's
 * offset, or after a pipe's header.
 */
const recordHeader: Mutation = (bytes, random) => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  if (bytes.length < FILE_HEADER_SIZE) return bytes;
  let at = view.getUint32(8, true) === 16 ? 16 : Math.min(view.getUint32(40, true), bytes.length);
  for (let n = random.below(40); n > 0 && at + RECORD_HEADER_SIZE < bytes.length; n--) {
    at += Math.max(RECORD_HEADER_SIZE, view.getUint16(at + 6, true));
  }
  return setWord(
    bytes,
    random,
    Math.min(at, bytes.length),
    Math.min(at + RECORD_HEADER_SIZE + 24, bytes.length),
  );
};

/** The end of a file: the table of features and their contents. */
const tailWord: Mutation = (bytes, random) =>
  setWord(bytes, random, Math.max(0, bytes.length - 2000), bytes.length);

const IN_A_FILE = [headerWord, recordHeader, recordHeader, tailWord];

async function* pieces(bytes: Uint8Array, random: Random): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; ) {
    const size = 1 + random.below(random.pick([3, 100, 5000]));
    yield bytes.slice(at, at + size);
    at += size;
  }
}

/** Everything a reader does: header, features, every record decoded and written again. */
async function readEverything(bytes: Uint8Array<ArrayBuffer>, random: Random): Promise<number> {
  const source = random.oneIn(3) ? pieces(bytes, random) : memorySource(bytes);
  const reader = await openPerfData(source);
  const writer = new BodyWriter(reader.littleEndian, 1 << 16);
  let records = 0;
  let compressed = 0;
  await reader.scan(
    {
      record(view, start, end, type) {
        assert.ok(start >= 0 && end - start >= RECORD_HEADER_SIZE && end <= view.byteLength);
        records++;
        if (type === 81 || type === 83) compressed++;
        const event = reader.events.eventOf(view, start, end, type, reader.littleEndian);
        const record = decodeRecord(view, start, end - start, event?.layout ?? null, reader.littleEndian);
        encodeAgain(writer, record, event?.layout ?? null);
      },
    },
    { unordered: random.oneIn(2) },
  );
  if (compressed === 0) assert.ok(records <= bytes.length / RECORD_HEADER_SIZE, `${records} records`);
  encodeFeatures(reader.features, !reader.littleEndian);
  return records;
}

/** A record that was decoded can be encoded, unless its parts were filled up beyond the size of a record. */
function encodeAgain(writer: BodyWriter, record: PerfRecord, layout: SampleLayout | null): void {
  writer.length = 0;
  try {
    encodeRecord(writer, record, layout);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
}

const FILES = [
  ...fixtureRecordings().flatMap(({ bytes }) => [bytes, bytes]),
  ...corpusFiles('perfdata').map(({ bytes }) => bytes.slice(0, MAX_INPUT)),
];

test('damaged recordings', async () => {
  let read = 0;
  const cases = await fuzz(
    'recordings',
    async (random) => {
      const bytes = mutate(random.pick(FILES), random, IN_A_FILE);
      input = bytes;
      try {
        if ((await readEverything(bytes, random)) > 0) read++;
      } catch (error) {
        if (!(error instanceof CounterpointError)) throw error;
        assert.notEqual(error.code, '');
      }
    },
    () => input,
  );
  if (cases === null) return;
  assert.ok(cases > 10 && read > cases / 8, `${read} of ${cases} cases had records`);
  assert.ok(
    process.resourceUsage().maxRSS < MAX_RESIDENT_KB,
    `${process.resourceUsage().maxRSS} kB resident`,
  );
});

test('damaged sections, blobs, attrs and records', async () => {
  const sections = [true, false].map((le) => [
    ...encodeFeatures({ ...EXAMPLE_FEATURES, raw: new Map() }, le),
  ]);
  const blobs = [true, false].map((littleEndian) =>
    encodeTracingData({ ...exampleTracingParts(), littleEndian }),
  );
  const records = [true, false].map((le) => {
    const layout = new SampleLayout(exampleAttr());
    return EXAMPLE_RECORDS.map((record) => encodeRecords([record], layout, le));
  });
  const run = (random: Random) => {
    const le = random.oneIn(2);
    const [bit, section] = random.pick(sections[le ? 0 : 1]!);
    input = mutate(section, random);
    const features = emptyFeatures();
    const damage = new DamageLog();
    if (random.oneIn(2)) features.cpusAvailable = random.pick([0, 4, 0xffff_ffff]);
    decodeFeature(bit, input, le, features, damage, 5);
    if (bit !== FEATURE_NRCPUS) assert.ok(damage.total <= 1);
    encodeFeatures(features, !le);

    input = mutate(random.pick(blobs), random);
    const { byId, systems } = parseTracingData(input, damage);
    assert.ok(byId.size <= input.length && systems.length <= input.length);

    const attrBytes = random.bytes(random.below(200));
    const attr = readAttr(new DataView(attrBytes.buffer), random.below(20), random.below(300), le);
    const layout = random.oneIn(3) ? null : new SampleLayout(random.oneIn(2) ? attr : exampleAttr());
    const record = mutate(random.pick(records[le ? 0 : 1]!), random);
    input = record;
    if (record.length < RECORD_HEADER_SIZE) return;
    const decoded = decodeRecord(new DataView(record.buffer), 0, record.length, layout, le);
    encodeAgain(new BodyWriter(le), decoded, layout);
  };
  const cases = await fuzz('parts', run, () => input);
  assert.ok(cases === null || cases > 10, `only ${cases} cases`);
});
