import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CounterpointError, memorySource } from '../../../base/index.ts';
import {
  FILE_HEADER_SIZE,
  PERF_RECORD_HEADER_FEATURE,
  PERF_RECORD_HEADER_TRACING_DATA,
} from '../../../format/abi/index.ts';
import { type PerfRecord, SampleLayout } from '../../../format/records/index.ts';
import { EXAMPLE_FEATURES } from '../../../test/example-features.ts';
import { EXAMPLE_RECORDS, exampleAttr, exampleBytes } from '../../../test/example-records.ts';
import { ANSWER_ID, exampleTracingParts } from '../../../test/example-tracing.ts';
import { recording, sample } from '../../../test/recordings.ts';
import { openPerfData, type PerfDataReader, readRecords } from '../reader/index.ts';
import { encodeTracingData } from '../tracing-data/index.ts';
import {
  encodeRecords,
  finishFile,
  pipeStart,
  planFile,
  unfinishedHeader,
  type WrittenEvent,
  writePerfData,
} from './index.ts';

const EVENTS: readonly WrittenEvent[] = [
  { attr: exampleAttr(), ids: [104n, 105n], name: 'cpu-clock:u' },
  { attr: exampleAttr({ config: 1n, config2: 3n }), ids: [200n], name: 'task-clock' },
  { attr: exampleAttr({ config: 9n }), ids: [], name: 'dummy' },
];

async function recordsOf(reader: PerfDataReader): Promise<PerfRecord[]> {
  const records: PerfRecord[] = [];
  for await (const { record } of readRecords(reader, { unordered: true })) records.push(record);
  return records;
}

/** Records that stand for themselves: no metadata, nothing that has bytes after it. */
const PLAIN = EXAMPLE_RECORDS.filter(({ type }) => type < 64).map((record) =>
  'sample' in record || 'raw' in record
    ? record
    : { ...record, sampleId: { pid: 1, tid: 2, time: 1_000_000_000n, id: 104n, cpu: 1 } },
);

for (const littleEndian of [true, false]) {
  for (const mode of ['file', 'pipe'] as const) {
    test(`a recording comes back as it was: ${mode}, ${littleEndian ? 'little' : 'big'}-endian`, async () => {
      const bytes = writePerfData({
        attrs: EVENTS,
        records: PLAIN,
        features: EXAMPLE_FEATURES,
        mode,
        littleEndian,
      });
      const reader = await openPerfData(memorySource(bytes));
      const records = await recordsOf(reader);
      assert.equal(reader.isPipe, mode === 'pipe');
      assert.equal(reader.littleEndian, littleEndian);
      assert.deepEqual(
        records.filter(({ type }) => type < 64),
        PLAIN,
      );
      assert.deepEqual(reader.damage.list(), []);
      assert.equal(reader.isUnfinished, false);

      const attrs = reader.events.events.map(({ attr, ids }) => ({ attr, ids }));
      // All attrs have the size that the longest needs; in a pipe, that of perf's own.
      const size = mode === 'file' ? 72 : 128;
      assert.deepEqual(
        attrs,
        EVENTS.map(({ attr, ids }) => ({ attr: { ...attr, size }, ids: ids.map(Number) })),
      );
      const { raw: _, rawLittleEndian: __, ...features } = reader.features;
      if (mode === 'file') assert.deepEqual(features, EXAMPLE_FEATURES);
      else assert.deepEqual(features, pipeFeatures());
    });
  }
}

/** A pipe carries what perf's pipe reader takes, and nothing newer than it may know. */
function pipeFeatures(): Partial<typeof EXAMPLE_FEATURES> {
  const features: Partial<typeof EXAMPLE_FEATURES> = { ...EXAMPLE_FEATURES };
  delete features.branchStack;
  delete features.auxIndex;
  delete features.stat;
  delete features.caches;
  delete features.dirFormat;
  delete features.hybridTopology;
  delete features.cpuDomainInfo;
  delete features.elfMachine;
  delete features.cacheLineSize;
  return features;
}

test('names go with the events, into a file and into a pipe', async () => {
  for (const mode of ['file', 'pipe'] as const) {
    const reader = await openPerfData(memorySource(writePerfData({ attrs: EVENTS, records: [], mode })));
    await recordsOf(reader);
    assert.deepEqual(
      reader.events.events.slice(0, 2).map(({ name }) => name),
      ['cpu-clock:u', 'task-clock'],
    );
    assert.deepEqual(
      reader.features.eventDescriptions?.map(({ name, ids }) => ({ name, ids })),
      EVENTS.map(({ name, ids }) => ({ name, ids })),
    );
  }
});

