import {
  PERF_RECORD_COMM,
  PERF_RECORD_EXIT,
  PERF_RECORD_LOST,
  PERF_RECORD_MISC_COMM_EXEC,
  PERF_RECORD_MMAP2,
} from '@counterpoint/core/abi';
import type { LossFacts } from '@counterpoint/core/loss';
import type { CommRecord, ExitRecord, Mmap2Record, PerfRecord } from '@counterpoint/core/records';

/** Types of records that tell of it. */
export const TAKEN_TYPES: readonly number[] = [
  PERF_RECORD_COMM,
  PERF_RECORD_EXIT,
  PERF_RECORD_LOST,
  PERF_RECORD_MMAP2,
];

/** A process that goes on without events. */
export interface TakenProcess {
  pid: number;
  /** Name of the program that it began. */
  name: string;
  atNs: bigint;
}

interface Candidate extends TakenProcess {
  untilNs: bigint;
  /** The pass over the rings in which it was seen. */
  pass: number;
}

/** From an exec to its end of the events, where records were lost. */
const MOST_EXEC_NS = 100_000n;
/** As many are remembered by name; the ledger has them all. */
const MOST_EXECS = 65_536;

/**
 * Finds processes from which the kernel took the events. It does so where an exec gives a process
 * rights (set-user-id, file capabilities) or runs a file that it may not read (`begin_new_exec` in
 * fs/exec.c calls `perf_event_exit_task`), whoever opened the events. The records show it, because the
 * program is mapped only later:
 *
 *   exec of a program:      COMM exec ── MMAP2 (the program) ── MMAP2 ... ── EXIT (its end)
 *   exec with more rights:  COMM exec ── EXIT, and the process lives
 *
 * A program that ran and ended shows the same if the records of its maps were lost. It takes longer: the
 * kernel takes events away some 12 µs after the record of the exec, and the shortest program runs for 300.
 *
 * Rings of several CPUs are read one after the other, so a record may come late. One that is found is told
 * when the second pass after it begins, or at the end.
 */
export class TakenEvents {
  readonly #execs = new Map<number, TakenProcess>();
  readonly #lastMapNs = new Map<number, bigint>();
  readonly #candidates = new Map<number, Candidate>();
  readonly #tell: (taken: TakenProcess) => void;
  #pass = 0;
  /** Records were lost at some time before this. */
  #lostBeforeNs = -1n;

  constructor(tell: (taken: TakenProcess) => void) {
    this.#tell = tell;
  }

  /** Any record with a time; those of other types are ignored. */
  add(record: PerfRecord): void {
    const timeNs = record.sampleId?.time;
    if (timeNs === undefined) return;
    if (record.type === PERF_RECORD_COMM) this.#addComm(record as CommRecord, timeNs);
    else if (record.type === PERF_RECORD_EXIT) this.#addExit(record as ExitRecord, timeNs);
    else if (record.type === PERF_RECORD_LOST) this.#addLoss(timeNs);
    else if (record.type === PERF_RECORD_MMAP2) this.#addMap((record as Mmap2Record).pid, timeNs);
  }

  #addComm({ misc, pid, comm }: CommRecord, atNs: bigint): void {
    if ((misc & PERF_RECORD_MISC_COMM_EXEC) === 0 || this.#execs.size >= MOST_EXECS) return;
    if ((this.#lastMapNs.get(pid) ?? -1n) < atNs) this.#execs.set(pid, { pid, name: comm, atNs });
  }

  #addMap(pid: number, timeNs: bigint): void {
    this.#lastMapNs.set(pid, timeNs);
    if ((this.#execs.get(pid)?.atNs ?? timeNs) < timeNs) this.#execs.delete(pid);
    const candidate = this.#candidates.get(pid);
    if (candidate !== undefined && candidate.atNs < timeNs && timeNs <= candidate.untilNs)
      this.#candidates.delete(pid);
  }

  #addLoss(timeNs: bigint): void {
    if (timeNs > this.#lostBeforeNs) this.#lostBeforeNs = timeNs;
  }

  #addExit({ pid, tid }: ExitRecord, untilNs: bigint): void {
    // An exec makes the thread the leader.
    if (tid !== pid) return;
    const exec = this.#execs.get(pid);
    this.#execs.delete(pid);
    this.#lastMapNs.delete(pid);
    if (exec !== undefined && exec.atNs <= untilNs)
      this.#candidates.set(pid, { ...exec, untilNs, pass: this.#pass });
  }

  /** A pass over the rings begins. */
  beginPass(): void {
    this.#pass++;
    this.#settle(this.#pass - 2);
  }

  /** Nothing comes any more. */
  finish(): void {
    this.#settle(Number.POSITIVE_INFINITY);
  }

  #settle(upToPass: number): void {
    for (const [pid, { pass, name, atNs, untilNs }] of this.#candidates) {
      if (pass > upToPass) continue;
      this.#candidates.delete(pid);
      // The map of its program may be among what was lost.
      if (this.#lostBeforeNs >= atNs && untilNs - atNs > MOST_EXEC_NS) continue;
      this.#tell({ pid, name, atNs });
    }
  }
}

/** Its entry in the ledger. */
export function takenLoss({ pid, atNs }: TakenProcess, exact: boolean): LossFacts {
  return { kind: 'events-taken', tid: pid, fromNs: atNs, count: 1, exact };
}
