import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { after, test } from 'node:test';
import {
  PERF_RECORD_AUX_OUTPUT_HW_ID,
  PERF_SAMPLE_ADDR,
  PERF_SAMPLE_BRANCH_STACK,
  PERF_SAMPLE_CALLCHAIN,
  PERF_SAMPLE_CPU,
  PERF_SAMPLE_DATA_SRC,
  PERF_SAMPLE_IDENTIFIER,
  PERF_SAMPLE_IP,
  PERF_SAMPLE_PERIOD,
  PERF_SAMPLE_REGS_INTR,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
  PERF_SAMPLE_TRANSACTION,
  PERF_SAMPLE_WEIGHT,
  PERF_TYPE_RAW,
} from '@counterpoint/core/abi';
import { memorySource } from '@counterpoint/core/base';
import { openPerfData, writePerfData } from '@counterpoint/core/perfdata';
import {
  decodeSample,
  makeAttr,
  type PerfEventAttr,
  type PerfRecord,
  type Sample,
} from '@counterpoint/core/records';
import type { SymbolDriver } from '@counterpoint/core/symbols';
import { noPerf, perf, TemporaryFolder } from '../../../../core/src/test/perf.ts';
import { ptRecording, tscToPerfTime } from '../../pt/index.ts';
import { parseTraceProgram } from '../../pt/text/index.ts';
import { parseItrace, withTrace } from './index.ts';

const folder = new TemporaryFolder();
after(() => folder.remove());

const NO_TAIL = new Uint8Array();
const PID = 77;
const CODE = 0x40_1000n;
const PAGE = 0x1000;
/** perf's masks: AX to R15 without segments, and XMM0 to XMM15. */
const GENERAL_REGISTERS = 0xff_03ffn;
const VECTOR_REGISTERS = 0xffff_ffffn << 32n;
const TSC = 0x123_4567_89abn;

/** A loop of three, and PEBS records in between; what is in a record is up to the test. */
function traceOf(records: readonly string[]): { code: Uint8Array; trace: Uint8Array } {
  const { code, trace } = parseTraceProgram(`title pebs
code ${`0x${CODE.toString(16)}`} 64
  start: nop
  l1: inc
  l2: call f
  l3: jne l1
  l4: nop
  l5: jmpi
  f: nop
  ret: ret
trace
  psb; tsc ${`0x${TSC.toString(16)}`}; mode.exec 64; fup start; psbend
  ${records.map((record) => `${record}\n  tnt t`).join('\n  tnt t\n  ')}
  tnt n; tip.pgd -
`);
  return { code: code[0]!.bytes, trace };
}

interface PebsEvent {
  id: bigint;
  attr: Partial<PerfEventAttr>;
}

const ALL_BITS =
  PERF_SAMPLE_IDENTIFIER |
  PERF_SAMPLE_IP |
  PERF_SAMPLE_TID |
  PERF_SAMPLE_TIME |
  PERF_SAMPLE_ADDR |
  PERF_SAMPLE_CPU |
  PERF_SAMPLE_PERIOD |
  PERF_SAMPLE_BRANCH_STACK |
  PERF_SAMPLE_WEIGHT |
  PERF_SAMPLE_DATA_SRC |
  PERF_SAMPLE_TRANSACTION |
  PERF_SAMPLE_REGS_INTR;
const ALL: Partial<PerfEventAttr> = {
  sampleType: BigInt(ALL_BITS),
  sampleRegsIntr: GENERAL_REGISTERS,
  branchSampleType: 1n << 17n,
  samplePeriodOrFreq: 10_003n,
};

async function recordingOf(
  records: readonly string[],
  events: readonly PebsEvent[],
  hardwareIds: readonly [counter: bigint, id: bigint][] = [],
): Promise<Uint8Array<ArrayBuffer>> {
  const { code, trace } = traceOf(records);
  const program = new Uint8Array(2 * PAGE);
  program.set(code, PAGE);
  const path = folder.file('program', program);
  const mappings = [{ path, address: CODE, sizeBytes: PAGE, fileOffset: PAGE }];
  const recording = ptRecording({ pid: PID, comm: 'pebs', mappings, trace, encoding: { tsc: true } });
  const clock = { timeShift: 30, timeMult: Math.round((2 ** 30 * 10) / 21), timeZero: 0n };
  const time = tscToPerfTime(clock, TSC) - 500n;
  const attrs = events.map(({ id, attr }, index) => ({
    name: `pebs-${index}`,
    ids: [id],
    attr: makeAttr({
      type: PERF_TYPE_RAW,
      config: 0x1cdn,
      ...attr,
      flags: { ...attr.flags, sampleIdAll: 1, auxOutput: 1, preciseIp: 2, excludeKernel: 1 },
    }),
  }));
  const counters = hardwareIds.map(
    ([hardwareId, id]): PerfRecord => ({
      type: PERF_RECORD_AUX_OUTPUT_HW_ID,
      misc: 0,
      hardwareId,
      sampleId: { pid: PID, tid: PID, time, cpu: 0, id },
      tail: NO_TAIL,
    }),
  );
  const at = recording.records.findIndex((record) => !(record instanceof Uint8Array) && record.type === 12);
  recording.records.splice(at + 1, 0, ...counters);
  return writePerfData({ ...recording, attrs: [...recording.attrs, ...attrs] });
}

