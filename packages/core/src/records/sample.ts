import {
  PERF_SAMPLE_ADDR,
  PERF_SAMPLE_AUX,
  PERF_SAMPLE_BRANCH_STACK,
  PERF_SAMPLE_CALLCHAIN,
  PERF_SAMPLE_CGROUP,
  PERF_SAMPLE_CODE_PAGE_SIZE,
  PERF_SAMPLE_CPU,
  PERF_SAMPLE_DATA_PAGE_SIZE,
  PERF_SAMPLE_DATA_SRC,
  PERF_SAMPLE_ID,
  PERF_SAMPLE_IDENTIFIER,
  PERF_SAMPLE_IP,
  PERF_SAMPLE_PERIOD,
  PERF_SAMPLE_PHYS_ADDR,
  PERF_SAMPLE_RAW,
  PERF_SAMPLE_READ,
  PERF_SAMPLE_REGS_INTR,
  PERF_SAMPLE_REGS_USER,
  PERF_SAMPLE_STACK_USER,
  PERF_SAMPLE_STREAM_ID,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
  PERF_SAMPLE_TRANSACTION,
  PERF_SAMPLE_WEIGHT,
  PERF_SAMPLE_WEIGHT_STRUCT,
} from '../abi/index.ts';
import { bigIntAt, toBigInt } from '../base/index.ts';
import { decodeSampleInto } from './decode-sample.ts';
import { decodeReadValues, type ReadValues } from './read-values.ts';
import { SampleFields } from './sample-fields.ts';
import type { SampleLayout } from './sample-layout.ts';

export interface BranchEntry {
  from: bigint;
  to: bigint;
  /** Mispredicted, predicted, transaction bits, cycles, type, speculation: the kernel's word as it is. */
  flags: bigint;
  /** With PERF_SAMPLE_BRANCH_COUNTERS. */
  counters?: bigint;
}

export interface RegisterDump {
  /** 0 none, 1 32-bit, 2 64-bit. */
  abi: number;
  /** In the order of the set bits of the attr's mask. */
  registers: bigint[];
}

/** An owned sample. A field is there if the attr's sample_type has its bit. */
export interface Sample {
  identifier?: bigint;
  ip?: bigint;
  pid?: number;
  tid?: number;
  time?: bigint;
  addr?: bigint;
  id?: bigint;
  streamId?: bigint;
  cpu?: number;
  period?: bigint;
  read?: ReadValues;
  /** Raw chain with context markers (values from -4095 up as unsigned 64-bit). */
  callchain?: bigint[];
  raw?: Uint8Array;
  branches?: BranchEntry[];
  branchHwIndex?: bigint;
  userRegisters?: RegisterDump;
  userStack?: { bytes: Uint8Array; dynamicSize: number };
  weight?: bigint;
  dataSource?: bigint;
  transaction?: bigint;
  interruptRegisters?: RegisterDump;
  physicalAddr?: bigint;
  cgroup?: bigint;
  dataPageSize?: bigint;
  codePageSize?: bigint;
  aux?: Uint8Array;
}

/**
 * Decode a sample record into an owned value, or null where it is shorter than its
 * attr says. `fields` is scratch.
 */
