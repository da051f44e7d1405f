/** Damaged recordings of Intel PT: nothing is thrown, every scan ends, what was wrong is counted. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  PERF_RECORD_MISC_USER,
  PERF_RECORD_SAMPLE,
  PERF_SAMPLE_AUX,
  PERF_SAMPLE_CPU,
  PERF_SAMPLE_IDENTIFIER,
  PERF_SAMPLE_IP,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
} from '@counterpoint/core/abi';
import { memorySource } from '@counterpoint/core/base';
import { openPerfData, writePerfData } from '@counterpoint/core/perfdata';
import { BodyWriter, encodeSample, makeAttr, SampleLayout } from '@counterpoint/core/records';
import type { SymbolDriver } from '@counterpoint/core/symbols';
import { Random } from '../../../../core/src/test/random.ts';
import { CodeImage } from '../../code/image/index.ts';
import { ExecutionEncoder, ptRecording, RandomWalk } from '../../pt/index.ts';
import { parseItrace, withTrace } from './index.ts';

const seconds = Number(process.env['FUZZ_SECONDS'] ?? 1);
const CODE = 0x40_1000n;

/** je +4; call +6; jmp -9; nop...; ret: branches of every kind, and something to come back from. */
const PROGRAM = Uint8Array.of(
  ...[0x74, 0x04, 0xe8, 0x06, 0, 0, 0, 0x75, 0xf7, 0xff, 0xe0, 0x90, 0x90, 0x74, 0x01, 0x90, 0xc3],
);
/** Dumps are damaged, too: a header, and whatever. */
const JIT_DUMP = Uint8Array.from([
  ...[0x44, 0x54, 0x69, 0x4a, 1, 0, 0, 0, 40, 0, 0, 0, 62, 0, 0, 0],
  ...Array.from({ length: 200 }, (_, index) => (index * 37) & 0xff),
]);
const files: SymbolDriver = {
  open: async ({ need }) =>
    memorySource(need === 'jitdump' ? JIT_DUMP : new Uint8Array([...new Array(0x1000).fill(0), ...PROGRAM])),
};

/** A PSB+ of nothing, and a PEBS record: its address and its TSC. */
const PEBS = [
  ...new Array<number[]>(8).fill([0x02, 0x82]).flat(),
  ...[0x02, 0x23, 0x02, 0x63, 0x04, 0x04, 0, 0x10, 0x40, 0, 0, 0, 0, 0],
  ...[0x14, 1, 2, 3, 4, 5, 0, 0, 0, 0x02, 0x33],
];
const SAMPLED_ATTR = makeAttr({
  type: 1,
  config: 1n,
  sampleType: BigInt(
    PERF_SAMPLE_IDENTIFIER |
      PERF_SAMPLE_IP |
      PERF_SAMPLE_TID |
      PERF_SAMPLE_TIME |
      PERF_SAMPLE_CPU |
      PERF_SAMPLE_AUX,
  ),
  auxSampleSize: 512,
  flags: { sampleIdAll: 1 },
});
const SAMPLED = { attr: SAMPLED_ATTR, layout: new SampleLayout(SAMPLED_ATTR) };

function recording(seed: number): Uint8Array<ArrayBuffer> {
  const image = new CodeImage();
  image.addSection({ name: 'a.out', address: CODE, bytes: PROGRAM });
  const entries = Int32Array.of(Number(CODE), 0, Number(CODE) + 13, 0);
  const encoding = { tsc: true, mtc: seed % 2 === 0, cyc: seed % 3 === 0 };
  const walk = new RandomWalk({ seed, entries, interruptEvery: 9 });
  const encoder = new ExecutionEncoder(image, walk, { ...encoding, psbBytes: 128 });
  const executed = [...encoder.chunks({ instructions: 900 })].flatMap((chunk) => [...chunk]);
  const trace = Uint8Array.from([...PEBS, ...executed]);
  const mappings = [
    { path: '/bin/a.out', address: CODE, sizeBytes: PROGRAM.length, fileOffset: 0x1000 },
    { path: '/tmp/jit-7.dump', address: 0x70_0000n, sizeBytes: 0x1000, fileOffset: 0 },
  ];
  const { attrs, records } = ptRecording({ pid: 7, comm: 'a', mappings, trace, encoding });
  const sampled = records.flatMap((record) =>
    'sampleId' in record && record.sampleId?.time !== undefined ? [record.sampleId.time] : [],
  )[0]!;
  const samples = Array.from({ length: 4 }, (_, index) => {
    const writer = new BodyWriter();
    writer.beginRecord(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
    const aux = seed % 2 === 0 ? trace.subarray(0, 512) : new Uint8Array();
    const time = sampled + BigInt(2000 * index);
    encodeSample(writer, { identifier: 9n, ip: CODE, pid: 7, tid: 7, time, cpu: 0, aux }, SAMPLED.layout);
    writer.endRecord();
    return writer.take();
  });
  return writePerfData({
    attrs: [
      ...attrs,
      { name: 'clock', ids: [9n], attr: SAMPLED.attr },
      {
        name: 'pebs',
        ids: [10n],
        attr: makeAttr({ ...SAMPLED.attr, flags: { sampleIdAll: 1, auxOutput: 1 } }),
      },
    ],
    // Where the trace is in samples it is nowhere else.
    records: [...records.slice(0, seed % 2 === 0 ? -2 : undefined), ...samples],
  });
}

async function decode(bytes: Uint8Array<ArrayBuffer>, letters: string): Promise<number> {
  let records = 0;
  const source = memorySource(bytes);
  const reader = await openPerfData(source).catch(() => null);
  if (reader === null) return 0;
  const sink = { record: () => void records++ };
  await withTrace(reader, { bytes: source, files, options: parseItrace(letters) }).scan(sink);
  return records;
}

test(`damaged recordings of Intel PT for ${seconds} s`, async () => {
  const random = new Random(Date.now() & 0xffff);
  const whole = [recording(1), recording(2), recording(3), recording(6)];
  for (const bytes of whole) assert.ok((await decode(bytes, 'i1i')) > 100);
  const until = performance.now() + seconds * 1000;
  // Wall time: a fuzzer runs for so long.
  for (let round = 0; performance.now() < until || round < 50; round++) {
    const seed = random.below(1 << 30);
    const from = new Random(seed);
    let bytes = from.pick(whole).slice();
    for (let count = from.below(6); count > 0; count--) bytes[from.below(bytes.length)] = from.below(256);
    if (from.below(3) === 0) bytes = bytes.slice(0, from.below(bytes.length));
    if (from.below(3) === 0)
      bytes.copyWithin(from.below(bytes.length), from.below(bytes.length), bytes.length);
    const letters = from.pick([
      'i1ibxwpe',
      'crg4e',
      'il4i3i',
      'i1usgZe',
      'bqs5e',
      'oIGLe',
      'qbi1iowpxGe',
      'qqpe',
      'i9iyAol3G4',
    ]);
    await decode(bytes, letters).catch((error: unknown) => {
      throw new Error(`seed ${seed}`, { cause: error });
    });
  }
});

test('a recording cut anywhere', async () => {
  const bytes = recording(4);
  for (let length = 0; length < bytes.length; length += 211) await decode(bytes.slice(0, length), 'i1ibe');
});
