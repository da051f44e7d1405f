import { hiOf, loOf, toSignedFloat } from '../../base/index.ts';
import {
  PERF_RECORD_COMM,
  PERF_RECORD_FORK,
  PERF_RECORD_KSYMBOL,
  PERF_RECORD_MISC_COMM_EXEC,
  PERF_RECORD_MISC_CPUMODE_MASK,
  PERF_RECORD_MISC_FORK_EXEC,
  PERF_RECORD_MISC_GUEST_KERNEL,
  PERF_RECORD_MISC_KERNEL,
  PERF_RECORD_MISC_MMAP_BUILD_ID,
  PERF_RECORD_MISC_MMAP_DATA,
  PERF_RECORD_MMAP,
  PERF_RECORD_MMAP2,
  PERF_RECORD_NAMESPACES,
} from '../../format/abi/index.ts';
import type {
  CommRecord,
  ForkRecord,
  KsymbolRecord,
  Mmap2Record,
  MmapRecord,
  PerfRecord,
} from '../../format/records/index.ts';
import { AddressSpace, type Mapping } from './address-space.ts';

/** Types that `Machine.record` takes. */
export const SIDEBAND_TYPES: ReadonlySet<number> = new Set([
  PERF_RECORD_MMAP,
  PERF_RECORD_MMAP2,
  PERF_RECORD_COMM,
  PERF_RECORD_FORK,
  PERF_RECORD_KSYMBOL,
  PERF_RECORD_NAMESPACES,
]);

const PROT_EXEC = 4;
const KSYMBOL_FLAG_UNREGISTER = 1;
/** Most threads kept: a file that names more is damage or lasted for weeks. */
const MAX_THREADS = 4_000_000;

/** A process, and what is mapped into it. */
export class Process {
  /** Its number. */
  readonly pid: number;
  /** What is mapped into it. */
  readonly maps = new AddressSpace();
  /**
   * The program before the last exec, until code of the new one was seen to run: samples inside execve still
   * have the call chain of who called it.
   */
  formerMaps: AddressSpace | null = null;
  /** An exec was seen and nothing has been mapped since: what is mapped now is the old program's. */
  isBetweenPrograms = false;

  /** A process without mappings. */
  constructor(pid: number) {
    this.pid = pid;
  }

  /** The new program's first mapping comes. */
  beginProgram(): void {
    this.isBetweenPrograms = false;
    this.formerMaps = new AddressSpace();
    this.formerMaps.copyFrom(this.maps);
    this.maps.clear();
  }

  /** A sample of user code shows that execve is over. */
  leaveExec(): void {
    this.formerMaps = null;
    // Addresses that were found in the old program are not any more.
    this.maps.generation++;
  }
}

/** A thread of a process. */
export class Thread {
  /** Its number. */
  readonly tid: number;
  /** Its process. */
  process: Process;
  /** The name at the moment; `:TID` until a record gives one. */
  comm: string;
  /** Whether its name is known. */
  hasComm = false;
  /**
   * For the user of the machine to keep what it made of the thread; -1 at first and after a change of name.
   */
  profileRow = -1;
  /** Index of its name in the profile's strings; -1: not there yet. */
  profileComm = -1;

  /** A thread without a name. */
  constructor(tid: number, process: Process) {
    this.tid = tid;
    this.process = process;
    this.comm = `:${tid}`;
  }
}

/** The state of a machine at the moment of the record that was handed in last. */
export class Machine {
  /** The host's kernel and its modules. */
  readonly kernel = new AddressSpace();
  /** A guest's kernel and its modules. */
  readonly guestKernel = new AddressSpace();
  /**
   * The kernel's own image: reference symbol and its address at recording time, from the first kernel map.
   */
  kernelReference: { symbol: string; address: number } | null = null;
  readonly #processes = new Map<number, Process>();
  readonly #threads = new Map<number, Thread>();
  #lastThread: Thread | null = null;

