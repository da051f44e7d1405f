import type { Fd, Mapping, NativeCode } from './handles.ts';

/**
 * The system calls of a recording, each one function, each failing with `SysError`. No policy lives here.
 * Tests put `FakeSys` in the place of `realSys`.
 *
 * Not bound, because Node has them: open, close, write, kill, spawn and wait.
 */
export interface Sys
  extends PerfEventCalls,
    TracefsCalls,
    BpfCalls,
    MemoryCalls,
    EpollCalls,
    LockCalls,
    ThreadCalls,
    SystemCalls {}

export interface PerfEventCalls {
  /** `pid` -1 is everybody, `cpu` -1 is everywhere. PERF_FLAG_FD_CLOEXEC is always set. */
  perfEventOpen(attr: Uint8Array, pid: number, cpu: number, groupFd: Fd | null, flags?: number): Fd;
  enable(fd: Fd, wholeGroup?: boolean): void;
  disable(fd: Fd, wholeGroup?: boolean): void;
  refresh(fd: Fd, overflows: number): void;
  reset(fd: Fd, wholeGroup?: boolean): void;
  setPeriod(fd: Fd, period: bigint): void;
  /** Write into the ring of another event; `null` is its own again. */
  setOutput(fd: Fd, ring: Fd | null): void;
  setFilter(fd: Fd, filter: string): void;
  eventId(fd: Fd): bigint;
  setBpf(fd: Fd, program: Fd): void;
  pauseOutput(fd: Fd, pause: boolean): void;
  /** Ids of the BPF programs on a tracepoint event. */
  queryBpf(fd: Fd, most: number): number[];
  modifyAttributes(fd: Fd, attr: Uint8Array): void;
  /** Send `signal` to the thread `tid`, of this or another process, at each overflow of the event. */
  signalThread(fd: Fd, tid: number, signal: number): void;
}

/**
 * Files of tracefs, by their paths in it; also where it is mounted nowhere, as far as this
 * process has the right to mount it.
 */
export interface TracefsCalls {
  readTracefs(path: string): string;
  /** One command for a file that takes commands, such as `uprobe_events`. */
  appendTracefs(path: string, line: string): void;
}

/** What the kernel numbers, and lists for those who may see it. */
export type BpfObjectKind = 'program' | 'map' | 'link';

/** Numbers of BPF_MAP_CREATE, as the kernel has them. */
export interface BpfMapRequest {
  name: string;
  type: number;
  keySizeBytes: number;
  valueSizeBytes: number;
  maxEntries: number;
  flags: number;
}

/** What BPF_PROG_LOAD is given. */
export interface BpfProgramRequest {
  name: string;
  type: number;
  license: string;
  /** With the descriptors of maps in their places. */
  instructions: Uint8Array;
  /** `expected_attach_type`, 0 for most. */
  attachType: number;
  /** `attach_btf_id`, 0 for most. */
  attachBtfId?: number;
}

/** Where a reading in batches stands. */
export interface BpfBatchPosition {
  /** The kernel's own mark: 4 bytes for hash tables, the size of a key for others. */
  readonly token: Uint8Array;
  isStarted: boolean;
}

export interface BpfCalls {
  bpfMapCreate(request: BpfMapRequest): Fd;
  /**
   * False: there is no such element. Sizes are those of the map; per-CPU values stand one
   * after the other, 8-aligned.
   */
  bpfMapLookup(map: Fd, key: Uint8Array, value: Uint8Array): boolean;
  bpfMapUpdate(map: Fd, key: Uint8Array, value: Uint8Array, flags?: number): void;
  /** False: there was no such element. */
  bpfMapDelete(map: Fd, key: Uint8Array): boolean;
  /** `null` asks for the first key. False: `key` was the last one. */
  bpfMapNextKey(map: Fd, key: Uint8Array | null, next: Uint8Array): boolean;
  /** Up to `count` elements at once, beyond `position`, which moves. */
  bpfMapBatch(
    kind: 'lookup' | 'lookup-and-delete',
    map: Fd,
    position: BpfBatchPosition,
    keys: Uint8Array,
    values: Uint8Array,
    count: number,
  ): { count: number; hasMore: boolean };
  /** The verifier writes its log, NUL-terminated, into `log.buffer`; ENOSPC where it is too short. */
  bpfProgramLoad(request: BpfProgramRequest, log: { level: number; buffer: Uint8Array } | null): Fd;
  /**
   * Attach to a tracepoint without its format; detached with the descriptor. An empty name: where the
   * program says itself (`attachBtfId`).
   */
  bpfRawTracepointOpen(name: string, program: Fd): Fd;
  /** Attach by a link, which is detached with its descriptor. `cookie` is what bpf_get_attach_cookie says. */
  bpfLinkCreate(program: Fd, target: Fd, attachType: number, cookie?: bigint): Fd;
  /** The next id in use; null: no more. */
  bpfNextId(kind: BpfObjectKind, after: number): number | null;
  /** Null: it is gone. */
  bpfOpenById(kind: BpfObjectKind, id: number): Fd | null;
  /** Fill `info` with what the kernel tells of an object. Returns how many bytes it knows of. */
  bpfObjectInfo(fd: Fd, info: Uint8Array): number;
  /** The kernel measures run time and count of every program until this is closed. Linux 5.8. */
  bpfEnableStats(): Fd;
}