test('a file is a plan, records, and its completion', async () => {
  const records = [sample({ time: 1n }), sample({ time: 2n })];
  const whole = recording(records);
  const attrs = (await openPerfData(memorySource(whole))).events.events.map(({ attr }) => ({
    attr,
    ids: [1n],
    name: 'cpu-clock',
  }));
  const plan = planFile({ attrs });
  const data = encodeRecords(records, new SampleLayout(attrs[0]!.attr));
  const { header, tail } = finishFile(plan, data.length);
  assert.equal(plan.dataOffset, plan.header.length);
  assert.equal(header.length, FILE_HEADER_SIZE);

  const unfinished = Uint8Array.from([...plan.header, ...data]);
  const killed = await openPerfData(memorySource(unfinished));
  assert.equal(killed.isUnfinished, true);
  assert.equal((await recordsOf(killed)).length, 2);

  // The size that a killed recorder wrote last is no end: what came after it is read, too.
  for (const size of [0, data.length / 2, data.length]) {
    unfinished.set(unfinishedHeader(plan, size));
    const reader = await openPerfData(memorySource(unfinished));
    assert.equal(reader.isUnfinished, true);
    assert.equal((await recordsOf(reader)).length, 2);
  }

  const finished = Uint8Array.from([...unfinished, ...tail]);
  finished.set(header);
  assert.deepEqual(finished, whole);
});

test('sections of vendors and trace metadata are written as they were read', async () => {
  const blob = encodeTracingData(exampleTracingParts());
  const raw = new Map([
    [1, blob],
    [128, exampleBytes(11)],
    [255, exampleBytes(0)],
  ]);
  const attrs = [
    { attr: exampleAttr({ type: 2, config: BigInt(ANSWER_ID) }), ids: [7n], name: 'demo:answer' },
  ];
  const file = await openPerfData(memorySource(writePerfData({ attrs, records: [], features: { raw } })));
  for (const [bit, bytes] of raw) assert.deepEqual(file.features.raw.get(bit), bytes);

  const stream = writePerfData({ attrs, records: [], features: { raw }, mode: 'pipe' });
  const pipe = await openPerfData(memorySource(stream));
  const types = (await recordsOf(pipe)).map(({ type }) => type);
  assert.equal(types.filter((type) => type === PERF_RECORD_HEADER_TRACING_DATA).length, 1);
  assert.deepEqual(pipe.features.raw.get(1)?.slice(0, blob.length), blob);
  assert.equal(pipe.features.raw.get(1)!.length % 8, 0);
  assert.deepEqual(pipe.damage.list(), []);
  assert.equal(pipe.events.events[0]?.name, 'demo:answer');
});

test('features too long for a record are left out of a pipe', async () => {
  const commandLine = Array.from({ length: 2000 }, (_, i) => `argument ${i}`);
  const reader = await openPerfData(
    memorySource(
      writePerfData({ attrs: EVENTS, records: [], features: { commandLine, arch: 'mips' }, mode: 'pipe' }),
    ),
  );
  const records = await recordsOf(reader);
  assert.equal(records.filter(({ type }) => type === PERF_RECORD_HEADER_FEATURE).length, 2);
  assert.equal(reader.features.arch, 'mips');
  assert.equal(reader.features.commandLine, undefined);
});

test('an event with more ids than a record holds goes into a file, not into a pipe', async () => {
  const ids = Array.from({ length: 10_000 }, (_, i) => BigInt(i + 1));
  const attrs = [{ attr: exampleAttr(), ids, name: 'cpu-clock' }];
  assert.throws(
    () => pipeStart({ attrs }),
    (error) => error instanceof CounterpointError && error.code === 'ERR_TOO_MANY_IDS' && error.remedy !== '',
  );
  const reader = await openPerfData(memorySource(writePerfData({ attrs, records: [] })));
  assert.equal(reader.events.events[0]?.ids.length, 10_000);
});

test('bytes among the records go in as they are', () => {
  const auxtrace: PerfRecord = {
    type: 71,
    misc: 0,
    dataSize: 16n,
    auxOffset: 0n,
    reference: 0n,
    index: 0,
    tid: -1,
    cpu: 0,
    reserved: 0,
    tail: new Uint8Array(),
  };
  const bytes = encodeRecords([auxtrace, exampleBytes(16), auxtrace], null);
  assert.equal(bytes.length, 48 + 16 + 48);
  assert.deepEqual(bytes.slice(48, 64), exampleBytes(16));
});

test('a recording of nothing is not taken for a killed one', async () => {
  for (const attrs of [EVENTS, []]) {
    const reader = await openPerfData(
      memorySource(writePerfData({ attrs, records: [], features: { arch: 'x' } })),
    );
    assert.equal(reader.isUnfinished, false);
    assert.equal(reader.features.arch, 'x');
  }
});
