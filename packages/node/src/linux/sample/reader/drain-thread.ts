import { getPriority } from 'node:os';
import type { EventRing, SampledEvents } from '../../kernel/perf-events/index.ts';
import { type Fd, type Mapping, type NativeCode, type Sys, SysError } from '../../kernel/sys/index.ts';
import {
  BLOCK,
  type BlockWord,
  blockBytes,
  COMMAND_ABANDON,
  COMMAND_FINISH,
  RING,
  RING_ROW_BYTES,
  RINGS_OFFSET,
  STATE_FAILED,
} from './drain-block.ts';
import { drainCode } from './drain-code.ts';

/** A ring in which there is this part of its size already is read again at once; */
const PRESSURE_SHARE = 1 / 8;
/** one that is no larger than this, with anything in it: sleeping and waking takes longer than it lasts. */
const SMALL_RING_BYTES = 64 << 10;
/**
 * The thread needs little time, but soon: the scheduler's earliest deadline, by the shortest slice that Linux
 * 6.12 and later give. And the least nice value, for those who may: without it a thread alone among other
 * people's programs waited up to 0.5 s, as its whole group (of a login, a service, a container) has hardly a
 * share on a CPU on which nothing else of the group runs.
 */
const SLICE_NS = 100_000;
const LEAST_NICE = -20;
/** What top and ps show, and recordings of the whole machine. */
const THREAD_NAME = 'counterpoint';

export interface DrainOptions {
  /** Written from `offset` on. */
  file: number;
  offset: number;
  /** 8 bytes between two rounds. */
  mark: Uint8Array;
  /** Say so when the file has this size. */
  limitBytes: number;
  /** Read the rings after this long without a watermark; 0 is never. */
  flushIntervalMs: number;
  /** SCHED_FIFO with this priority, 1 to 99. */
  realtimePriority?: number | undefined;
}

/**
 * A thread that empties the rings of sampled events into a file, without JavaScript: machine code and system
 * calls (`drain-code.ts`). It does not matter to it whether this thread has time. `notice` becomes readable
 * when there is something to know.
 */
export class DrainThread implements Disposable {
  readonly notice: Fd;
  readonly #sys: Sys;
  readonly #sampled: SampledEvents;
  readonly #block: Mapping;
  #words: BigUint64Array<ArrayBuffer>;
  readonly #code: NativeCode;
  readonly #control: Fd;
  #thread: bigint | null = null;

  /**
   * Null where no such thread can be had: this architecture has no assembler, or new code is forbidden here.
   */
  static start(sys: Sys, sampled: SampledEvents, options: DrainOptions): DrainThread | null {
    const machineCode = drainCode(process.arch);
    if (machineCode === null || sampled.rings.some(({ mapping }) => mapping.address === null)) return null;
    let code: NativeCode;
    try {
      code = sys.loadCode(machineCode.bytes);
    } catch (error) {
      if (error instanceof SysError) return null;
      throw error;
    }
    return new DrainThread(sys, sampled, options, code);
  }

  private constructor(sys: Sys, sampled: SampledEvents, options: DrainOptions, code: NativeCode) {
    this.#sys = sys;
    this.#sampled = sampled;
    this.#code = code;
    const owned: { close(): void }[] = [code];
    const own = <Handle extends { close(): void }>(handle: Handle): Handle => {
      owned.push(handle);
      return handle;
    };
    // The thread closes these: Node closes those of a terminated worker, and then their
    // numbers may be somebody else's.
    const numbers: number[] = [];
    const giveAway = (name: BlockWord, number: number): void => {
      numbers.push(number);
      this.#set(name, number);
    };
    try {
      this.#block = own(sys.mapAnonymous(blockBytes(sampled.rings.length)));
      this.#words = new BigUint64Array(this.#block.buffer);
      this.notice = own(sys.eventFd());
      using epoll = sys.epollCreate();
      const { readEnd, writeEnd } = sys.pipe();
      giveAway('control', readEnd);
      this.#control = own(writeEnd);
      sys.epollAdd(epoll, { number: readEnd });
      this.#set('open', this.#watchEvents(epoll));
      giveAway('epoll', sys.duplicate(epoll.number));
      giveAway('file', sys.duplicate(options.file));
      giveAway('notice', sys.duplicate(this.notice.number));
      this.#fill(options);
      this.#thread = sys.startThread(code, this.#block.address!);
    } catch (error) {
      for (const number of numbers) sys.closeNumber(number);
      for (const handle of owned) handle.close();
      throw error;
    }
    if (options.realtimePriority === undefined) return;
    try {
      sys.setRealtime(this.#thread, options.realtimePriority);
    } catch (error) {
      this.close();
      throw error;
    }
  }

  #watchEvents(epoll: Fd): number {
    let open = 0;
    for (const { instances, hasNoRing } of this.#sampled.events) {
      // Without a ring the kernel says at once that it has hung up.
      if (hasNoRing === true) continue;
      for (const { fd } of instances) {
        this.#sys.epollAdd(epoll, fd);
        open++;
      }
    }
    return open;
  }

