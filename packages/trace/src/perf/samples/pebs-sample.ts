/**
 * A PEBS record of the trace as a sample of the event that was recorded through it: what the kernel would
 * have written, had it read the record from memory (arch/x86/events/intel/ds.c), as far as the record
 * tells and the event asks for it.
 */
import {
  PERF_RECORD_MISC_EXACT_IP,
  PERF_RECORD_MISC_KERNEL,
  PERF_RECORD_MISC_USER,
  PERF_RECORD_SAMPLE,
  PERF_SAMPLE_BRANCH_STACK,
  PERF_SAMPLE_CALLCHAIN,
  PERF_SAMPLE_REGS_INTR,
  PERF_SAMPLE_WEIGHT_STRUCT,
} from '@counterpoint/core/abi';
import { hiOf, loOf, toBigInt } from '@counterpoint/core/base';
import type { RecordedEvent } from '@counterpoint/core/perfdata';
import {
  BodyWriter,
  type BranchEntry,
  encodeSample,
  type RegisterDump,
  type Sample,
} from '@counterpoint/core/records';
import {
  LBR_INFO_ABORT_HI,
  LBR_INFO_CYCLES,
  LBR_INFO_IN_TRANSACTION_HI,
  LBR_INFO_MISPREDICTED_HI,
  PEBS_BASIC,
  PEBS_BASIC_IP,
  PEBS_BASIC_TSC,
  PEBS_MEMORY,
  PEBS_MEMORY_ADDRESS,
  PEBS_MEMORY_LATENCY,
  PEBS_MEMORY_TSX,
  PEBS_REGISTER_AX,
  PEBS_REGISTER_IP,
  PEBS_REGISTERS,
  PEBS_XMM,
  type PebsBranch,
  type PebsRecord,
  type PerfClock,
  tscToPerfNs,
} from '../../pt/index.ts';
import { walkChain } from './call-chain.ts';
import type { RecordBuffer } from './record-buffer.ts';
import { type SyntheticSample, writeExtra } from './synthetic-sample.ts';
import type { TracedThread } from './traced-threads.ts';

/** Numbers of perf's registers (asm/perf_regs.h): the items of a PEBS block of registers, in its order. */
const PERF_REGISTERS: readonly number[] = [9, 8, 0, 2, 3, 1, 7, 6, 4, 5, 16, 17, 18, 19, 20, 21, 22, 23];
const PERF_REGISTER_XMM = 32;
const ITEM_OF_REGISTER: ReadonlyMap<number, number> = new Map(
  PERF_REGISTERS.map((register, item) => [register, item]),
);
const REGISTERS_OF_32_BITS = 1;
const REGISTERS_OF_64_BITS = 2;

// struct perf_branch_entry.
const BRANCH_MISPREDICTED = 1n << 0n;
const BRANCH_PREDICTED = 1n << 1n;
const BRANCH_IN_TRANSACTION = 1n << 2n;
const BRANCH_ABORT = 1n << 3n;
const BRANCH_CYCLES_SHIFT = 4n;

// PERF_SAMPLE_TRANSACTION (linux/perf_event.h).
const TRANSACTION_RTM = 1 << 1;
const TRANSACTION_ABORT_SHIFT = 32n;

/**
 * struct perf_mem_data_src with "not available" in every field: operation, level, snoop, lock, TLB and
 * number of the level. What a record's data source means only the kernel's tables of that processor know,
 * and perf does not say it either.
 */
const DATA_SOURCE_UNKNOWN = (1n << 0n) | (1n << 5n) | (1n << 19n) | (1n << 24n) | (1n << 26n) | (0xfn << 33n);

/** Where the record came, and what is known there. `place.timeNs` is replaced by the record's own time. */
export interface PebsPlace {
  /** As the trace has come to it: thread, CPU, time, and the address where the record itself has none. */
  readonly place: SyntheticSample;
  readonly thread: TracedThread;
  /** Null where the TSC cannot be told in nanoseconds. */
  readonly clock: PerfClock | null;
  /** Frames, and branches, that samples are to have beyond what the record holds; 0 for none. */
  readonly callChain: number;
  readonly lastBranches: number;
}

export function writePebsSample(
  buffer: RecordBuffer,
  event: RecordedEvent,
  id: number,
  record: PebsRecord,
  where: PebsPlace,
): void {
  const { place, clock } = where;
  const { layout, attr } = event;
  const [ipLo, ipHi] = addressOf(record, place);
  if (clock !== null && record.has(PEBS_BASIC, PEBS_BASIC_TSC)) {
    const lo = record.loOf(PEBS_BASIC, PEBS_BASIC_TSC) >>> 0;
    place.timeNs = Math.max(0, tscToPerfNs(clock, lo, record.hiOf(PEBS_BASIC, PEBS_BASIC_TSC) >>> 0));
  }
  const sample: Sample = {
    identifier: BigInt(id),
    id: BigInt(id),
    streamId: BigInt(id),
    ip: toBigInt(ipLo >>> 0, ipHi >>> 0),
    pid: place.pid,
    tid: place.tid,
    cpu: place.cpu,
    time: BigInt(Math.round(place.timeNs)),
    // Where the period changes, the record does not say what it was.
    period: attr.flags.freq !== 0 ? 0n : attr.samplePeriodOrFreq,
    addr: record.valueOf(PEBS_MEMORY, PEBS_MEMORY_ADDRESS),
    weight: weightOf(record, (layout.sampleType & PERF_SAMPLE_WEIGHT_STRUCT) !== 0),
    transaction: transactionOf(record),
    dataSource: DATA_SOURCE_UNKNOWN,
  };
  if ((layout.sampleType & PERF_SAMPLE_CALLCHAIN) !== 0 && where.callChain > 0)
    sample.callchain = chainOf(where, ipLo, ipHi);
  if ((layout.sampleType & PERF_SAMPLE_REGS_INTR) !== 0)
    sample.interruptRegisters = registersOf(record, attr.sampleRegsIntr);
  if ((layout.sampleType & PERF_SAMPLE_BRANCH_STACK) !== 0) {
    const branches = record.branches().map(entryOf);
    sample.branches =
      branches.length > 0 ? branches : (where.thread.branches?.entries(where.lastBranches) ?? []);
    sample.branchHwIndex = -1n;
  }
  const writer = new BodyWriter(buffer.littleEndian);
  encodeSample(writer, sample, layout);
  const body = writer.view8();
  const mode = ipHi < 0 ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER;
  buffer.begin(PERF_RECORD_SAMPLE, mode | PERF_RECORD_MISC_EXACT_IP, place.timeNs);
  buffer.bytes(body, body.length);
  writeExtra(buffer, place, where.thread.calls);
  buffer.end();
}

