import { type Damage, toHex } from '../../base/index.ts';
import { Machine, type Mapping, SIDEBAND_TYPES } from '../../code/machine/index.ts';
import { checkRecordSource, type RecordSource, type ScanOptions } from '../../file-formats/perfdata/index.ts';
import {
  PERF_RECORD_COMM,
  PERF_RECORD_EXIT,
  PERF_RECORD_FORK,
  PERF_RECORD_MMAP2,
  PERF_RECORD_READ,
} from '../../format/abi/index.ts';
import {
  type CommRecord,
  decodeReadValues,
  decodeRecord,
  type ExitRecord,
  type ForkRecord,
  type Mmap2Record,
  type ReadRecord,
} from '../../format/records/index.ts';
import { protectionText } from '../record-text/words.ts';

/** The tasks of a recording, what was mapped into them, and what they counted. */
export interface TasksAnswer {
  /** Tells this answer from others. */
  type: 'tasks';
  /** Version of the form of this answer. */
  version: 1;
  /** In the order in which the recording names them first. */
  tasks: {
    /** Its process. */
    pid: number;
    /** Its number. */
    tid: number;
    /** The process that began it; -1: it was there before, or no record says. */
    ppid: number;
    /** Its last name. */
    comm: string;
    /** Executable memory of its process at the end, by address. */
    maps: {
      /** First address, in hex. */
      start: string;
      /** The first address behind it, in hex. */
      end: string;
      /** `r-xp`, as in /proc/PID/maps; null where the recording does not say. */
      protection: string | null;
      /** Offset in the file, in hex. */
      fileOffset: string;
      /** Number of the file, decimal; `0` where the recording does not say. */
      inode: string;
      /** The file, or a name such as `[vdso]`. */
      path: string;
    }[];
  }[];
  /**
   * Counts of tasks that ended, of recordings that have them (`record -s`): a number for each event, decimal.
   */
  counts: { pid: number; tid: number; values: string[] }[];
  /** Names of the events of `counts`, in their order. */
  events: string[];
  /** What was wrong in the recording. */
  damage: Damage[];
}

type RecordedTask = TasksAnswer['tasks'][number];
type TaskMapping = RecordedTask['maps'][number];

/** Most tasks that are kept: a file that names more is damage, or of weeks. */
const MAX_TASKS = 4_000_000;

interface Task {
  pid: number;
  tid: number;
  ppid: number;
  comm: string;
  /** As the maps were when it ended. */
  maps: readonly Mapping[] | null;
}

/** perf's `--tasks`, `--mmaps` and `-T`: read once, memory by the number of tasks. */
export async function collectTasks(source: RecordSource, options: ScanOptions = {}): Promise<TasksAnswer> {
  checkRecordSource('collectTasks()', source);
  const { reader } = source;
  const collector = new TaskCollector();
  const counts = new Map<string, { pid: number; tid: number; values: bigint[] }>();
  const le = reader.littleEndian;
  await source.scan(
    {
      record(view, start, end, type) {
        const isTask = type === PERF_RECORD_EXIT || type === PERF_RECORD_READ || SIDEBAND_TYPES.has(type);
        if (!isTask) return;
        const event = reader.events.eventOf(view, start, end, type, le);
        const layout = (event ?? reader.events.events[0])?.layout ?? null;
        const record = decodeRecord(view, start, end - start, layout, le);
        if ('raw' in record || 'sample' in record) return;
        if (record.type !== PERF_RECORD_READ) return collector.record(record);
        if (event === null) return;
        const { pid, tid, values } = record as ReadRecord;
        const bytes = new DataView(values.buffer, values.byteOffset, values.byteLength);
        const read = decodeReadValues(bytes, 0, values.byteLength, event.layout.readFormat, le);
        const key = `${pid} ${tid}`;
        let row = counts.get(key);
        if (row === undefined) {
          if (counts.size >= MAX_TASKS) return;
          counts.set(key, (row = { pid, tid, values: [] }));
        }
        row.values[event.index] = (row.values[event.index] ?? 0n) + (read?.values[0]?.value ?? 0n);
      },
    },
    options,
  );
  const { events } = reader.events;
  return {
    type: 'tasks',
    version: 1,
    tasks: collector.list(),
    counts: [...counts.values()].map(({ pid, tid, values }) => ({
      pid,
      tid,
      values: events.map((_, index) => String(values[index] ?? 0n)),
    })),
    events: events.map(({ name }) => name),
    damage: reader.damage.list(),
  };
}