export function decodeSample(
  view: DataView,
  start: number,
  end: number,
  layout: SampleLayout,
  le: boolean,
  fields = new SampleFields(),
): Sample | null {
  if (!decodeSampleInto(view, start, end, layout, le, fields)) return null;
  const has = (bit: number) => (layout.sampleType & bit) !== 0;
  const u64 = (at: number) => bigIntAt(view, at, le);
  const words = (at: number, count: number) => Array.from({ length: count }, (_, i) => u64(at + i * 8));
  const bytes = (at: number, size: number) => new Uint8Array(view.buffer, view.byteOffset + at, size).slice();

  const sample: Sample = {};
  if (has(PERF_SAMPLE_IDENTIFIER)) sample.identifier = u64(start + 8);
  if (has(PERF_SAMPLE_IP)) sample.ip = toBigInt(fields.ipLo, fields.ipHi);
  if (has(PERF_SAMPLE_TID)) {
    sample.pid = fields.pid;
    sample.tid = fields.tid;
  }
  if (has(PERF_SAMPLE_TIME)) sample.time = toBigInt(fields.timeLo, fields.timeHi);
  if (has(PERF_SAMPLE_ADDR)) sample.addr = toBigInt(fields.addrLo, fields.addrHi);
  if (has(PERF_SAMPLE_ID)) sample.id = toBigInt(fields.idLo, fields.idHi);
  if (has(PERF_SAMPLE_STREAM_ID)) sample.streamId = toBigInt(fields.streamIdLo, fields.streamIdHi);
  if (has(PERF_SAMPLE_CPU)) sample.cpu = fields.cpu;
  if (has(PERF_SAMPLE_PERIOD)) sample.period = toBigInt(fields.periodLo, fields.periodHi);
  if (has(PERF_SAMPLE_READ)) {
    const read = decodeReadValues(view, fields.readOffset, end, layout.readFormat, le);
    if (read !== null) sample.read = read;
  }
  if (has(PERF_SAMPLE_CALLCHAIN)) sample.callchain = words(fields.chainOffset, fields.chainCount);
  if (has(PERF_SAMPLE_RAW)) sample.raw = bytes(fields.rawOffset, fields.rawSize);
  if (has(PERF_SAMPLE_BRANCH_STACK)) {
    if (layout.branchHasHwIndex)
      sample.branchHwIndex = toBigInt(fields.branchHwIndexLo, fields.branchHwIndexHi);
    sample.branches = Array.from({ length: fields.branchCount }, (_, i) => {
      const at = fields.branchOffset + i * 24;
      const entry: BranchEntry = { from: u64(at), to: u64(at + 8), flags: u64(at + 16) };
      if (layout.branchHasCounters) entry.counters = u64(fields.branchCountersOffset + i * 8);
      return entry;
    });
  }
  if (has(PERF_SAMPLE_REGS_USER)) {
    const count = fields.userRegsAbi === 0 ? 0 : layout.userRegisterCount;
    sample.userRegisters = { abi: fields.userRegsAbi, registers: words(fields.userRegsOffset, count) };
  }
  if (has(PERF_SAMPLE_STACK_USER)) {
    sample.userStack = {
      bytes: bytes(fields.userStackOffset, fields.userStackSize),
      dynamicSize: fields.userStackDynamicSize,
    };
  }
  if (has(PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT))
    sample.weight = toBigInt(fields.weightLo, fields.weightHi);
  if (has(PERF_SAMPLE_DATA_SRC)) sample.dataSource = toBigInt(fields.dataSourceLo, fields.dataSourceHi);
  if (has(PERF_SAMPLE_TRANSACTION)) sample.transaction = toBigInt(fields.transactionLo, fields.transactionHi);
  if (has(PERF_SAMPLE_REGS_INTR)) {
    const count = fields.interruptRegsAbi === 0 ? 0 : layout.interruptRegisterCount;
    sample.interruptRegisters = {
      abi: fields.interruptRegsAbi,
      registers: words(fields.interruptRegsOffset, count),
    };
  }
  if (has(PERF_SAMPLE_PHYS_ADDR))
    sample.physicalAddr = toBigInt(fields.physicalAddrLo, fields.physicalAddrHi);
  if (has(PERF_SAMPLE_CGROUP)) sample.cgroup = toBigInt(fields.cgroupLo, fields.cgroupHi);
  if (has(PERF_SAMPLE_DATA_PAGE_SIZE))
    sample.dataPageSize = toBigInt(fields.dataPageSizeLo, fields.dataPageSizeHi);
  if (has(PERF_SAMPLE_CODE_PAGE_SIZE))
    sample.codePageSize = toBigInt(fields.codePageSizeLo, fields.codePageSizeHi);
  if (has(PERF_SAMPLE_AUX)) sample.aux = bytes(fields.auxOffset, fields.auxSize);
  return sample;
}
