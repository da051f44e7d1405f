import {
  PERF_RECORD_COMM,
  PERF_RECORD_EXIT,
  PERF_RECORD_FORK,
  PERF_RECORD_MISC_COMM_EXEC,
  PERF_RECORD_MMAP2,
} from '@counterpoint/core/abi';
import {
  BodyWriter,
  type CommRecord,
  type ExitRecord,
  encodeRecord,
  type ForkRecord,
  type Mmap2Record,
  type PerfRecord,
  type SampleLayout,
} from '@counterpoint/core/records';

interface Task {
  names: Map<number, CommRecord>;
  maps: Mmap2Record[];
  hasEnded: boolean;
}

/** A program that maps without end keeps the latest. */
const MOST_MAPS = 20_000;
const WITHOUT_TIME = { sampleId: {}, tail: new Uint8Array(0) } as const;

/** Records of these types, in the order in which they were made, are what it is told. */
export const TASK_TYPES: readonly number[] = [
  PERF_RECORD_COMM,
  PERF_RECORD_EXIT,
  PERF_RECORD_FORK,
  PERF_RECORD_MMAP2,
];

/**
 * Who runs what by now, as records for the beginning of another file. Processes that have ended since the
 * file before are among them: their samples may still be in the rings.
 */
export class KeptTasks {
  readonly #tasks = new Map<number, Task>();

  add(record: PerfRecord): void {
    if (record.type === PERF_RECORD_COMM) this.#rename(record as CommRecord);
    else if (record.type === PERF_RECORD_FORK) this.#fork(record as ForkRecord);
    else if (record.type === PERF_RECORD_EXIT) this.#end(record as ExitRecord);
    else if (record.type === PERF_RECORD_MMAP2) {
      const map = record as Mmap2Record;
      const { maps } = this.#taskOf(map.pid);
      maps.push({ ...map, ...WITHOUT_TIME });
      if (maps.length > MOST_MAPS) maps.shift();
    }
  }

  #taskOf(pid: number): Task {
    let task = this.#tasks.get(pid);
    if (task === undefined) {
      task = { names: new Map(), maps: [], hasEnded: false };
      this.#tasks.set(pid, task);
    }
    return task;
  }

  #rename(record: CommRecord): void {
    const task = this.#taskOf(record.pid);
    if ((record.misc & PERF_RECORD_MISC_COMM_EXEC) !== 0) {
      task.maps = [];
      task.names.clear();
    }
    task.names.set(record.tid, { ...record, ...WITHOUT_TIME, misc: 0 });
  }

  /** What a new process has of its parent; a new thread only its name. */
  #fork({ pid, tid, ppid, ptid }: ForkRecord): void {
    const parent = this.#tasks.get(ppid);
    const name = parent?.names.get(ptid) ?? parent?.names.get(ppid);
    const isProcess = pid !== ppid;
    const known = this.#tasks.get(pid);
    if (isProcess && known?.hasEnded === true) this.#tasks.delete(pid);
    // What another CPU's ring told already is newer.
    else if (isProcess && known !== undefined) return;
    const task = this.#taskOf(pid);
    if (isProcess) task.maps = (parent?.maps ?? []).map((map) => ({ ...map, pid, tid: pid }));
    if (name !== undefined) task.names.set(tid, { ...name, pid, tid });
  }

  #end({ pid, tid }: ExitRecord): void {
    const task = this.#tasks.get(pid);
    if (task === undefined) return;
    if (tid === pid) task.hasEnded = true;
  }

  /** The records; who has ended is forgotten after it. */
  take(layout: SampleLayout): Uint8Array<ArrayBuffer> {
    const writer = new BodyWriter(true, 4096);
    for (const [pid, { names, maps, hasEnded }] of this.#tasks) {
      for (const record of [...names.values(), ...maps]) encodeRecord(writer, record, layout);
      if (hasEnded) this.#tasks.delete(pid);
    }
    return writer.take();
  }
}
