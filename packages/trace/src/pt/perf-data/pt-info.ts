import { PERF_RECORD_AUXTRACE_INFO } from '@counterpoint/core/abi';
import { FormatError } from '@counterpoint/core/base';
import type { AuxtraceInfoRecord } from '@counterpoint/core/records';
import type { PerfClock } from '../time/perf-clock.ts';

/** `auxtraceType` of Intel PT in AUXTRACE_INFO. */
export const AUXTRACE_INTEL_PT = 1;

/**
 * What perf's AUXTRACE_INFO says about an Intel PT recording: what a decoder needs
 * that the packets do not tell.
 */
export interface PtInfo {
  /** `type` of the attrs of Intel PT's events. */
  pmuType: number;
  /** Null where the kernel does not tie its clock to the TSC. */
  clock: PerfClock | null;
  /**
   * Set in `config`: there are TSC packets. Which bits these are, the PMU's format files of that machine say.
   */
  tscBit: bigint;
  /** Set in `config`: returns are not compressed (DisRETC). */
  noRetCompBit: bigint;
  /** Set in `config`: there are MTC packets. */
  mtcBit: bigint;
  /** The bits of `config` that have `TimeSettings.mtcFreq`. */
  mtcFreqBits: bigint;
  /** Set in `config`: there are CYC packets. */
  cycBit: bigint;
  /** Context switches were recorded: 1 with the tracepoint, 2 with PERF_RECORD_SWITCH, 3 system-wide. */
  schedSwitch: number;
  /** Pieces of the trace may overlap or have gaps: they were taken on a signal. */
  isSnapshot: boolean;
  /** A buffer has the trace of one CPU, all threads mixed; else of one thread. */
  isPerCpu: boolean;
  /** TSC ticks for each of the crystal: CPUID 15H's ebx over eax; 0 where unknown. */
  tscCtcNumerator: number;
  /** CPUID 15H's eax; 0 where unknown. */
  tscCtcDenominator: number;
  /** `TimeSettings.nomFreq`; 0 where unknown. */
  maxNonTurboRatio: number;
  /** Address filters, in the grammar of `perf record --filter`. */
  filter: string;
  /** The processor can tell of events (CFE, EVD); then MODE.Exec has the interrupt flag. */
  hasEventTrace: boolean;
}

/*
 * The words of the record (tools/perf/util/intel-pt.h names them). Older perfs wrote fewer:
 *
 *   0 PMU type    4 has time_zero     8 snapshot           12 TSC:CTC numerator     16 size of the filter's text
 *   1 time_shift  5 TSC bit           9 buffers per CPU    13 denominator           17 the text, padded to whole words
 *   2 time_mult   6 no-return-comp   10 MTC bit            14 CYC bit
 *   3 time_zero   7 sched_switch     11 MTC period bits    15 max non-turbo ratio; behind the text: can do event trace
 */
const FIRST_VERSION_WORDS = 10;
const FIXED_WORDS = 17;

/**
 * The body of AUXTRACE_INFO behind type and padding. Words that are not there are 0. Throws FormatError
 * below the first version's ten.
 */
export function readPtInfo(data: Uint8Array, littleEndian = true): PtInfo {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const count = data.length >>> 3;
  if (count < FIRST_VERSION_WORDS)
    throw new FormatError(
      'ERR_PT_INFO',
      0,
      `${8 * FIRST_VERSION_WORDS} bytes about Intel PT`,
      `${data.length}`,
    );
  const word = (index: number): bigint => (index < count ? view.getBigUint64(8 * index, littleEndian) : 0n);
  const small = (index: number): number => Number(BigInt.asUintN(32, word(index)));
  const text = data.subarray(8 * FIXED_WORDS, 8 * FIXED_WORDS + Math.min(small(16), data.length));
  const textEnd = text.indexOf(0);
  return {
    pmuType: small(0),
    clock: word(4) === 0n ? null : { timeShift: small(1), timeMult: small(2), timeZero: word(3) },
    tscBit: word(5),
    noRetCompBit: word(6),
    schedSwitch: small(7),
    isSnapshot: word(8) !== 0n,
    isPerCpu: word(9) !== 0n,
    mtcBit: word(10),
    mtcFreqBits: word(11),
    tscCtcNumerator: small(12),
    tscCtcDenominator: small(13),
    cycBit: word(14),
    maxNonTurboRatio: small(15),
    filter: new TextDecoder().decode(textEnd === -1 ? text : text.subarray(0, textEnd)),
    hasEventTrace: word(FIXED_WORDS + Math.ceil(small(16) / 8)) !== 0n,
  };
}

/** The record AUXTRACE_INFO of a recording that is written: the inverse of `readPtInfo`. */
export function encodePtInfo(info: PtInfo, littleEndian = true): AuxtraceInfoRecord {
  const filter = new TextEncoder().encode(info.filter);
  // As perf: with the zero at its end, in whole words; none at all for no filter.
  const filterBytes = filter.length === 0 ? 0 : (filter.length + 8) & ~7;
  const data = new Uint8Array(8 * (FIXED_WORDS + 1) + filterBytes);
  const view = new DataView(data.buffer);
  const words = [
    BigInt(info.pmuType),
    BigInt(info.clock?.timeShift ?? 0),
    BigInt(info.clock?.timeMult ?? 0),
    info.clock?.timeZero ?? 0n,
    info.clock === null ? 0n : 1n,
    info.tscBit,
    info.noRetCompBit,
    BigInt(info.schedSwitch),
    info.isSnapshot ? 1n : 0n,
    info.isPerCpu ? 1n : 0n,
    info.mtcBit,
    info.mtcFreqBits,
    BigInt(info.tscCtcNumerator),
    BigInt(info.tscCtcDenominator),
    info.cycBit,
    BigInt(info.maxNonTurboRatio),
    BigInt(filterBytes),
  ];
  for (const [index, value] of words.entries())
    view.setBigUint64(8 * index, BigInt.asUintN(64, value), littleEndian);
  data.set(filter, 8 * FIXED_WORDS);
  view.setBigUint64(8 * FIXED_WORDS + filterBytes, info.hasEventTrace ? 1n : 0n, littleEndian);
  return {
    type: PERF_RECORD_AUXTRACE_INFO,
    misc: 0,
    auxtraceType: AUXTRACE_INTEL_PT,
    reserved: 0,
    data,
    tail: new Uint8Array(),
  };
}
