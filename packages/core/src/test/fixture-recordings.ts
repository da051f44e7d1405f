/** The recordings of fixtures/perfdata, made from values: small, always the same, each for one thing. */

import {
  encodeRecords,
  encodeTracingData,
  layoutByEvent,
  type PerfDataFeatures,
  type WrittenEvent,
  writePerfData,
} from '../file-formats/perfdata/index.ts';
import {
  PERF_RECORD_COMPRESSED2,
  PERF_RECORD_EVENT_UPDATE,
  PERF_RECORD_EXIT,
  PERF_RECORD_FINISHED_INIT,
  PERF_RECORD_FORK,
  PERF_RECORD_HEADER_ATTR,
  PERF_RECORD_HEADER_BUILD_ID,
  PERF_RECORD_HEADER_FEATURE,
  PERF_RECORD_HEADER_TRACING_DATA,
  PERF_RECORD_ID_INDEX,
  PERF_RECORD_LOST,
  PERF_RECORD_LOST_SAMPLES,
  PERF_RECORD_MISC_KERNEL,
  PERF_RECORD_MISC_USER,
  PERF_RECORD_SAMPLE,
  PERF_RECORD_THROTTLE,
  PERF_RECORD_UNTHROTTLE,
} from '../format/abi/index.ts';
import { makeAttr, type PerfRecord } from '../format/records/index.ts';
import { exampleBytes } from './example-records.ts';
import { ANSWER_ID, answerRaw, exampleTracingParts } from './example-tracing.ts';
import { ATTR, CONTEXT_KERNEL, CONTEXT_USER, comm, mmap2, round, sample } from './recordings.ts';

export interface FixtureRecording {
  name: string;
  bytes: Uint8Array<ArrayBuffer>;
  events: readonly WrittenEvent[];
  /** What a reader finds, compressed content included. */
  records: readonly PerfRecord[];
  /** How many records of each type a pipe has besides: those that a file has in its header. */
  metadata: readonly (readonly [type: number, count: number])[];
  /** What is wrong with it, as code and offset. */
  damage: readonly (readonly [code: string, offset: number])[];
  /** Whether perf 6.1 reads all of it. */
  perfReads: boolean;
}

const MS = 1_000_000n;
const START = 5_000_000_000n;
const tail = new Uint8Array();
const sampleId = { pid: 10, tid: 10, time: START, id: 1n, cpu: 0 };
const KERNEL_TEXT = 0xffff_ffff_8100_0000n;

const FEATURES: Partial<PerfDataFeatures> = {
  hostname: 'example',
  osRelease: '6.18.0',
  version: '0.1.0',
  arch: 'x86_64',
  cpusAvailable: 2,
  cpusOnline: 2,
  cpuDescription: 'Example CPU',
  totalMemoryKb: 1_000_000n,
  commandLine: ['counterpoint', 'record', '--', 'demo'],
  sampleTime: { first: START, last: START + 9n * MS },
  buildIds: [
    {
      pid: -1,
      misc: 0x8002,
      buildId: '00112233445566778899aabbccddeeff00112233',
      path: '/opt/demo/bin/demo',
    },
  ],
};

const CPU_CLOCK: readonly WrittenEvent[] = [{ attr: ATTR, ids: [1n], name: 'cpu-clock' }];

/** A process that forks a thread: samples of two threads on two CPUs, out of order between rounds. */
const PLAIN: readonly PerfRecord[] = [
  { type: PERF_RECORD_FINISHED_INIT, misc: 0, tail },
  comm(10, 'demo', START, true),
  mmap2(10, 0x40_0000n, 0x2000n, '/opt/demo/bin/demo', START, 0x1000n),
  sample({ time: START + 1n * MS, cpu: 0, chain: [0x40_0010n] }),
  sample({ time: START + 3n * MS, cpu: 0, chain: [0x40_0020n] }),
  {
    type: PERF_RECORD_FORK,
    misc: 0,
    pid: 10,
    ppid: 10,
    tid: 11,
    ptid: 10,
    time: START + 1n * MS,
    tail,
    sampleId: { ...sampleId, time: START + 1n * MS },
  },
  sample({ time: START + 2n * MS, cpu: 1, tid: 11, chain: [0x40_0110n] }),
  round(),
  sample({ time: START + 5n * MS, cpu: 0, chain: [0x40_0010n] }),
  sample({ time: START + 4n * MS, cpu: 1, tid: 11, chain: [0x40_0120n] }),
  {
    type: PERF_RECORD_EXIT,
    misc: 0,
    pid: 10,
    ppid: 10,
    tid: 11,
    ptid: 10,
    time: START + 6n * MS,
    tail,
    sampleId: { ...sampleId, tid: 11, time: START + 6n * MS },
  },
  round(),
];

