import {
  PERF_SAMPLE_ADDR,
  PERF_SAMPLE_BRANCH_COUNTERS,
  PERF_SAMPLE_BRANCH_HW_INDEX,
  PERF_SAMPLE_CALLCHAIN,
  PERF_SAMPLE_CPU,
  PERF_SAMPLE_ID,
  PERF_SAMPLE_IDENTIFIER,
  PERF_SAMPLE_IP,
  PERF_SAMPLE_PERIOD,
  PERF_SAMPLE_READ,
  PERF_SAMPLE_STREAM_ID,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
  PERF_SAMPLE_WEIGHT_STRUCT,
} from '../abi/index.ts';
import type { PerfEventAttr } from './attr.ts';

const ALL_KNOWN_BITS = PERF_SAMPLE_WEIGHT_STRUCT * 2 - 1;

/**
 * Where things stand in a sample of one attr, worked out once. The fixed part of a sample, in
 * the order in which the kernel writes it (perf_event_open(2), "PERF_RECORD_SAMPLE"), each 8
 * bytes and there if its bit is set:
 *
 *   header | IDENTIFIER | IP | TID | TIME | ADDR | ID | STREAM_ID | CPU | PERIOD | then variable parts
 *
 * Kernel records other than samples end, with `sample_id_all`, in:
 *
 *   ... body | TID | TIME | ID | STREAM_ID | CPU | IDENTIFIER |
 */
export class SampleLayout {
  /** Low 32 bits of sample_type: all that are defined. */
  readonly sampleType: number;
  /** What the values of PERF_SAMPLE_READ have: PERF_FORMAT_* bits. */
  readonly readFormat: number;
  /** Whether a hardware index stands before branch entries (PERF_SAMPLE_BRANCH_HW_INDEX). */
  readonly branchHasHwIndex: boolean;
  /** Whether words of counters follow branch entries (PERF_SAMPLE_BRANCH_COUNTERS). */
  readonly branchHasCounters: boolean;
  /** Equal for layouts whose samples have the same parts. */
  readonly shape: number;
  /** How many registers a dump of user registers holds. */
  readonly userRegisterCount: number;
  /** How many registers a dump of the registers at the interrupt holds. */
  readonly interruptRegisterCount: number;
  /** Whether kernel records other than samples have a trailer. */
  readonly sampleIdAll: boolean;
  /** Offset of the time from the start of a sample record in bytes, or -1. */
  readonly timeFromStart: number;
  /** Offset of the event's id from the start of a sample record in bytes, or -1. */
  readonly idFromStart: number;
  /**
   * Offset of the count of a call chain in bytes. -1 if there is none, or if values
   * of counters stand before it.
   */
  readonly chainFromStart: number;
  /** Bytes of the trailer of other kernel records, 0 without `sample_id_all`. */
  readonly trailerSize: number;
  /** Offset of the time back from the end of a record with a trailer (`end - timeFromEnd`), or -1. */
  readonly timeFromEnd: number;
  /** Offset of the event's id back from the end of a record with a trailer, or -1. */
  readonly idFromEnd: number;
  /**
   * Bits of `sample_type` that are set and that this library does not know. Samples are read up to the known
   * parts.
   */
  readonly unknownBits: bigint;

  constructor(attr: PerfEventAttr) {
    const bits = Number(attr.sampleType & 0xffff_ffffn) | 0;
    this.sampleType = bits & ALL_KNOWN_BITS;
    this.unknownBits = attr.sampleType & ~BigInt(ALL_KNOWN_BITS);
    this.readFormat = Number(attr.readFormat & 0xffff_ffffn);
    this.branchHasHwIndex = (attr.branchSampleType & BigInt(PERF_SAMPLE_BRANCH_HW_INDEX)) !== 0n;
    this.branchHasCounters = (attr.branchSampleType & BigInt(PERF_SAMPLE_BRANCH_COUNTERS)) !== 0n;
    this.shape = this.sampleType * 4 + (this.branchHasHwIndex ? 2 : 0) + (this.branchHasCounters ? 1 : 0);
    this.userRegisterCount = bitCount(attr.sampleRegsUser);
    this.interruptRegisterCount = bitCount(attr.sampleRegsIntr);
    this.sampleIdAll = attr.flags.sampleIdAll !== 0;

    const has = (bit: number) => (bits & bit) !== 0;
    const identifier = has(PERF_SAMPLE_IDENTIFIER) ? 8 : 0;
    const words = (...before: number[]) => before.reduce((sum, bit) => sum + (has(bit) ? 8 : 0), 0);
    const start = 8 + identifier;
    this.timeFromStart = has(PERF_SAMPLE_TIME) ? start + words(PERF_SAMPLE_IP, PERF_SAMPLE_TID) : -1;
    this.idFromStart = has(PERF_SAMPLE_IDENTIFIER)
      ? 8
      : has(PERF_SAMPLE_ID)
        ? start + words(PERF_SAMPLE_IP, PERF_SAMPLE_TID, PERF_SAMPLE_TIME, PERF_SAMPLE_ADDR)
        : -1;
    this.chainFromStart =
      has(PERF_SAMPLE_CALLCHAIN) && !has(PERF_SAMPLE_READ)
        ? start +
          words(
            PERF_SAMPLE_IP,
            PERF_SAMPLE_TID,
            PERF_SAMPLE_TIME,
            PERF_SAMPLE_ADDR,
            PERF_SAMPLE_ID,
            PERF_SAMPLE_STREAM_ID,
            PERF_SAMPLE_CPU,
            PERF_SAMPLE_PERIOD,
          )
        : -1;

    const afterTime = words(PERF_SAMPLE_ID, PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_CPU) + identifier;
    const all = this.sampleIdAll;
    this.trailerSize = all ? words(PERF_SAMPLE_TID, PERF_SAMPLE_TIME) + afterTime : 0;
    this.timeFromEnd = all && has(PERF_SAMPLE_TIME) ? afterTime + 8 : -1;
    this.idFromEnd = !all ? -1 : identifier > 0 ? 8 : has(PERF_SAMPLE_ID) ? afterTime : -1;
  }
}

function bitCount(mask: bigint): number {
  let count = 0;
  for (let rest = BigInt.asUintN(64, mask); rest !== 0n; rest &= rest - 1n) count++;
  return count;
}
