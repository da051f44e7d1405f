import {
  PERF_RECORD_AUXTRACE,
  PERF_RECORD_COMM,
  PERF_RECORD_ITRACE_START,
  PERF_RECORD_MISC_USER,
  PERF_RECORD_MMAP,
  PERF_SAMPLE_CPU,
  PERF_SAMPLE_IDENTIFIER,
  PERF_SAMPLE_IP,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
  PERF_TYPE_SOFTWARE,
} from '@counterpoint/core/abi';
import { makeAttr, type PerfEventAttr, type PerfRecord } from '@counterpoint/core/records';
import { type ClockRates, DEFAULT_RATES, type EncodingOptions } from '../execution/index.ts';
import { type PerfClock, tscToPerfTime } from '../time/perf-clock.ts';
import {
  PT_CONFIG_BRANCH,
  PT_CONFIG_CYC,
  PT_CONFIG_EVENT_TRACE,
  PT_CONFIG_MTC,
  PT_CONFIG_MTC_PERIOD,
  PT_CONFIG_MTC_PERIOD_SHIFT,
  PT_CONFIG_NORETCOMP,
  PT_CONFIG_PT,
  PT_CONFIG_TSC,
} from './pt-config.ts';
import { encodePtInfo } from './pt-info.ts';

/** A file, or part of it, in the memory of a process. */
export interface TracedMapping {
  /** As the recording will name it. */
  path: string;
  /** Virtual address of the first byte. */
  address: bigint;
  /** Of the mapping. */
  sizeBytes: number;
  /** Where in the file it begins, in bytes. */
  fileOffset: number;
}

/** A thread whose trace goes into a recording: the main thread of a process. */
export interface TracedThread {
  /** Of its process, and its own number. */
  pid: number;
  /** Name of the command. */
  comm: string;
  /** The code it ran. */
  mappings: readonly TracedMapping[];
  /** Its Intel PT packets. */
  trace: Uint8Array;
  /** How the trace was encoded. */
  encoding?: EncodingOptions;
  /** It was recorded with event trace. */
  eventTrace?: boolean;
}

/**
 * What a writer of perf.data takes: events with their ids, and records with the trace's bytes between them.
 */
export interface PtRecording {
  /** The events: Intel PT's own, and one for the records of processes. */
  attrs: { attr: PerfEventAttr; ids: bigint[]; name: string }[];
  /** In the order they are written; bytes stand behind the AUXTRACE record that announces them. */
  records: (PerfRecord | Uint8Array)[];
}

/** PMUs get their numbers when the kernel starts; this is one that is often Intel PT's. */
const PMU_TYPE = 8;
const SOFTWARE_DUMMY = 9n;
const PT_ID = 1n;
const SIDEBAND_ID = 2n;
const NO_TAIL = new Uint8Array();
const SHIFT = 30;

/**
 * The trace of one thread as a recording, as `perf record -e intel_pt//u` writes it. Two things perf 6.1
 * does not survive are avoided: AUXTRACE with reference 0 (it crashes), and traces in pieces of 4 MiB (it
 * sees bad packets at their borders).
 */
export function ptRecording(thread: TracedThread): PtRecording {
  const { pid, comm, mappings, trace, encoding = {}, eventTrace = false } = thread;
  const rates: ClockRates = { ...DEFAULT_RATES, ...encoding.rates };
  const { returnCompression = true, mtc = false, cyc = false } = encoding;
  const hasTsc = encoding.tsc === true || mtc || cyc;
  // Nanoseconds for each TSC tick, with 30 bits behind the point.
  const clock: PerfClock = {
    timeShift: SHIFT,
    timeMult: Math.round((2 ** SHIFT * 10) / rates.nomFreq),
    timeZero: 0n,
  };
  const time = tscToPerfTime(clock, BigInt(rates.startTsc)) - 1000n;
  const config =
    PT_CONFIG_PT |
    PT_CONFIG_BRANCH |
    (hasTsc ? PT_CONFIG_TSC : 0n) |
    (mtc ? PT_CONFIG_MTC | (BigInt(rates.mtcFreq) << BigInt(PT_CONFIG_MTC_PERIOD_SHIFT)) : 0n) |
    (cyc ? PT_CONFIG_CYC : 0n) |
    (returnCompression ? 0n : PT_CONFIG_NORETCOMP) |
    (eventTrace ? PT_CONFIG_EVENT_TRACE : 0n);
  const sampleType = BigInt(
    PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
  );
  const common = { samplePeriodOrFreq: 1n, sampleType };
  const flags = { sampleIdAll: 1, excludeKernel: 1, excludeHv: 1, disabled: 1 };
  const sampleId = { pid, tid: pid, time, cpu: 0, id: SIDEBAND_ID };
  // Whole words, with packets that say nothing: PAD.
  const padded = new Uint8Array((trace.length + 7) & ~7);
  padded.set(trace);
  return {
    attrs: [
      { name: 'intel_pt//u', ids: [PT_ID], attr: makeAttr({ ...common, type: PMU_TYPE, config, flags }) },
      {
        name: 'dummy:u',
        ids: [SIDEBAND_ID],
        attr: makeAttr({
          ...common,
          type: PERF_TYPE_SOFTWARE,
          config: SOFTWARE_DUMMY,
          flags: { ...flags, mmap: 1, comm: 1, task: 1 },
        }),
      },
    ],
    records: [
      encodePtInfo({
        pmuType: PMU_TYPE,
        clock,
        tscBit: PT_CONFIG_TSC,
        noRetCompBit: PT_CONFIG_NORETCOMP,
        mtcBit: PT_CONFIG_MTC,
        mtcFreqBits: PT_CONFIG_MTC_PERIOD,
        cycBit: PT_CONFIG_CYC,
        schedSwitch: 0,
        isSnapshot: false,
        isPerCpu: false,
        tscCtcNumerator: rates.cpuid15Ebx,
        tscCtcDenominator: rates.cpuid15Eax,
        maxNonTurboRatio: rates.nomFreq,
        filter: '',
        hasEventTrace: eventTrace,
      }),
      { type: PERF_RECORD_COMM, misc: PERF_RECORD_MISC_USER, pid, tid: pid, comm, sampleId, tail: NO_TAIL },
      ...mappings.map(
        (mapping): PerfRecord => ({
          type: PERF_RECORD_MMAP,
          misc: PERF_RECORD_MISC_USER,
          pid,
          tid: pid,
          start: mapping.address,
          length: BigInt(mapping.sizeBytes),
          pageOffset: BigInt(mapping.fileOffset),
          path: mapping.path,
          sampleId,
          tail: NO_TAIL,
        }),
      ),
      { type: PERF_RECORD_ITRACE_START, misc: 0, pid, tid: pid, sampleId, tail: NO_TAIL },
      {
        type: PERF_RECORD_AUXTRACE,
        misc: 0,
        dataSize: BigInt(padded.length),
        auxOffset: 0n,
        reference: BigInt(rates.startTsc),
        index: 0,
        tid: pid,
        cpu: -1,
        reserved: 0,
        tail: NO_TAIL,
      },
      padded,
    ],
  };
}
