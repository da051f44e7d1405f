import type { Fd, Mapping, NativeCode } from './handles.ts';

/**
 * The system calls of a recording, each one function, each failing with `SysError`. No policy lives here. Tests put
 * `FakeSys` in the place of `realSys`.
 *
 * Not bound, because Node has them: open, close, write, kill, spawn and wait.
 */
export interface Sys extends PerfEventCalls, MemoryCalls, EpollCalls, LockCalls, SystemCalls {}

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

export interface MemoryCalls {
  /** Map an event's ring, shared and writable. */
  mmap(fd: Fd, sizeBytes: number): Mapping;
  /** Map only the first page of an event, its counter's state, without a ring. It cannot be written. */
  mapEventPage(fd: Fd): Mapping;
  /** Map the beginning of an ordinary file, shared with all who do. */
  mapFile(fd: Fd, sizeBytes: number, access: 'read' | 'write'): Mapping;
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
  epollAdd(epoll: Fd, fd: Fd): void;
  epollRemove(epoll: Fd, fd: Fd): void;
  /** What is ready now, up to 64 descriptors. Does not wait. */
  epollPoll(epoll: Fd): ReadyDescriptor[];
  /** Block this thread until `fd` is readable, at most so long. */
  waitReadable(fd: Fd, timeoutMs: number): boolean;
  /** Call back from the event loop whenever `fd` is readable, until closed. */
  watch(fd: Fd, onReadable: () => void): Watch;
}

export interface LockCalls {
  /** Take the advisory lock of an open file; it goes with the descriptor, also when the process is killed. False: another has it. */
  tryLock(fd: Fd): boolean;
}

export interface Watch extends Disposable {
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
  userNs: bigint;
  systemNs: bigint;
}

export interface SystemCalls {
  read(fd: Fd, into: Uint8Array): number;
  resourceLimit(resource: Resource): ResourceLimit;
  setResourceLimit(resource: Resource, limit: ResourceLimit): void;
  pageSizeBytes(): number;
  /** One bit per capability (linux/capability.h). */
  effectiveCapabilities(): bigint;
  clockNs(clockId: number): bigint;
  clockResolutionNs(clockId: number): bigint;
  /** Readable once the process has ended. Linux 5.3. */
  pidfdOpen(pid: number): Fd;
  /** Of this process's children that have ended and were waited for. */
  childrenTimes(): ProcessTimes;
}