function inKernel(time: bigint, kernel: bigint[], user: bigint[]): PerfRecord {
  const record = sample({ time, chain: [...kernel, ...user] });
  record.misc = PERF_RECORD_MISC_KERNEL;
  record.sample.callchain = [CONTEXT_KERNEL, ...kernel, ...(user.length > 0 ? [CONTEXT_USER, ...user] : [])];
  return record;
}

const CALL_CHAINS: readonly PerfRecord[] = [
  comm(10, 'demo', START, true),
  mmap2(10, 0x40_0000n, 0x2000n, '/opt/demo/bin/demo', START, 0x1000n),
  sample({ time: START + 1n * MS, chain: [0x40_0010n, 0x40_0220n, 0x40_0330n] }),
  sample({ time: START + 2n * MS, chain: [0x40_0020n, 0x40_0220n, 0x40_0330n] }),
  inKernel(START + 3n * MS, [KERNEL_TEXT + 0x10n, KERNEL_TEXT + 0x210n], [0x40_0030n, 0x40_0330n]),
  inKernel(START + 4n * MS, [KERNEL_TEXT + 0x20n], []),
  round(),
];

/** Two events with call chains and one without, that differ in what their samples carry. */
const SEVERAL: readonly WrittenEvent[] = [
  { attr: ATTR, ids: [1n, 2n], name: 'cpu-clock' },
  { attr: { ...ATTR, config: 1n, samplePeriodOrFreq: 500n }, ids: [3n, 4n], name: 'task-clock' },
  {
    // Without CALLCHAIN; with ADDR. IDENTIFIER keeps the id in one place.
    attr: { ...ATTR, config: 2n, sampleType: (ATTR.sampleType & ~0x20n) | 8n },
    ids: [5n],
    name: 'page-faults',
  },
];

function pageFault(time: bigint, addr: bigint): PerfRecord {
  const record = sample({ time, id: 5n, period: 1n });
  delete record.sample.callchain;
  record.sample.addr = addr;
  return record;
}

const SEVERAL_RECORDS: readonly PerfRecord[] = [
  {
    type: PERF_RECORD_ID_INDEX,
    misc: 0,
    entries: [1n, 2n, 3n, 4n, 5n].map((id) => ({ id, index: id & 1n, cpu: id & 1n, tid: 10n })),
    tail,
  },
  comm(10, 'demo', START),
  sample({ time: START + 1n * MS, id: 1n }),
  sample({ time: START + 2n * MS, id: 4n, cpu: 1, period: 500n }),
  pageFault(START + 3n * MS, 0x7f00_0000_1000n),
  sample({ time: START + 4n * MS, id: 2n, cpu: 1 }),
  pageFault(START + 5n * MS, 0x7f00_0000_2000n),
  sample({ time: START + 6n * MS, id: 3n, period: 500n }),
  round(),
];

/** IP, TID, TIME, PERIOD, REGS_USER, STACK_USER, IDENTIFIER; registers IP and SP of x86. */
const USER_STACKS_EVENT: readonly WrittenEvent[] = [
  {
    attr: makeAttr({
      type: 1,
      samplePeriodOrFreq: 1000n,
      sampleType: 0x1_3107n,
      sampleRegsUser: 0x180n,
      sampleStackUser: 64,
      flags: { sampleIdAll: 1, comm: 1, excludeCallchainUser: 1 },
    }),
    ids: [1n],
    name: 'cpu-clock',
  },
];

