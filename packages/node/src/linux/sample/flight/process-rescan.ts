import { PERF_RECORD_EXIT } from '@counterpoint/core/abi';
import type { ExitRecord, PerfRecord } from '@counterpoint/core/records';
import { childrenOf, listProcesses, listThreads, synthesizeProcess } from '../../kernel/target/index.ts';
import type { Scope } from '../record/index.ts';

/** Threads by process. */
export type KnownTasks = ReadonlyMap<number, ReadonlySet<number>>;

export interface RescanRequest {
  scope: Scope;
  /** The processes that are watched from the beginning. */
  pids: readonly number[];
  /** Children are watched, too. */
  inherit: boolean;
  /** All that the records so far tell of. */
  known: KnownTasks;
}

/**
 * Who runs what where now, as records: for where the kernel had no room for its own. What is known and has
 * ended comes as exits.
 */
export function rescanProcesses({ scope, pids, inherit, known }: RescanRequest): PerfRecord[] {
  const records: PerfRecord[] = [];
  const running = new Map<number, ReadonlySet<number>>();
  const first = scope.kind === 'cpus' ? listProcesses() : [...pids, ...known.keys()];
  const waiting = new Set(first);
  // A set gives what is added to it meanwhile, too.
  for (const pid of waiting) {
    const threads = listThreads(pid);
    if (threads.length === 0) continue;
    running.set(pid, new Set(threads));
    if (inherit && scope.kind !== 'cpus') for (const child of childrenOf(pid)) waiting.add(child);
  }
  for (const [pid, threads] of known)
    for (const tid of threads) if (running.get(pid)?.has(tid) !== true) records.push(exitRecord(pid, tid));
  for (const pid of running.keys()) synthesizeProcess(pid, (record) => records.push(record));
  return records;
}

function exitRecord(pid: number, tid: number): ExitRecord {
  const base = { type: PERF_RECORD_EXIT, misc: 0, tail: new Uint8Array(0), sampleId: {} } as const;
  return { ...base, pid, ppid: pid, tid, ptid: tid, time: 0n };
}