/** The exact address, or that of the registers, or where the trace is. */
function addressOf(record: PebsRecord, { ipLo, ipHi }: SyntheticSample): [lo: number, hi: number] {
  if (record.has(PEBS_BASIC, PEBS_BASIC_IP))
    return [record.loOf(PEBS_BASIC, PEBS_BASIC_IP), record.hiOf(PEBS_BASIC, PEBS_BASIC_IP)];
  if (record.has(PEBS_REGISTERS, PEBS_REGISTER_IP))
    return [record.loOf(PEBS_REGISTERS, PEBS_REGISTER_IP), record.hiOf(PEBS_REGISTERS, PEBS_REGISTER_IP)];
  return [ipLo, ipHi];
}

function chainOf({ thread, callChain }: PebsPlace, ipLo: number, ipHi: number): bigint[] {
  const chain: bigint[] = [];
  walkChain(thread.calls, ipLo, ipHi, callChain, (lo, hi) => chain.push(toBigInt(lo >>> 0, hi >>> 0)));
  return chain;
}

/**
 * The registers that the event asked for. A record has all of a block or none of it; one that is not in it (a
 * segment's) is 0, because a sample has a place for each.
 */
function registersOf(record: PebsRecord, mask: bigint): RegisterDump {
  if (record.itemsOf(PEBS_REGISTERS) === 0 && record.itemsOf(PEBS_XMM) === 0)
    return { abi: 0, registers: [] };
  const registers: bigint[] = [];
  for (let register = 0; register < 64; register++) {
    if (((mask >> BigInt(register)) & 1n) === 0n) continue;
    if (register >= PERF_REGISTER_XMM) {
      registers.push(record.valueOf(PEBS_XMM, register - PERF_REGISTER_XMM));
      continue;
    }
    const item = ITEM_OF_REGISTER.get(register);
    registers.push(item === undefined ? 0n : record.valueOf(PEBS_REGISTERS, item));
  }
  return { abi: record.is32Bit ? REGISTERS_OF_32_BITS : REGISTERS_OF_64_BITS, registers };
}

function entryOf({ from, to, info }: PebsBranch): BranchEntry {
  const hi = hiOf(info);
  const isMispredicted = (hi & LBR_INFO_MISPREDICTED_HI) !== 0;
  return {
    from,
    to,
    flags:
      (isMispredicted ? BRANCH_MISPREDICTED : BRANCH_PREDICTED) |
      ((hi & LBR_INFO_IN_TRANSACTION_HI) !== 0 ? BRANCH_IN_TRANSACTION : 0n) |
      ((hi & LBR_INFO_ABORT_HI) !== 0 ? BRANCH_ABORT : 0n) |
      (BigInt(loOf(info) & LBR_INFO_CYCLES) << BRANCH_CYCLES_SHIFT),
  };
}

/**
 * Latency of a memory access; since Sapphire Rapids that of the caches in bits 32 to 47 and that of the
 * instruction in the low 16, before that one number. Else the cycles of the last transaction.
 *
 *   PERF_SAMPLE_WEIGHT_STRUCT   | 0 weight u32 | 32 latency of the instruction u16 | 48 |
 */
function weightOf(record: PebsRecord, hasParts: boolean): bigint {
  const lo = record.loOf(PEBS_MEMORY, PEBS_MEMORY_LATENCY);
  const cacheCycles = record.hiOf(PEBS_MEMORY, PEBS_MEMORY_LATENCY) & 0xffff;
  const isInParts = record.hiOf(PEBS_MEMORY, PEBS_MEMORY_LATENCY) !== 0;
  const latency = isInParts ? cacheCycles : lo >>> 0;
  const weight = latency !== 0 ? latency : record.loOf(PEBS_MEMORY, PEBS_MEMORY_TSX) >>> 0;
  const instructionCycles = isInParts && hasParts ? BigInt(lo & 0xffff) : 0n;
  return BigInt(weight) | (instructionCycles << 32n);
}

/** Why a transaction ended, bits 32 to 39, and with which code: XABORT leaves it in the top byte of AX. */
function transactionOf(record: PebsRecord): bigint {
  const reason = record.hiOf(PEBS_MEMORY, PEBS_MEMORY_TSX) & 0xff;
  const ax = record.loOf(PEBS_REGISTERS, PEBS_REGISTER_AX);
  const hasCode = (reason & TRANSACTION_RTM) !== 0 && (ax & 1) !== 0;
  return BigInt(reason) | (hasCode ? BigInt((ax >>> 24) & 0xff) << TRANSACTION_ABORT_SHIFT : 0n);
}