function withStack(time: bigint, stack: number, isKernelThread = false): PerfRecord {
  const registers = isKernelThread ? [] : [0x40_0010n, 0x7fff_0000_1000n];
  return {
    type: PERF_RECORD_SAMPLE,
    misc: isKernelThread ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER,
    tail,
    sample: {
      identifier: 1n,
      ip: isKernelThread ? KERNEL_TEXT : 0x40_0010n,
      pid: 10,
      tid: 10,
      time,
      period: 1000n,
      userRegisters: { abi: isKernelThread ? 0 : 2, registers },
      userStack: { bytes: exampleBytes(stack), dynamicSize: stack },
    },
  };
}

/** Threads of the kernel have no registers and no stack of user code; they stand between those that have. */
const USER_STACKS: readonly PerfRecord[] = [
  comm(10, 'demo', START),
  withStack(START + 1n * MS, 64),
  withStack(START + 2n * MS, 0, true),
  withStack(START + 3n * MS, 64),
  withStack(START + 4n * MS, 0, true),
  round(),
];

/** Losses, and records and features that nobody knows yet. */
const UNKNOWN: readonly PerfRecord[] = [
  comm(10, 'demo', START),
  sample({ time: START + 1n * MS }),
  { raw: true, type: 60, misc: 3, body: exampleBytes(56), tail },
  { raw: true, type: 87, misc: 0, body: exampleBytes(16), tail },
  { raw: true, type: 4000, misc: 0, body: exampleBytes(8), tail },
  {
    type: PERF_RECORD_LOST,
    misc: 0,
    id: 1n,
    lost: 17n,
    tail,
    sampleId: { ...sampleId, time: START + 2n * MS },
  },
  {
    type: PERF_RECORD_LOST_SAMPLES,
    misc: 0,
    lost: 5n,
    tail,
    sampleId: { ...sampleId, time: START + 3n * MS },
  },
  {
    type: PERF_RECORD_THROTTLE,
    misc: 0,
    time: START + 4n * MS,
    id: 1n,
    streamId: 1n,
    tail,
    sampleId: { ...sampleId, time: START + 4n * MS },
  },
  {
    type: PERF_RECORD_UNTHROTTLE,
    misc: 0,
    time: START + 6n * MS,
    id: 1n,
    streamId: 1n,
    tail,
    sampleId: { ...sampleId, time: START + 6n * MS },
  },
  sample({ time: START + 7n * MS }),
  round(),
];

const TRACEPOINT: readonly WrittenEvent[] = [
  {
    attr: makeAttr({
      type: 2,
      config: BigInt(ANSWER_ID),
      samplePeriodOrFreq: 1n,
      // IP, TID, TIME, CPU, PERIOD, RAW, IDENTIFIER
      sampleType: 0x1_0587n,
      flags: { sampleIdAll: 1, comm: 1 },
    }),
    ids: [1n],
    name: 'demo:answer',
  },
];

function answer(time: bigint, value: number, text: string): PerfRecord {
  const raw = answerRaw(value, 'deep', text);
  return {
    type: PERF_RECORD_SAMPLE,
    misc: PERF_RECORD_MISC_KERNEL,
    tail,
    sample: { identifier: 1n, ip: KERNEL_TEXT, pid: 10, tid: 10, time, cpu: 0, period: 1n, raw },
  };
}

const ANSWERS: readonly PerfRecord[] = [
  comm(10, 'demo', START),
  answer(START + 1n * MS, 42, 'six by nine'),
  answer(START + 2n * MS, -1, ''),
  round(),
];

/** Zstandard frames of one raw block each (RFC 8878): a stream that needs no compressor. */
function zstdFrame(content: Uint8Array): number[] {
  const header = [0x28, 0xb5, 0x2f, 0xfd, 0x60, (content.length - 256) & 0xff, (content.length - 256) >> 8];
  const block = 1 | (content.length << 3);
  return [...header, block & 0xff, (block >> 8) & 0xff, block >> 16, ...content];
}

