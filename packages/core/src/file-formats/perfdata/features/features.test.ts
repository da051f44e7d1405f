import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DamageLog, memorySource } from '../../../base/index.ts';
import {
  FEATURE_BUILD_ID,
  FEATURE_CMDLINE,
  FEATURE_CPU_TOPOLOGY,
  FEATURE_EVENT_DESC,
  FEATURE_HOSTNAME,
  FEATURE_MEM_TOPOLOGY,
  FEATURE_NRCPUS,
  FEATURE_TRACING_DATA,
  featureName,
} from '../../../format/abi/index.ts';
import { BodyWriter } from '../../../format/records/index.ts';
import { corpusFiles, hasSharedCorpus } from '../../../test/corpus.ts';
import { EXAMPLE_FEATURES } from '../../../test/example-features.ts';
import { exampleBytes } from '../../../test/example-records.ts';
import { Random } from '../../../test/random.ts';
import { openPerfData } from '../reader/index.ts';
import {
  decodeBuildIdRecord,
  decodeFeature,
  emptyFeatures,
  encodeFeature,
  encodeFeatures,
  type PerfDataFeatures,
  writeBuildIdRecord,
} from './index.ts';

function decodeAll(
  sections: ReadonlyMap<number, Uint8Array>,
  littleEndian: boolean,
  damage = new DamageLog(),
) {
  const features = emptyFeatures();
  for (const [bit, bytes] of sections) decodeFeature(bit, bytes, littleEndian, features, damage, bit);
  return { features, damage };
}

function fieldsOf(features: PerfDataFeatures): Omit<PerfDataFeatures, 'raw'> {
  const { raw: _, rawLittleEndian: __, ...fields } = features;
  return fields;
}

function copyOf(features: PerfDataFeatures): PerfDataFeatures {
  return { ...features, raw: new Map(features.raw) };
}

for (const littleEndian of [true, false]) {
  test(`every feature comes back as it was, ${littleEndian ? 'little' : 'big'}-endian`, () => {
    const sections = encodeFeatures({ ...EXAMPLE_FEATURES, raw: new Map() }, littleEndian);
    assert.equal(
      sections.size,
      Object.keys(EXAMPLE_FEATURES).length - 1,
      'one section each, the CPU counts in one',
    );
    assert.deepEqual(
      [...sections.keys()],
      [...sections.keys()].sort((a, b) => a - b),
    );
    const { features, damage } = decodeAll(sections, littleEndian);
    assert.deepEqual(fieldsOf(features), EXAMPLE_FEATURES);
    assert.deepEqual(damage.list(), []);
    assert.deepEqual([...features.raw], [...sections]);
  });
}

test('a section whose fields were not changed comes back as its bytes, whatever is in them', () => {
  const padded = Uint8Array.of(8, 0, 0, 0, 0x61, 0x62, 0, 0x63, 0x64, 0x65, 0x66, 0x67, 1, 2, 3);
  const { features } = decodeAll(new Map([[FEATURE_HOSTNAME, padded]]), true);
  assert.equal(features.hostname, 'ab');
  assert.equal(encodeFeature(FEATURE_HOSTNAME, features, true), padded);

  features.hostname = 'other';
  const written = encodeFeature(FEATURE_HOSTNAME, features, true)!;
  assert.equal(written.length, 68);
  assert.equal(decodeAll(new Map([[FEATURE_HOSTNAME, written]]), true).features.hostname, 'other');

  delete features.hostname;
  assert.equal(encodeFeature(FEATURE_HOSTNAME, features, true), null);
});

test('damaged and unknown sections are copied too', () => {
  const sections = new Map([
    [FEATURE_TRACING_DATA, exampleBytes(5)],
    [FEATURE_NRCPUS, exampleBytes(7)],
    [FEATURE_CMDLINE, exampleBytes(3)],
    [100, exampleBytes(9)],
    [255, exampleBytes(0)],
  ]);
  const { features, damage } = decodeAll(sections, true);
  assert.deepEqual(damage.list(), [{ code: 'bad-feature', count: 2, firstOffset: FEATURE_NRCPUS }]);
  assert.deepEqual([...encodeFeatures(features, true)], [...sections]);
});