  /** The process with that number. It is made where it is not known yet. */
  process(pid: number): Process {
    let process = this.#processes.get(pid);
    if (process === undefined) {
      process = new Process(pid);
      if (this.#processes.size < MAX_THREADS) this.#processes.set(pid, process);
    }
    return process;
  }

  /**
   * The thread, made where it is new. Thread ids are reused: a thread that shows up in
   * another process is a new one.
   */
  thread(pid: number, tid: number): Thread {
    const last = this.#lastThread;
    if (last !== null && last.tid === tid && last.process.pid === pid) return last;
    let thread = this.#threads.get(tid);
    if (thread === undefined || (thread.process.pid !== pid && pid !== -1)) {
      thread = new Thread(tid, this.process(pid));
      // A thread of a named process starts with its leader's name. -1 is no thread: it has ended, or is not
      // in the namespace of the recorder.
      const leader = tid === -1 ? undefined : this.#threads.get(pid);
      if (leader?.hasComm === true && leader.process.pid === pid) thread.comm = leader.comm;
      // Also where a task that ends has lost its tid and still has its pid: perf looks
      // threads up by tid alone.
      if (tid === 0) thread.comm = 'swapper';
      thread.hasComm = tid === 0;
      if (this.#threads.size < MAX_THREADS) this.#threads.set(tid, thread);
    }
    this.#lastThread = thread;
    return thread;
  }

  /** The thread with this id at the moment, null where no record told of it. */
  findThread(tid: number): Thread | null {
    return this.#threads.get(tid) ?? null;
  }

  /** A process is gone, with its threads: nothing will be asked of it any more. */
  forget(pid: number): void {
    this.#processes.delete(pid);
    this.#lastThread = null;
    for (const thread of this.#threads.values())
      if (thread.process.pid === pid) this.#threads.delete(thread.tid);
  }

  /** Take a side-band record (one of `SIDEBAND_TYPES`; others are ignored). */
  record(record: PerfRecord): void {
    switch (record.type) {
      case PERF_RECORD_MMAP:
      case PERF_RECORD_MMAP2:
        this.#mmap(record as MmapRecord | Mmap2Record);
        break;
      case PERF_RECORD_COMM:
        this.#comm(record as CommRecord);
        break;
      case PERF_RECORD_FORK:
        this.#fork(record as ForkRecord);
        break;
      case PERF_RECORD_KSYMBOL:
        this.#ksymbol(record as KsymbolRecord);
        break;
    }
  }

  #mmap(record: MmapRecord | Mmap2Record): void {
    const start = signedAddress(record.start);
    const end = start + Number(record.length);
    const mode = record.misc & PERF_RECORD_MISC_CPUMODE_MASK;
    const mapping = {
      start,
      end,
      pageOffset: signedAddress(record.pageOffset),
      path: record.path,
      buildId: buildIdOf(record),
      pid: record.pid,
      symbol: null,
      binary: -1,
    };
    if (mode === PERF_RECORD_MISC_KERNEL || mode === PERF_RECORD_MISC_GUEST_KERNEL) {
      const space = mode === PERF_RECORD_MISC_KERNEL ? this.kernel : this.guestKernel;
      this.#kernelMap(mapping, space, mode === PERF_RECORD_MISC_KERNEL);
      return;
    }
    // Data mappings hold no code; they are recorded for data profiles only.
    const isData =
      record.type === PERF_RECORD_MMAP2 && ((record as Mmap2Record).protection & PROT_EXEC) === 0;
    if (isData || (record.misc & PERF_RECORD_MISC_MMAP_DATA) !== 0) return;
    this.thread(record.pid, record.tid);
    const process = this.process(record.pid);
    if (process.isBetweenPrograms) process.beginProgram();
    process.maps.add(mapping);
  }

  /**
   * `[kernel.kallsyms]_text` names the kernel image and the symbol whose address stands in its page offset.
   */
  #kernelMap(mapping: Mapping, space: AddressSpace, isHost: boolean): void {
    const image = /^(\[(?:kernel|guest\.kernel)\.kallsyms(?:\.\d+)?\])(.*)$/.exec(mapping.path);
    if (image !== null) {
      mapping.path = image[1]!;
      if (isHost && this.kernelReference === null && image[2] !== '') {
        this.kernelReference = { symbol: image[2]!, address: mapping.pageOffset };
      }
    }
    space.add(mapping);
  }

  #comm(record: CommRecord): void {
    const thread = this.thread(record.pid, record.tid);
    thread.comm = record.comm;
    thread.hasComm = true;
    thread.profileRow = -1;
    // exec replaces the program, but samples on the way still show the old one's call chain.
    if ((record.misc & PERF_RECORD_MISC_COMM_EXEC) !== 0) thread.process.isBetweenPrograms = true;
  }

  #fork(record: ForkRecord): void {
    const parent = this.thread(record.ppid, record.ptid);
    this.#threads.delete(record.tid);
    this.#lastThread = null;
    if (record.pid !== record.ppid) {
      // The pid may have been used before: its old mappings are gone.
      const child = new Process(record.pid);
      // Synthesised forks (FORK_EXEC) are followed by the child's own mappings.
      if ((record.misc & PERF_RECORD_MISC_FORK_EXEC) === 0) child.maps.copyFrom(parent.process.maps);
      this.#processes.set(record.pid, child);
    }
    const thread = this.thread(record.pid, record.tid);
    if (parent.hasComm) {
      thread.comm = parent.comm;
      thread.hasComm = true;
    }
  }

  #ksymbol(record: KsymbolRecord): void {
    const start = signedAddress(record.address);
    if ((record.flags & KSYMBOL_FLAG_UNREGISTER) !== 0) {
      this.kernel.remove(start);
      return;
    }
    this.kernel.add({
      start,
      end: start + record.length,
      pageOffset: 0,
      path: record.symbol,
      buildId: '',
      pid: -1,
      symbol: record.symbol,
      binary: -1,
    });
  }
}

function signedAddress(value: bigint): number {
  return toSignedFloat(loOf(value), hiOf(value));
}

function buildIdOf(record: MmapRecord | Mmap2Record): string {
  const { buildId, buildIdSize } = record as Mmap2Record;
  if ((record.misc & PERF_RECORD_MISC_MMAP_BUILD_ID) === 0 || buildId === undefined) return '';
  return Array.from(buildId.subarray(0, Math.min(buildIdSize ?? 20, 20)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('');
}
