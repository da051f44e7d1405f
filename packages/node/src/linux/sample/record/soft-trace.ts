/** Traces that the tracer makes, as a recording of Intel PT has them. */
import { PERF_RECORD_AUXTRACE } from '@counterpoint/core/abi';
import { encodeRecords } from '@counterpoint/core/perfdata';
import type { PerfRecord } from '@counterpoint/core/records';
import { encodePtInfo, PT_CONFIG_NORETCOMP, PT_CONFIG_TSC } from '@counterpoint/trace/intel-pt';
import { SOFT_PT_TYPE, type SoftTracePiece } from '../../stepping/softpmu/index.ts';

const NO_TAIL = new Uint8Array();
/** The data of AUXTRACE is whole words; zeros are PAD packets. */
const WORD_BYTES = 8;
/** A TSC of ours is a time already: ticks are nanoseconds of CLOCK_MONOTONIC. */
const NANOSECONDS = { timeShift: 0, timeMult: 1, timeZero: 0n };

/** The record that tells a reader what the packets mean. It comes before the first piece. */
export function softTraceInfo(): Uint8Array<ArrayBuffer> {
  const info = encodePtInfo({
    pmuType: SOFT_PT_TYPE,
    clock: NANOSECONDS,
    tscBit: PT_CONFIG_TSC,
    noRetCompBit: PT_CONFIG_NORETCOMP,
    mtcBit: 0n,
    mtcFreqBits: 0n,
    cycBit: 0n,
    schedSwitch: 0,
    isSnapshot: false,
    isPerCpu: false,
    tscCtcNumerator: 0,
    tscCtcDenominator: 0,
    maxNonTurboRatio: 0,
    filter: '',
    hasEventTrace: false,
  });
  return encodeRecords([info], null);
}

/** Numbers the traces of threads, and says of each piece where in its trace it is. */
export class SoftTraces {
  readonly #traces = new Map<number, { index: number; offset: number }>();

  /** AUXTRACE, and the packets behind it. */
  encode({ tid, tsc, bytes }: SoftTracePiece): Uint8Array<ArrayBuffer> {
    let trace = this.#traces.get(tid);
    if (trace === undefined) {
      trace = { index: this.#traces.size, offset: 0 };
      this.#traces.set(tid, trace);
    }
    const padded = new Uint8Array(Math.ceil(bytes.length / WORD_BYTES) * WORD_BYTES);
    padded.set(bytes);
    const header: PerfRecord = {
      type: PERF_RECORD_AUXTRACE,
      misc: 0,
      dataSize: BigInt(padded.length),
      auxOffset: BigInt(trace.offset),
      // perf 6.1 ends at a reference of 0.
      reference: BigInt(Math.max(1, tsc)),
      index: trace.index,
      tid,
      cpu: -1,
      reserved: 0,
      tail: NO_TAIL,
    };
    trace.offset += padded.length;
    return encodeRecords([header, padded], null);
  }
}
