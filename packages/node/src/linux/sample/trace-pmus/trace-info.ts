import { PERF_RECORD_AUXTRACE_INFO } from '@counterpoint/core/abi';
import type { AuxtraceInfoRecord } from '@counterpoint/core/records';

/** Kinds of traces, by their number in AUXTRACE_INFO (`enum auxtrace_type` of perf). */
export const AUXTRACE_INTEL_BTS = 2;
export const AUXTRACE_CS_ETM = 3;
export const AUXTRACE_ARM_SPE = 4;

/** AUXTRACE_INFO with the words of a kind of trace, in perf's order. */
export function traceInfoRecord(auxtraceType: number, words: readonly bigint[]): AuxtraceInfoRecord {
  const data = new Uint8Array(8 * words.length);
  const view = new DataView(data.buffer);
  for (const [index, word] of words.entries()) view.setBigUint64(8 * index, BigInt.asUintN(64, word), true);
  return {
    type: PERF_RECORD_AUXTRACE_INFO,
    misc: 0,
    auxtraceType,
    reserved: 0,
    data,
    tail: new Uint8Array(),
  };
}