class TaskCollector {
  readonly #machine = new Machine();
  /** By tid: the latest of that number. */
  readonly #tasks = new Map<number, Task>();
  /** Those whose number was given to another task. */
  readonly #former: Task[] = [];
  /** By path and start: what mappings of the machine do not keep. */
  readonly #files = new Map<string, { protection: string; inode: bigint }>();

  constructor() {
    this.#tasks.set(0, { pid: 0, tid: 0, ppid: -1, comm: 'swapper', maps: null });
  }

  record(record: Parameters<Machine['record']>[0]): void {
    this.#machine.record(record);
    if (record.type === PERF_RECORD_EXIT) this.#exit(record as ExitRecord);
    else if (record.type === PERF_RECORD_FORK) this.#fork(record as ForkRecord);
    else if (record.type === PERF_RECORD_COMM) this.#comm(record as CommRecord);
    else if (record.type === PERF_RECORD_MMAP2) this.#mmap(record as Mmap2Record);
  }

  #fork({ pid, tid, ppid }: ForkRecord): void {
    const before = this.#tasks.get(tid);
    if (before !== undefined && before.pid >= 0) this.#former.push(before);
    this.#tasks.delete(tid);
    const task = this.#task(pid, tid);
    task.ppid = ppid;
    task.comm = this.#machine.thread(pid, tid).comm;
  }

  #comm({ pid, tid, comm }: CommRecord): void {
    this.#task(pid, tid).comm = comm;
  }

  #mmap(record: Mmap2Record): void {
    this.#task(record.pid, record.pid);
    if (this.#files.size >= MAX_TASKS) return;
    this.#files.set(`${record.pid} ${record.path} ${record.pageOffset}`, {
      protection: protectionText(record),
      inode: record.inode ?? 0n,
    });
  }

  #exit({ pid, tid }: ExitRecord): void {
    const task = this.#tasks.get(tid);
    if (task?.pid === pid && pid === tid) task.maps = [...this.#machine.process(pid).maps.all()];
  }

  #task(pid: number, tid: number): Task {
    let task = this.#tasks.get(tid);
    if (task === undefined || task.pid !== pid) {
      const thread = this.#machine.thread(pid, tid);
      task = { pid, tid, ppid: -1, comm: thread.comm, maps: null };
      if (this.#tasks.size + this.#former.length < MAX_TASKS) this.#tasks.set(tid, task);
    }
    return task;
  }

  list(): RecordedTask[] {
    const all = [...this.#former, ...this.#tasks.values()].filter(({ pid }) => pid >= 0);
    return all.map(({ pid, tid, ppid, comm, maps }) => {
      const own = maps ?? this.#tasks.get(pid)?.maps ?? this.#machine.process(pid).maps.all();
      return { pid, tid, ppid, comm, maps: own.map((mapping) => this.#mapping(pid, mapping)) };
    });
  }

  #mapping(pid: number, { start, end, pageOffset, path, pid: owner }: Mapping): TaskMapping {
    const facts = [owner, pid]
      .map((one) => this.#files.get(`${one} ${path} ${pageOffset}`))
      .find((found) => found !== undefined);
    return {
      start: hex(start),
      end: hex(end),
      protection: facts?.protection ?? null,
      fileOffset: hex(pageOffset),
      inode: String(facts?.inode ?? 0n),
      path,
    };
  }
}

function hex(address: number): string {
  const unsigned = BigInt.asUintN(64, BigInt(address));
  return toHex(Number(unsigned & 0xffff_ffffn), Number(unsigned >> 32n));
}