const disk: SymbolDriver = {
  open: async ({ path }) => (existsSync(path) ? memorySource(new Uint8Array(readFileSync(path))) : null),
};

/** Samples of the events that were recorded, and of none that was made. */
async function samplesOf(bytes: Uint8Array<ArrayBuffer>, letters: string | null): Promise<Sample[]> {
  const source = memorySource(bytes);
  const reader = await openPerfData(source);
  const samples: Sample[] = [];
  const sink = {
    record(view: DataView, start: number, end: number, type: number) {
      if (type !== 9) return;
      const event = reader.events.eventOf(view, start, end, type, true);
      if (event?.attr.flags.auxOutput !== 1) return;
      const sample = decodeSample(view, start, end, event.layout, true);
      if (sample !== null) samples.push(sample);
    },
  };
  const trace =
    letters === null
      ? reader
      : withTrace(reader, { bytes: source, files: disk, options: parseItrace(letters) });
  await trace.scan(sink);
  return samples;
}

/** What perf makes of it: its samples in a file of their own. */
async function perfSamples(bytes: Uint8Array<ArrayBuffer>, letters: string): Promise<Sample[]> {
  const path = folder.file('pebs.data', bytes);
  const out = folder.file('injected.data', new Uint8Array());
  const { status, stderr } = perf(['inject', '-f', '-i', path, '-o', out, `--itrace=${letters}`]);
  assert.equal(status, 0, stderr);
  const samples = await samplesOf(new Uint8Array(readFileSync(out)), null);
  // Which of the CPU's registers was the newest is not known: perf leaves a 0, the
  // kernel's word for it is all ones.
  for (const sample of samples)
    if (sample.branchHwIndex !== undefined) sample.branchHwIndex = 0xffff_ffff_ffff_ffffn;
  return samples;
}

const REGISTERS = `bbp 1 8; ${Array.from({ length: 18 }, (_, id) => `bip ${id} 0x${(id + 0x1000_0000_0000).toString(16)}`).join('; ')}`;
const XMM = `bbp 16 8; ${Array.from({ length: 32 }, (_, id) => `bip ${id} 0x${(id + 0x9000_0000_0000).toString(16)}`).join('; ')}`;
const lbr = (type: number, count: number) =>
  `bbp ${type} 8; ${Array.from({ length: count }, (_, n) => {
    const info = (n % 2 === 0 ? 0x8000_0000_0000_0000n : 0x6000_0000_0000_0000n) | BigInt(type * 16 + n);
    return `bip ${3 * n} 0x${(0x40_1000 + type + n).toString(16)}; bip ${3 * n + 1} 0x40${n}000; bip ${3 * n + 2} 0x${info.toString(16)}`;
  }).join('; ')}`;

const RECORDS: Readonly<Record<string, string>> = {
  'address, counters and time': 'bbp 4 8; bip 0 0x401006; bip 1 1; bip 2 0x12345678a00; bep ip; fup l2',
  'no address but that of the registers': `${REGISTERS}; bep ip; fup l2`,
  'only where the trace is': 'bbp 5 8; bip 0 0x7fff00001234; bep ip; fup l2',
  'a memory access':
    'bbp 4 8; bip 0 0x401006; bbp 5 8; bip 0 0x7fff00001234; bip 1 0x2; bip 2 345; bep ip; fup l2',
  'latency in parts': 'bbp 4 8; bip 0 0x401006; bbp 5 8; bip 2 0x12300000456; bep ip; fup l2',
  'a transaction that was aborted': `bbp 4 8; bip 0 0x401006; ${REGISTERS}; bip 2 0xab000001; bbp 5 8; bip 3 0x4200001234; bep ip; fup l2`,
  'last branches': `bbp 4 8; bip 0 0x401006; ${lbr(8, 10)}; ${lbr(9, 10)}; ${lbr(10, 3)}; bep ip; fup l2`,
  'vector registers': `bbp 4 8; bip 0 0x401006; ${REGISTERS}; ${XMM}; bep ip; fup l2`,
  'registers of 32 bits': `bbp 4 8; bip 0 0x401006; bbp 1 4; ${Array.from({ length: 18 }, (_, id) => `bip ${id} 0x${(id + 0x8000_0000).toString(16)}`).join('; ')}; bep ip; fup l2`,
  'blocks that nobody knows': 'bbp 4 8; bip 0 0x401006; bbp 27 8; bip 0 1; bip 31 2; bep ip; fup l2',
  'an end without an address': 'bbp 4 8; bip 0 0x401006; bip 2 0x12345678a00; bep',
};