test('a copy in the other byte order is made from the fields', () => {
  const { features } = decodeAll(encodeFeatures({ ...EXAMPLE_FEATURES, raw: new Map() }, true), true);
  const swapped = decodeAll(encodeFeatures(features, false), false);
  assert.deepEqual(fieldsOf(swapped.features), EXAMPLE_FEATURES);
  assert.deepEqual(swapped.damage.list(), []);
});

test('a section cut anywhere gives what is before the cut, and is counted', () => {
  // Where a section may end early because older writers ended there.
  const mayEnd = new Set<string>();
  const whole = encodeFeatures({ ...EXAMPLE_FEATURES, raw: new Map() }, true);
  for (const [bit, bytes] of whole) {
    for (let size = 0; size < bytes.length; size++) {
      const sections = new Map([...whole].filter(([other]) => other < bit));
      sections.set(bit, bytes.subarray(0, size));
      const { damage } = decodeAll(sections, true);
      if (damage.total === 0) mayEnd.add(featureName(bit));
      assert.ok(damage.total <= 1);
    }
  }
  assert.deepEqual([...mayEnd], ['BUILD_ID', 'CPU_TOPOLOGY', 'BPF_PROG_INFO', 'BPF_BTF', 'CPU_DOMAIN_INFO']);
});

test('counts beyond the section are not believed', () => {
  const random = new Random(7);
  const whole = encodeFeatures({ ...EXAMPLE_FEATURES, raw: new Map() }, true);
  for (const [bit, bytes] of whole) {
    for (let round = 0; round < 40 && bytes.length >= 4; round++) {
      const bad = bytes.slice();
      // The first counts, and any other word, as large as can be.
      const at = round === 0 ? 0 : random.below(bytes.length - 3);
      bad.fill(0xff, at, at + 4);
      const { features } = decodeAll(
        new Map([
          [FEATURE_NRCPUS, whole.get(FEATURE_NRCPUS)!],
          [bit, bad],
        ]),
        true,
      );
      assert.ok(size(fieldsOf(features)) < 2000 + bytes.length * 10, featureName(bit));
    }
  }
  // A count that is not an integer any more.
  const memory = new BodyWriter();
  for (const word of [1n, 0n, 2n ** 64n - 1n, 0n, 64n, 2n ** 63n]) memory.u64(word);
  const { features, damage } = decodeAll(new Map([[FEATURE_MEM_TOPOLOGY, memory.take()]]), true);
  assert.equal(features.memoryTopology?.nodes.length, 1);
  assert.equal(damage.total, 1);
});

/** How many values are in a structure. */
function size(value: unknown): number {
  if (typeof value === 'string' || value instanceof Uint8Array) return value.length;
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce((sum: number, part) => sum + 1 + size(part), 0);
}

test('a string without an end keeps its text', () => {
  for (const bytes of [
    Uint8Array.of(2, 0, 0, 0, 0x68, 0x69),
    Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0x68, 0x69),
  ]) {
    const { features, damage } = decodeAll(new Map([[FEATURE_HOSTNAME, bytes]]), true);
    assert.equal(features.hostname, 'hi');
    assert.equal(damage.count('bad-feature'), 1);
  }
});

test('CPU topology ends where its writer knew no more', () => {
  const cpus = new BodyWriter();
  cpus.u32(2);
  cpus.u32(2);
  const topology = EXAMPLE_FEATURES.cpuTopology!;
  const written = (parts: Partial<typeof topology>) =>
    encodeFeature(
      FEATURE_CPU_TOPOLOGY,
      { raw: new Map(), cpuTopology: { packages: ['0-1'], cores: ['0', '1'], ...parts } },
      true,
    )!;
  const ids = [
    { coreId: 0, packageId: 0 },
    { coreId: 1, packageId: 0 },
  ];
  const counts = cpus.take();
  for (const parts of [
    {},
    { cpus: ids },
    { cpus: ids.map((cpu) => ({ ...cpu, dieId: 1 })), dies: ['0-1'] },
  ]) {
    const sections = new Map([[FEATURE_CPU_TOPOLOGY, written(parts)]]);
    const { features, damage } = decodeAll(new Map([[FEATURE_NRCPUS, counts], ...sections]), true);
    assert.deepEqual(features.cpuTopology, { packages: ['0-1'], cores: ['0', '1'], ...parts });
    assert.equal(damage.total, 0);
  }
  // Without NRCPUS the rest is taken for CPUs.
  const { features } = decodeAll(new Map([[FEATURE_CPU_TOPOLOGY, written({ cpus: ids })]]), true);
  assert.deepEqual(features.cpuTopology?.cpus, ids);
});

