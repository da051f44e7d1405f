import {
  PERF_RECORD_COMM,
  PERF_RECORD_EXIT,
  PERF_RECORD_FORK,
  PERF_RECORD_KSYMBOL,
  PERF_RECORD_MISC_COMM_EXEC,
  PERF_RECORD_MISC_FORK_EXEC,
  PERF_RECORD_MMAP,
  PERF_RECORD_MMAP2,
} from '@counterpoint/core/abi';
import type {
  CommRecord,
  ExitRecord,
  ForkRecord,
  KsymbolRecord,
  Mmap2Record,
  MmapRecord,
  PerfRecord,
} from '@counterpoint/core/records';
import { commRecord } from '../../kernel/target/index.ts';

type MapRecord = MmapRecord | Mmap2Record;

interface ProcessFacts {
  /** Names of its threads. */
  readonly threads: Map<number, string>;
  /** Oldest first. Shared with children until one of them maps something. */
  maps: readonly MapRecord[];
}

/**
 * Who ran what where at one moment: what records of processes and maps come to. A history that begins then
 * needs no older record. What has ended is forgotten, so it is as large as what runs.
 */
export class ProcessState {
  readonly #processes = new Map<number, ProcessFacts>();
  /** The kernel's own code that comes and goes (BPF programs), by address. */
  readonly #kernelSymbols = new Map<bigint, KsymbolRecord>();

  readonly #onEnd: (pid: number) => void;

  /** `onEnd`: a process has ended, with all its threads. */
  constructor(onEnd: (pid: number) => void = () => {}) {
    this.#onEnd = onEnd;
  }

  get processCount(): number {
    return this.#processes.size;
  }

  /** Threads by process. */
  tasks(): Map<number, Set<number>> {
    return new Map([...this.#processes].map(([pid, { threads }]) => [pid, new Set(threads.keys())]));
  }

  /** Of a thread; null: nobody told of it. */
  nameOf(pid: number, tid: number): string | null {
    return this.#processes.get(pid)?.threads.get(tid) ?? null;
  }

  apply(record: PerfRecord): void {
    switch (record.type) {
      case PERF_RECORD_MMAP:
      case PERF_RECORD_MMAP2:
        this.#map(record as MapRecord);
        break;
      case PERF_RECORD_COMM:
        this.#name(record as CommRecord);
        break;
      case PERF_RECORD_FORK:
        this.#fork(record as ForkRecord);
        break;
      case PERF_RECORD_EXIT:
        this.#exit(record as ExitRecord);
        break;
      case PERF_RECORD_KSYMBOL:
        this.#kernelSymbol(record as KsymbolRecord);
        break;
    }
  }

  #process(pid: number): ProcessFacts {
    let facts = this.#processes.get(pid);
    if (facts === undefined) {
      facts = { threads: new Map(), maps: [] };
      this.#processes.set(pid, facts);
    }
    return facts;
  }

  #map(record: MapRecord): void {
    const facts = this.#process(record.pid);
    // What it covers is not there any more. Whoever maps and unmaps all day has one
    // map here, not all of them.
    const end = record.start + record.length;
    const isCovered = (one: MapRecord) => one.start >= record.start && one.start + one.length <= end;
    facts.maps = [...facts.maps.filter((one) => !isCovered(one)), record];
  }

  #name({ pid, tid, comm, misc }: CommRecord): void {
    const facts = this.#process(pid);
    if ((misc & PERF_RECORD_MISC_COMM_EXEC) !== 0) {
      // Another program from here on, in one thread.
      facts.maps = [];
      facts.threads.clear();
    }
    facts.threads.set(tid, comm);
  }

  #fork({ pid, tid, ppid, ptid, misc }: ForkRecord): void {
    const parent = this.#processes.get(ppid);
    const name = parent?.threads.get(ptid) ?? parent?.threads.get(ppid);
    // A new process: what is known under its number is of one whose end nobody told.
    if (pid !== ppid && pid === tid) this.#processes.delete(pid);
    const facts = this.#process(pid);
    // The exec flag is for processes that are told of later: their maps follow.
    const isOnlyForked = (misc & PERF_RECORD_MISC_FORK_EXEC) === 0;
    if (pid !== ppid && pid === tid && parent !== undefined && isOnlyForked) facts.maps = parent.maps;
    if (name !== undefined && !facts.threads.has(tid)) facts.threads.set(tid, name);
  }

  #exit({ pid, tid }: ExitRecord): void {
    const facts = this.#processes.get(pid);
    if (facts === undefined) return;
    facts.threads.delete(tid);
    if (facts.threads.size > 0) return;
    this.#processes.delete(pid);
    this.#onEnd(pid);
  }

  #kernelSymbol(record: KsymbolRecord): void {
    if ((record.flags & KSYMBOL_UNREGISTER) !== 0) this.#kernelSymbols.delete(record.address);
    else this.#kernelSymbols.set(record.address, record);
  }

  /** The same as records, which bring a reader to this state. Without times: they stand before everything. */
  *records(): Generator<PerfRecord> {
    for (const [pid, { threads, maps }] of this.#processes) {
      // A child has its parent's maps under its own number.
      for (const [tid, comm] of threads) yield commRecord(pid, tid, comm);
      for (const map of maps)
        yield pid < 0 ? { ...map, sampleId: {} } : { ...map, pid, tid: pid, sampleId: {} };
    }
    for (const symbol of this.#kernelSymbols.values()) yield { ...symbol, sampleId: {} };
  }
}

/** `PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER`. */
const KSYMBOL_UNREGISTER = 1;