/** Records of `PLAIN` as the content of two compressed records, one record across their border. */
function compressedRecords(): PerfRecord[] {
  const content = encodeRecords(PLAIN, layoutByEvent(CPU_CLOCK));
  const half = content.length / 2 + 12;
  return [content.subarray(0, half), content.subarray(half)].map((part) => {
    const frame = zstdFrame(part);
    const padded = new Uint8Array(Math.ceil(frame.length / 8) * 8);
    padded.set(frame);
    return { type: PERF_RECORD_COMPRESSED2, misc: 0, dataSize: BigInt(frame.length), data: padded, tail };
  });
}

export function fixtureRecordings(): FixtureRecording[] {
  const whole = { metadata: [], damage: [], perfReads: true };
  const file = (name: string, events: readonly WrittenEvent[], records: readonly PerfRecord[]) => ({
    ...whole,
    name,
    events,
    records,
    bytes: writePerfData({ attrs: events, records, features: FEATURES }),
  });
  const plain = file('plain', CPU_CLOCK, PLAIN);
  const killed = plain.bytes.slice();
  // The size of the data, and the feature bits, are written when a recording ends.
  killed.fill(0, 48, 56).fill(0, 72, 104);
  const dataOffset = Number(new DataView(killed.buffer).getBigUint64(40, true));
  const layoutOf = layoutByEvent(CPU_CLOCK);
  const upToLast = encodeRecords(PLAIN.slice(0, 9), layoutOf).length;
  const compressed = compressedRecords();
  const groups = [{ name: '{anon_group}', leaderIndex: 0, memberCount: 2 }];
  return [
    plain,
    file('call-chains', CPU_CLOCK, CALL_CHAINS),
    file('user-stacks', USER_STACKS_EVENT, USER_STACKS),
    {
      ...file('several-events', SEVERAL, SEVERAL_RECORDS),
      bytes: writePerfData({ attrs: SEVERAL, records: SEVERAL_RECORDS, features: { ...FEATURES, groups } }),
    },
    {
      ...plain,
      name: 'big-endian',
      bytes: writePerfData({ attrs: CPU_CLOCK, records: PLAIN, features: FEATURES, littleEndian: false }),
    },
    {
      ...whole,
      name: 'pipe',
      events: TRACEPOINT,
      records: ANSWERS,
      metadata: [
        [PERF_RECORD_HEADER_ATTR, 1],
        [PERF_RECORD_EVENT_UPDATE, 1],
        // All of FEATURES but the build ids, the CPU counts as one, and the event descriptions.
        [PERF_RECORD_HEADER_FEATURE, 10],
        [PERF_RECORD_HEADER_BUILD_ID, 1],
        [PERF_RECORD_HEADER_TRACING_DATA, 1],
      ],
      bytes: writePerfData({
        attrs: TRACEPOINT,
        records: ANSWERS,
        features: { ...FEATURES, raw: new Map([[1, encodeTracingData(exampleTracingParts())]]) },
        mode: 'pipe',
      }),
    },
    {
      ...plain,
      name: 'killed',
      // Without the descriptions that come last, an event is called what its attr says, as perf has it.
      events: [{ ...CPU_CLOCK[0]!, name: 'cpu-clock:HG' }],
      records: PLAIN.slice(0, 9),
      bytes: killed.slice(0, dataOffset + upToLast + 20),
      damage: [['record-cut', dataOffset + upToLast]],
      perfReads: false,
    },
    {
      ...file('unknown-records', CPU_CLOCK, UNKNOWN),
      bytes: writePerfData({
        attrs: CPU_CLOCK,
        records: UNKNOWN,
        features: { ...FEATURES, raw: new Map([[200, exampleBytes(9)]]) },
      }),
      perfReads: false,
    },
    {
      ...plain,
      name: 'compressed',
      records: [...compressed, ...PLAIN],
      bytes: writePerfData({
        attrs: CPU_CLOCK,
        records: compressed,
        features: {
          ...FEATURES,
          compressed: { version: 1, type: 1, level: 1, ratio: 1, mmapLength: 528_384 },
        },
      }),
      perfReads: false,
    },
  ];
}