test('an event description with attrs that cannot be is refused, not looped over', () => {
  const bytes = Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 1, 2, 3, 4);
  const { features, damage } = decodeAll(new Map([[FEATURE_EVENT_DESC, bytes]]), true);
  assert.equal(features.eventDescriptions, undefined);
  assert.equal(damage.total, 1);
});

test('build ids of perf before 2.6.36 have no pid', () => {
  const writer = new BodyWriter();
  for (const [misc, path] of [
    [1, '[kernel.kallsyms]'],
    [2, '/bin/true'],
    [5, '/guest/bin/true'],
  ] as const) {
    writer.beginRecord(0, misc);
    writer.bytes(exampleBytes(20), 24);
    writer.chars(path, 32);
    writer.endRecord();
  }
  const { features, damage } = decodeAll(new Map([[FEATURE_BUILD_ID, writer.take()]]), true);
  const buildId = '0102030405060708090a0b0c0d0e0f1011121314';
  assert.deepEqual(features.buildIds, [
    { pid: -1, misc: 1, buildId, path: '[kernel.kallsyms]' },
    { pid: -1, misc: 2, buildId, path: '/bin/true' },
    { pid: 0, misc: 5, buildId, path: '/guest/bin/true' },
  ]);
  assert.equal(damage.total, 0);
});

test('a build id whose size was not recorded ends before its padding', () => {
  const writer = new BodyWriter();
  for (const length of [20, 16, 8]) {
    writer.beginRecord(0, 2);
    writer.i32(-1);
    writer.bytes(exampleBytes(length), 24);
    writer.chars('/bin/x', 8);
    writer.endRecord();
  }
  const { features } = decodeAll(new Map([[FEATURE_BUILD_ID, writer.take()]]), true);
  assert.deepEqual(
    features.buildIds?.map((entry) => entry.buildId.length / 2),
    [20, 16, 8],
  );
});

test('build ids of a pipe come one by one', () => {
  for (const littleEndian of [true, false]) {
    const features = emptyFeatures();
    const damage = new DamageLog();
    for (const entry of EXAMPLE_FEATURES.buildIds!) {
      const writer = new BodyWriter(littleEndian);
      writeBuildIdRecord(writer, entry);
      decodeBuildIdRecord(writer.take(), littleEndian, features, damage, 0);
    }
    assert.deepEqual(features.buildIds, EXAMPLE_FEATURES.buildIds);
    decodeBuildIdRecord(exampleBytes(20), littleEndian, features, damage, 77);
    assert.deepEqual(damage.list(), [{ code: 'bad-feature', count: 1, firstOffset: 77 }]);
  }
});

const files = corpusFiles('perfdata');
test('features of real recordings', async () => {
  let fields = 0;
  for (const { name, bytes } of files) {
    const reader = await openPerfData(memorySource(bytes));
    const { features, littleEndian } = reader;
    assert.equal(reader.damage.count('bad-feature'), 0, name);
    // Byte for byte as a copy; the same fields when made anew.
    for (const [bit, section] of features.raw)
      assert.equal(encodeFeature(bit, copyOf(features), littleEndian), section);
    const anew = decodeAll(encodeFeatures({ ...features, raw: new Map() }, littleEndian), littleEndian);
    const withoutSizes = (all: PerfDataFeatures) => ({
      ...fieldsOf(all),
      eventDescriptions: all.eventDescriptions?.map(({ attr, ...rest }) => ({
        ...rest,
        attr: { ...attr, size: 0 },
      })),
      buildIds: all.buildIds?.map((entry) => ({ ...entry, misc: entry.misc | 0x8000 })),
    });
    assert.deepEqual(withoutSizes(anew.features), withoutSizes(features), name);
    fields += Object.keys(fieldsOf(features)).length;
  }
  assert.ok(fields > (hasSharedCorpus ? 100 : 10), `${fields}`);
});
