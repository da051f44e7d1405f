import { constants } from 'node:os';
import {
  MMAP_PAGE_DATA_HEAD,
  MMAP_PAGE_DATA_OFFSET,
  MMAP_PAGE_DATA_SIZE,
  MMAP_PAGE_DATA_TAIL,
} from '@counterpoint/core/abi';
import { type PerfEventAttr, readAttr } from '@counterpoint/core/records';
import { FakeBpf } from './fake-bpf.ts';
import { FakeTracefs } from './fake-tracefs.ts';
import { Fd, Mapping, type NativeCode } from './handles.ts';
import type { ProcessTimes, ReadyDescriptor, Resource, ResourceLimit, Sys, Watch } from './sys.ts';
import { type CallArguments, SysError } from './sys-error.ts';

export type ErrnoName = keyof typeof constants.errno;

/** One perf_event_open that was asked for. */
export interface FakeEvent {
  attr: PerfEventAttr;
  pid: number;
  cpu: number;
  /** Descriptor number of the group leader, -1 without. */
  group: number;
  fd: number;
  id: bigint;
  /** Descriptor number of the ring's owner, when redirected. */
  output: number | null;
}

const PAGE_SIZE = 4096;

/** A ring as the kernel has it: tests write records, and find out what was dropped. */
export class FakeRing {
  readonly buffer: ArrayBuffer;
  readonly #positions: BigUint64Array;
  readonly #data: Uint8Array;
  dropped = 0;

  constructor(sizeBytes: number) {
    this.buffer = new ArrayBuffer(sizeBytes);
    const page = new DataView(this.buffer);
    page.setBigUint64(MMAP_PAGE_DATA_OFFSET, BigInt(PAGE_SIZE), true);
    page.setBigUint64(MMAP_PAGE_DATA_SIZE, BigInt(sizeBytes - PAGE_SIZE), true);
    this.#positions = new BigUint64Array(this.buffer, MMAP_PAGE_DATA_HEAD, 2);
    this.#data = new Uint8Array(this.buffer, PAGE_SIZE);
  }

