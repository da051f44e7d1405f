import { type RecordOrBytes, writePerfData } from '../file-formats/perfdata/index.ts';
import {
  PERF_RECORD_COMM,
  PERF_RECORD_FINISHED_ROUND,
  PERF_RECORD_MISC_USER,
  PERF_RECORD_MMAP2,
  PERF_RECORD_SAMPLE,
  PERF_SAMPLE_CALLCHAIN,
  PERF_SAMPLE_CPU,
  PERF_SAMPLE_ID,
  PERF_SAMPLE_IDENTIFIER,
  PERF_SAMPLE_IP,
  PERF_SAMPLE_PERIOD,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
  PERF_TYPE_SOFTWARE,
} from '../format/abi/index.ts';
import { makeAttr, type PerfRecord, type SampleRecord } from '../format/records/index.ts';

const NO_TAIL = new Uint8Array();

/** The attr of the recordings made here: everything a profile needs. */
export const ATTR = makeAttr({
  type: PERF_TYPE_SOFTWARE,
  samplePeriodOrFreq: 1000n,
  sampleType: BigInt(
    PERF_SAMPLE_IDENTIFIER |
      PERF_SAMPLE_IP |
      PERF_SAMPLE_TID |
      PERF_SAMPLE_TIME |
      PERF_SAMPLE_ID |
      PERF_SAMPLE_CPU |
      PERF_SAMPLE_PERIOD |
      PERF_SAMPLE_CALLCHAIN,
  ),
  flags: { sampleIdAll: 1, comm: 1, mmap: 1, mmap2: 1 },
});

export interface SampleFacts {
  time: bigint;
  cpu?: number;
  pid?: number;
  tid?: number;
  /** Addresses, innermost first; the first is the ip. */
  chain?: bigint[];
  period?: bigint;
  id?: bigint;
}

/** -512 as an unsigned word: what follows is user code. */
export const CONTEXT_USER = 2n ** 64n - 512n;
/** -128: what follows is kernel code. */
export const CONTEXT_KERNEL = 2n ** 64n - 128n;

export function sample(facts: SampleFacts): SampleRecord {
  const chain = facts.chain ?? [0x1000n];
  const id = facts.id ?? 1n;
  return {
    type: PERF_RECORD_SAMPLE,
    misc: PERF_RECORD_MISC_USER,
    tail: NO_TAIL,
    sample: {
      identifier: id,
      id,
      ip: chain[0]!,
      pid: facts.pid ?? 10,
      tid: facts.tid ?? facts.pid ?? 10,
      time: facts.time,
      cpu: facts.cpu ?? 0,
      period: facts.period ?? 1000n,
      callchain: [CONTEXT_USER, ...chain],
    },
  };
}

export function comm(pid: number, name: string, time = 0n, exec = false): PerfRecord {
  return {
    type: PERF_RECORD_COMM,
    misc: exec ? 1 << 13 : 0,
    pid,
    tid: pid,
    comm: name,
    tail: NO_TAIL,
    sampleId: { pid, tid: pid, time, id: 1n, cpu: 0 },
  };
}

export function mmap2(
  pid: number,
  start: bigint,
  length: bigint,
  path: string,
  time = 0n,
  pageOffset = 0n,
): PerfRecord {
  return {
    type: PERF_RECORD_MMAP2,
    misc: PERF_RECORD_MISC_USER,
    pid,
    tid: pid,
    start,
    length,
    pageOffset,
    major: 8,
    minor: 1,
    inode: 5n,
    inodeGeneration: 0n,
    protection: 5,
    flags: 2,
    path,
    tail: NO_TAIL,
    sampleId: { pid, tid: pid, time, id: 1n, cpu: 0 },
  };
}

export function round(): PerfRecord {
  return { type: PERF_RECORD_FINISHED_ROUND, misc: 0, tail: NO_TAIL };
}

/** One event `cpu-clock` with id 1. */
export function recording(
  records: RecordOrBytes[],
  options: { mode?: 'file' | 'pipe'; littleEndian?: boolean } = {},
  attr = ATTR,
): Uint8Array<ArrayBuffer> {
  return writePerfData({ attrs: [{ attr, ids: [1n], name: 'cpu-clock' }], records, ...options });
}