  #fill({ offset, mark, limitBytes, flushIntervalMs, realtimePriority }: DrainOptions): void {
    if (realtimePriority === undefined) this.#fillScheduling();
    const timeout = flushIntervalMs > 0 ? Math.ceil(flushIntervalMs) : -1;
    this.#set('idleTimeout', timeout);
    this.#set('timeout', timeout);
    this.#set('end', offset);
    this.#set('limit', Math.min(limitBytes, Number.MAX_SAFE_INTEGER));
    this.#set('one', 1);
    new Uint8Array(this.#block.buffer, BLOCK.mark, mark.length).set(mark);
    new TextEncoder().encodeInto(THREAD_NAME, new Uint8Array(this.#block.buffer, BLOCK.name, 15));
    this.#set('ringCount', this.#sampled.rings.length);
    this.#sampled.rings.forEach((ring, index) => {
      this.#fillRing(ring, index);
    });
  }

  /** A user who gave the recorder a nice value has reasons. */
  #fillScheduling(): void {
    this.#set('sliceNs', SLICE_NS);
    if (getPriority() === 0) this.#set('nice', LEAST_NICE >>> 0);
  }

  #fillRing({ mapping, ring }: EventRing, index: number): void {
    const set = (name: keyof typeof RING, value: number | bigint): void => {
      this.#words[(RINGS_OFFSET + index * RING_ROW_BYTES + RING[name]) / 8] = BigInt(value);
    };
    const { data } = ring.memory;
    set('page', mapping.address!);
    set('mappingBytes', mapping.buffer.byteLength);
    set('data', mapping.address! + BigInt(data.byteOffset));
    set('dataBytes', data.length);
    set('mask', data.length - 1);
    const isSmall = data.length <= SMALL_RING_BYTES;
    set('pressureBytes', isSmall ? 1 : Math.ceil(data.length * PRESSURE_SHARE));
    set('tail', ring.tail);
  }

  #set(name: BlockWord, value: number): void {
    this.#words[BLOCK[name] / 8] = BigInt.asUintN(64, BigInt(value));
  }

  #get(name: BlockWord): number {
    return Number(Atomics.load(this.#words, BLOCK[name] / 8));
  }

  /** The file has whole records up to here. */
  get endBytes(): number {
    return this.#get('end');
  }
  get rounds(): number {
    return this.#get('rounds');
  }
  get wakeups(): number {
    return this.#get('wakeups');
  }
  /** Bytes that the kernel's positions made no sense of. */
  get skippedBytes(): number {
    return this.#get('skippedBytes');
  }
  /** Every descriptor has: the target is gone. */
  get hasHungUp(): boolean {
    return this.#get('hungUp') !== 0;
  }
  /** By itself or because it was told to. */
  get hasEnded(): boolean {
    return this.#get('state') !== 0;
  }
  /** The number of the error that ended it, or null. */
  get errno(): number | null {
    return this.#get('state') === STATE_FAILED ? this.#get('errno') : null;
  }
  /** The thread's id in this process; 0 before it runs. */
  get tid(): number {
    return this.#get('tid');
  }

  /** Take what is there, and end: `hasEnded` says when. */
  finish(): void {
    this.#tell(COMMAND_FINISH);
  }

  #tell(command: number): void {
    if (this.hasEnded) return;
    Atomics.store(this.#words, BLOCK.command / 8, BigInt(command));
    try {
      // Nobody reads it: the pipe stays readable.
      this.#sys.write(this.#control, Uint8Array.of(1));
    } catch (error) {
      // It has seen the command already, and is gone.
      if (!(error instanceof SysError && error.code === 'EPIPE')) throw error;
    }
  }

  /**
   * The thread is over when this returns, and the rings stand where it left them. It waits
   * for a write that is under way.
   */
  close(): void {
    if (this.#thread === null) return;
    this.#tell(COMMAND_ABANDON);
    this.#sys.joinThread(this.#thread);
    this.#thread = null;
    this.#words = this.#words.slice();
    this.#sampled.rings.forEach(({ ring }, index) => {
      ring.tail = Number(this.#words[(RINGS_OFFSET + index * RING_ROW_BYTES + RING.tail) / 8]);
    });
    this.#block.close();
    this.#control.close();
    this.notice.close();
    this.#code.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}