  get unreadBytes(): number {
    return Number(this.#positions[0]! - this.tail);
  }

  get tail(): bigint {
    return this.#positions[(MMAP_PAGE_DATA_TAIL - MMAP_PAGE_DATA_HEAD) / 8]!;
  }

  write(record: Uint8Array): boolean {
    if (this.unreadBytes + record.length > this.#data.length) {
      this.dropped++;
      return false;
    }
    const head = Number(this.#positions[0]!);
    record.forEach((byte, i) => {
      this.#data[(head + i) % this.#data.length] = byte;
    });
    this.#positions[0] = BigInt(head + record.length);
    return true;
  }
}

/**
 * A kernel by script: what it refuses is a function, what it was asked is a list, its rings are plain memory.
 */
export class FakeSys extends FakeBpf implements Sys {
  /** Give an errno to refuse an event. */
  refuseOpen: (event: FakeEvent) => ErrnoName | null = () => null;
  /** Give an errno to refuse a ring. */
  refuseMmap: (sizeBytes: number) => ErrnoName | null = () => null;
  limits: Record<Resource, ResourceLimit> = {
    descriptors: { soft: 1024, hard: 1024 },
    lockedMemoryBytes: { soft: 8 << 20, hard: 8 << 20 },
  };
  capabilities = 0n;
  timeNs = 1_000_000_000n;
  /** Every event that was opened. */
  readonly events: FakeEvent[] = [];
  /** Rings by descriptor number. */
  readonly rings = new Map<number, FakeRing>();
  /** Names of control calls in order: `enable 3`. */
  readonly controls: string[] = [];
  /** What events let through, by descriptor number. */
  readonly filters = new Map<number, string>();
  readonly closed: number[] = [];
  readonly tracefs = new FakeTracefs();
  readonly #watched = new Set<() => void>();
  #ready: ReadyDescriptor[] = [];
  readonly #fd: () => Fd;
  #nextFd = 3;

  constructor() {
    const open = () => new Fd(this.#nextFd++, (number) => this.closed.push(number));
    super(open);
    this.#fd = open;
  }

  /** Wake whoever waits; `hungUp` are descriptors that have ended. */
  wake(hungUp: readonly number[] = []): void {
    this.#ready.push(...hungUp.map((number) => ({ number, hasHungUp: true })));
    for (const callback of this.#watched) callback();
  }

  event(fd: number): FakeEvent {
    const event = this.events.find((one) => one.fd === fd);
    if (event === undefined) throw new Error(`no event has descriptor ${fd}`);
    return event;
  }

  #fail(call: string, errno: ErrnoName | null, args: CallArguments): void {
    if (errno !== null) throw new SysError(call, constants.errno[errno], args);
  }

  #control(name: string, fd: Fd): void {
    this.controls.push(`${name} ${fd.number}`);
  }

  perfEventOpen(bytes: Uint8Array, pid: number, cpu: number, groupFd: Fd | null): Fd {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const attr = readAttr(view, 0, bytes.byteLength, true);
    const group = groupFd?.number ?? -1;
    const event = { attr, pid, cpu, group, fd: this.#nextFd, id: BigInt(this.#nextFd) + 100n, output: null };
    this.#fail('perf_event_open', this.refuseOpen(event), { pid, cpu, group });
    this.events.push(event);
    return this.#fd();
  }

  enable(fd: Fd): void {
    this.#control('enable', fd);
  }
  disable(fd: Fd): void {
    this.#control('disable', fd);
  }
  refresh(fd: Fd): void {
    this.#control('refresh', fd);
  }
  reset(fd: Fd): void {
    this.#control('reset', fd);
  }
  setPeriod(fd: Fd): void {
    this.#control('setPeriod', fd);
  }
  setOutput(fd: Fd, ring: Fd | null): void {
    this.event(fd.number).output = ring?.number ?? null;
  }
  setFilter(fd: Fd, filter: string): void {
    this.#control('setFilter', fd);
    this.filters.set(fd.number, filter);
  }
  eventId(fd: Fd): bigint {
    return this.event(fd.number).id;
  }
  setBpf(fd: Fd): void {
    this.#control('setBpf', fd);
  }
  pauseOutput(fd: Fd): void {
    this.#control('pauseOutput', fd);
  }
  queryBpf(): number[] {
    return [];
  }
  signalThread(fd: Fd): void {
    this.#control('signalThread', fd);
  }
  modifyAttributes(fd: Fd): void {
    this.#control('modifyAttributes', fd);
  }

  readTracefs(path: string): string {
    return this.tracefs.readTracefs(path);
  }
  appendTracefs(path: string, line: string): void {
    this.tracefs.appendTracefs(path, line);
  }

  mmap(fd: Fd, sizeBytes: number): Mapping {
    this.#fail('mmap', this.refuseMmap(sizeBytes), { sizeBytes });
    const ring = new FakeRing(sizeBytes);
    this.rings.set(fd.number, ring);
    return new Mapping(ring.buffer, () => {});
  }

  mapEventPage(fd: Fd): Mapping {
    this.#fail('mmap', this.refuseMmap(PAGE_SIZE), { fd: fd.number });
    return new Mapping(new ArrayBuffer(PAGE_SIZE), () => {});
  }
  mapFile(_: Fd, sizeBytes: number, _access: 'read' | 'write'): Mapping {
    return new Mapping(new ArrayBuffer(sizeBytes), () => {});
  }
  mapRange(_: Fd, _offsetBytes: number, sizeBytes: number): Mapping {
    return new Mapping(new ArrayBuffer(sizeBytes), () => {});
  }
  tryLock(): boolean {
    return true;
  }
  mapAnonymous(sizeBytes: number): Mapping {
    return new Mapping(new ArrayBuffer(sizeBytes), () => {});
  }
  /** A kernel that hardens processes against new code. */
  loadCode(code: Uint8Array): NativeCode {
    throw new SysError('mprotect', constants.errno.EACCES, { sizeBytes: code.length });
  }
  /** Without code there is nothing to run. */
  startThread(): bigint {
    throw new SysError('pthread_create', constants.errno.EAGAIN);
  }
  joinThread(): void {}
  setRealtime(): void {}
  eventFd(): Fd {
    return this.#fd();
  }
  pipe(): { readEnd: number; writeEnd: Fd } {
    return { readEnd: -1, writeEnd: this.#fd() };
  }
  duplicate(): number {
    return -1;
  }
  closeNumber(): void {}
  write(_: Fd, bytes: Uint8Array): number {
    return bytes.length;
  }
  symbolAddress(): bigint {
    return 0n;
  }

  epollCreate(): Fd {
    return this.#fd();
  }
  epollAdd(): void {}
  epollRemove(_: Fd, fd: Fd): void {
    this.#control('epollRemove', fd);
  }
  epollPoll(): ReadyDescriptor[] {
    const ready = this.#ready;
    this.#ready = [];
    return ready;
  }
  waitReadable(): boolean {
    return false;
  }
  watch(_: Fd, onReadable: () => void): Watch {
    this.#watched.add(onReadable);
    const close = () => void this.#watched.delete(onReadable);
    return { close, [Symbol.dispose]: close };
  }

  /** What read() gives, by descriptor; words that are not there are 0. */
  readonly readings = new Map<number, readonly bigint[]>();

  read(fd: Fd, into: Uint8Array): number {
    const words = new BigUint64Array(into.buffer, into.byteOffset, into.byteLength / 8).fill(0n);
    words.set(this.readings.get(fd.number)?.slice(0, words.length) ?? []);
    return into.length;
  }
  resourceLimit(resource: Resource): ResourceLimit {
    return this.limits[resource];
  }
  setResourceLimit(resource: Resource, limit: ResourceLimit): void {
    this.limits[resource] = limit;
  }
  pageSizeBytes(): number {
    return PAGE_SIZE;
  }
  effectiveCapabilities(): bigint {
    return this.capabilities;
  }
  clearAmbientCapabilities(): void {}
  allowTracer(): void {}
  clockNs(): bigint {
    return this.timeNs;
  }
  pidfdOpen(): Fd {
    return this.#fd();
  }
  childrenTimes(): ProcessTimes {
    return { userNs: 0n, systemNs: 0n };
  }

  clockResolutionNs(): bigint {
    return 1n;
  }
}
