import { bigIntAt, toBigInt } from '../../base/index.ts';
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
import { branchFlagsFrom } from './branch-word.ts';
import { decodeSampleInto } from './decode-sample.ts';
import { decodeReadValues, type ReadValues } from './read-values.ts';
import { SampleFields } from './sample-fields.ts';
import type { SampleLayout } from './sample-layout.ts';

/** A branch that the CPU recorded (LBR and the like): `struct perf_branch_entry`. */
export interface BranchEntry {
  /** Address of the branch instruction. */
  from: bigint;
  /** Address that it went to. */
  to: bigint;
  /**
   * The kernel's word, with its fields where a little-endian machine has them. From the lowest bit:
   * mispredicted 1, predicted 1, in a transaction 1, abort 1, cycles since the branch before 16, type 4,
   * speculation 2, more types 4, privilege 3. `branchFlagsOf` in `branches` takes it apart.
   */
  flags: bigint;
  /** Events that the CPU counted since the branch before. With PERF_SAMPLE_BRANCH_COUNTERS. */
  counters?: bigint;
}

/** Registers of a thread. */
export interface RegisterDump {
  /** The kind of code: 0 none (a kernel thread), 1 32-bit, 2 64-bit (PERF_SAMPLE_REGS_ABI_*). */
  abi: number;
  /** The values, in the order of the bits that are set in the attr's mask. */
  registers: bigint[];
}

/**
 * An owned sample. A field is there if the attr's `sample_type` has the bit whose name ends its comment. See
 * perf_event_open(2), "PERF_RECORD_SAMPLE".
 */
export interface Sample {
  /** The event's id, at the front of the record. IDENTIFIER. */
  identifier?: bigint;
  /** Address of the instruction. IP. */
  ip?: bigint;
  /** Process. TID. */
  pid?: number;
  /** Thread. TID. */
  tid?: number;
  /** When, in nanoseconds of the recording's clock. TIME. */
  time?: bigint;
  /** Address of the data, of a breakpoint or page fault; 0 where the event has none. ADDR. */
  addr?: bigint;
  /** The event's id; of an inherited one, its parent's. ID. */
  id?: bigint;
  /** Id of the event itself, which is its own where it was inherited. STREAM_ID. */
  streamId?: bigint;
  /** Number of the CPU. CPU. */
  cpu?: number;
  /** Events that the sample stands for. PERIOD. */
  period?: bigint;
  /** Counts of the event, or of its group. READ. */
  read?: ReadValues;
  /**
   * Addresses, the innermost first. Markers stand before the parts: PERF_CONTEXT_*, which are the values from
   * -4095 to -1 as unsigned 64-bit numbers. CALLCHAIN.
   */
  callchain?: bigint[];
  /** Fields of a tracepoint, or other data of this kind of event, with the kernel's padding. RAW. */
  raw?: Uint8Array;
  /** Branches before the sample, the newest first. BRANCH_STACK. */
  branches?: BranchEntry[];
  /**
   * Place of the newest branch in the CPU's own table, or -1 as unsigned. BRANCH_STACK, with BRANCH_HW_INDEX.
   */
  branchHwIndex?: bigint;
  /** Registers of the user code, also where the kernel was running. REGS_USER. */
  userRegisters?: RegisterDump;
  /**
   * A copy of the user stack, from the stack pointer up. Only the first `dynamicSize` of `bytes` are real.
   * STACK_USER.
   */
  userStack?: { bytes: Uint8Array; dynamicSize: number };
  /**
   * Cost of a memory access, mostly in cycles. With WEIGHT_STRUCT three numbers: bits 0-31, 32-47, 48-63.
   */
  weight?: bigint;
  /** Where data came from: `union perf_mem_data_src`. DATA_SRC. */
  dataSource?: bigint;
  /** Why a memory transaction aborted: PERF_TXN_* bits. TRANSACTION. */
  transaction?: bigint;
  /** Registers at the interrupt, or with `preciseIp` at the instruction. REGS_INTR. */
  interruptRegisters?: RegisterDump;
  /** Physical address of the data; 0 where it is not known. PHYS_ADDR. */
  physicalAddr?: bigint;
  /** Id of the thread's cgroup: `CgroupRecord` has its path. CGROUP. */
  cgroup?: bigint;
  /** Size in bytes of the page that `addr` is in. DATA_PAGE_SIZE. */
  dataPageSize?: bigint;
  /** Size in bytes of the page that `ip` is in. CODE_PAGE_SIZE. */
  codePageSize?: bigint;
  /** Hardware trace up to the sample. AUX. */
  aux?: Uint8Array;
}

/**
 * Decode a sample record into an owned value. Null if it is shorter than its attr
 * says. `fields` is overwritten.
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
      const flags = branchFlagsFrom(u64(at + 16), le);
      const entry: BranchEntry = { from: u64(at), to: u64(at + 8), flags };
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