export interface MemoryCalls {
  /** Map an event's ring, shared and writable. */
  mmap(fd: Fd, sizeBytes: number): Mapping;
  /** Map only the first page of an event, its counter's state, without a ring. It cannot be written. */
  mapEventPage(fd: Fd): Mapping;
  /** Map the beginning of an ordinary file, shared with all who do. */
  mapFile(fd: Fd, sizeBytes: number, access: 'read' | 'write'): Mapping;
  /** Map a part of a descriptor that has several, each with its own access: the ring buffer of BPF. */
  mapRange(fd: Fd, offsetBytes: number, sizeBytes: number, access: 'read' | 'write'): Mapping;
  /** Memory of our own, at an address that machine code may be given. */
  mapAnonymous(sizeBytes: number): Mapping;
  /** Machine code of this process's architecture, as a function without arguments that gives an int. */
  loadCode(code: Uint8Array): NativeCode;
  /** Where a function of the C library is. */
  symbolAddress(name: string): bigint;
}

export interface ReadyDescriptor {
  number: number;
  /** Nothing will come from it any more. */
  hasHungUp: boolean;
}

export interface EpollCalls {
  epollCreate(): Fd;
  epollAdd(epoll: Fd, fd: Pick<Fd, 'number'>): void;
  epollRemove(epoll: Fd, fd: Fd): void;
  /** What is ready now, up to 64 descriptors. Does not wait. */
  epollPoll(epoll: Fd): ReadyDescriptor[];
  /** Block this thread until `fd` is readable, at most so long. */
  waitReadable(fd: Fd, timeoutMs: number): boolean;
  /** Call back from the event loop whenever `fd` is readable, until closed. */
  watch(fd: Fd, onReadable: () => void): Watch;
}

/** A thread that runs machine code and nothing of JavaScript, and what it takes to talk with it. */
export interface ThreadCalls {
  /** `code` is called with `argument` in a new thread, which no signal reaches. Both must outlive it. */
  startThread(code: NativeCode, argument: bigint): bigint;
  /** Blocks until the thread has ended. Once for each. */
  joinThread(thread: bigint): void;
  /** SCHED_FIFO: nothing with a lower priority runs on a CPU where this thread could. */
  setRealtime(thread: bigint, priority: number): void;
  /** A counter that is readable while it is not 0; reading resets it. Does not block. */
  eventFd(): Fd;
  /** `readEnd` is a plain number; the process that gets it owns it. */
  pipe(): { readEnd: number; writeEnd: Fd };
  /** The same file under a bare number, which Node knows nothing of. */
  duplicate(fd: number): number;
  /** Close such a number. */
  closeNumber(number: number): void;
  write(fd: Fd, bytes: Uint8Array): number;
}

export interface LockCalls {
  /**
   * Take the advisory lock of an open file; it goes with the descriptor, also when the process is
   * killed. False: another has it.
   */
  tryLock(fd: Fd): boolean;
}

/** Waits for descriptors to become readable. */
export interface Watch extends Disposable {
  /** Ends the waiting. Closing twice does nothing. */
  close(): void;
}

/** asm-generic/resource.h; the same on x86-64 and arm64. */
export const RESOURCES = { descriptors: 7, lockedMemoryBytes: 8 } as const;
export type Resource = keyof typeof RESOURCES;

export interface ResourceLimit {
  soft: number;
  hard: number;
}

/** CPU time of processes. */
export interface ProcessTimes {
  /** Time in user code, in nanoseconds. */
  userNs: bigint;
  /** Time in the kernel, in nanoseconds. */
  systemNs: bigint;
}

export interface SystemCalls {
  read(fd: Fd, into: Uint8Array): number;
  resourceLimit(resource: Resource): ResourceLimit;
  setResourceLimit(resource: Resource, limit: ResourceLimit): void;
  pageSizeBytes(): number;
  /** One bit per capability (linux/capability.h). */
  effectiveCapabilities(): bigint;
  /**
   * What is started from now on by this thread has no capability by inheritance alone.
   * This process keeps its own.
   */
  clearAmbientCapabilities(): void;
  /**
   * That process may read the memory of this one, where only parents may otherwise
   * (kernel.yama.ptrace_scope).
   */
  allowTracer(pid: number): void;
  clockNs(clockId: number): bigint;
  clockResolutionNs(clockId: number): bigint;
  /** Readable once the process has ended. Linux 5.3. */
  pidfdOpen(pid: number): Fd;
  /** Of this process's children that have ended and were waited for. */
  childrenTimes(): ProcessTimes;
}