test('PEBS records become samples of their event, field by field as perf has them', {
  skip: noPerf,
}, async () => {
  for (const [name, record] of Object.entries(RECORDS))
    for (const letters of ['o', 'og', 'ol8', 'os1']) {
      // perf inject does not survive an event with call chains where none are made.
      const bits = letters.includes('g') ? ALL_BITS | PERF_SAMPLE_CALLCHAIN : ALL_BITS;
      // Nor does it write a place for a register that the record lacks, and its file cannot be read.
      const sampleRegsIntr = GENERAL_REGISTERS | (record.includes(XMM) ? VECTOR_REGISTERS : 0n);
      const attr = { ...ALL, sampleType: BigInt(bits), sampleRegsIntr };
      const bytes = await recordingOf([record, record], [{ id: 55n, attr }]);
      const theirs = await perfSamples(bytes, letters);
      const mine = await samplesOf(bytes, letters);
      assert.equal(theirs.length, letters === 'os1' ? 1 : 2, name);
      assert.deepEqual(mine, theirs, `${name}, ${letters}`);
    }
});

const counter = (mask: number) => `bbp 4 8; bip 0 0x401006; bip 1 ${mask}; bep ip; fup l2`;
const SMALL: Partial<PerfEventAttr> = {
  sampleType: BigInt(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_PERIOD),
};
const TWO_EVENTS: readonly PebsEvent[] = [
  { id: 55n, attr: { ...SMALL, samplePeriodOrFreq: 100n } },
  { id: 56n, attr: { ...SMALL, samplePeriodOrFreq: 999n } },
];

test('of several events, the counters that a record names tell which; a record of two is two samples', {
  skip: noPerf,
}, async () => {
  const records = [counter(1), counter(4), counter(5), counter(1)];
  const bytes = await recordingOf(records, TWO_EVENTS, [
    [0n, 56n],
    [2n, 55n],
  ]);
  const mine = await samplesOf(bytes, 'o');
  assert.deepEqual(mine, await perfSamples(bytes, 'o'));
  assert.deepEqual(
    mine.map(({ identifier, period }) => [identifier, period]),
    [
      [56n, 999n],
      [55n, 100n],
      [56n, 999n],
      [55n, 100n],
      [56n, 999n],
    ],
  );
});

test('a record of a counter that nobody told of goes to the first event, and that is said', async () => {
  const bytes = await recordingOf([counter(1), counter(8)], TWO_EVENTS, [[0n, 56n]]);
  const source = memorySource(bytes);
  const reader = await openPerfData(source);
  const trace = withTrace(reader, { bytes: source, files: disk, options: parseItrace('o') });
  const outcome = await trace.scan({ record() {} });
  assert.deepEqual(
    (await samplesOf(bytes, 'o')).map(({ identifier }) => identifier),
    [56n, 55n],
  );
  assert.ok(outcome !== null);
  const [note] = outcome.diagnostics.filter(({ code }) => code === 'itrace-letter');
  assert.match(note?.detail ?? '', /^1 PEBS records do not say to which/);
});

test('without the letter there are no such samples, and half a record is none', async () => {
  const whole = counter(1);
  const bytes = await recordingOf([whole], [{ id: 55n, attr: SMALL }]);
  assert.equal((await samplesOf(bytes, 'b')).length, 0);
  const half = await recordingOf(
    [`bbp 5 8; bip 0 0x1234; ovf; fup l2; ${whole}`],
    [{ id: 55n, attr: { ...SMALL, sampleType: BigInt(ALL_BITS), sampleRegsIntr: 1n } }],
  );
  assert.deepEqual(
    (await samplesOf(half, 'o')).map(({ addr }) => addr),
    [0n],
  );
});

test('a record at a place whose code is not here is left out, whole', async () => {
  const bytes = await recordingOf([RECORDS['a memory access']!], [{ id: 55n, attr: SMALL }]);
  rmSync(`${folder.path}/program`);
  assert.deepEqual(await samplesOf(bytes, 'o'), []);
});

test('records have their own times, also where the trace is decoded without', { skip: noPerf }, async () => {
  const bytes = await recordingOf([RECORDS['address, counters and time']!], [{ id: 55n, attr: ALL }]);
  const [sample] = await samplesOf(bytes, 'oZ');
  assert.ok((sample?.time ?? 0n) > 0n);
  assert.deepEqual([sample], await perfSamples(bytes, 'oZ'));
});
