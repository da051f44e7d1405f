/**
 * Perf's records beside a raw trace, applied while it is decoded: which process runs,
 * and which code it has mapped.
 *
 *   trace     ... [disabled]      [enabled tsc 4] ...          a record is due with the first event of its time or later
 *   records            SWITCH 2 tsc 3   `-> prints it, prepares the switch
 *                                        -> the switch itself waits until the trace is, or was, in the kernel
 */
import {
  PERF_AUX_FLAG_TRUNCATED,
  PERF_RECORD_AUX,
  PERF_RECORD_COMM,
  PERF_RECORD_FORK,
  PERF_RECORD_ITRACE_START,
  PERF_RECORD_LOST,
  PERF_RECORD_MISC_COMM_EXEC,
  PERF_RECORD_MISC_CPUMODE_MASK,
  PERF_RECORD_MISC_KERNEL,
  PERF_RECORD_MISC_SWITCH_OUT,
  PERF_RECORD_MMAP,
  PERF_RECORD_MMAP2,
  PERF_RECORD_SWITCH,
  PERF_RECORD_SWITCH_CPU_WIDE,
} from '@counterpoint/core/abi';
import { toBigInt } from '@counterpoint/core/base';
import { isRaw, isSample } from '@counterpoint/core/records';
import { CodeImage } from '../../code/image/index.ts';
import { type SidebandFile, type SidebandFormat, SidebandStream } from '../dump/sideband-text.ts';
import type { FlowEvent } from './event.ts';
import * as ev from './event.ts';

/** Records of one CPU's ring. */
export interface SidebandChannel extends SidebandFile {
  /** Of the traced processor: its context switches are the trace's. */
  readonly primary: boolean;
  /** Addresses from here on are the kernel's. */
  readonly kernelStart: bigint;
}

/** A file that is in memory as it stands. */
interface MappedCode {
  readonly name: string;
  readonly address: bigint;
  readonly bytes: Uint8Array;
}

/** What is printed of the records, and where code comes from. */
export interface SidebandOptions extends SidebandFormat {
  /** Print the records. */
  readonly show?: boolean;
  /** Print what was lost, and which code cannot be known. */
  readonly warn?: boolean;
  /** Print which process runs. */
  readonly showSwitches?: boolean;
  /** Adds what is in every process: the kernel, code that was given by hand. */
  readonly addCommonCode?: (image: CodeImage) => void;
  /** The bytes of a mapped file, `[vdso]` among them; null if there is none. */
  readonly openCode: (path: string) => Uint8Array | null;
}

/** Where an event was. */
type Place = 'unknown' | 'kernel' | 'user' | 'likely kernel' | 'likely user';

interface Context {
  readonly pid: number;
  readonly mapped: MappedCode[];
  /** Made when it is needed. */
  image: CodeImage | null;
}

interface Channel {
  readonly file: SidebandChannel;
  readonly stream: SidebandStream;
  place: Place;
  context: Context | null;
  /** Switched to as soon as the place is right. */
  next: Context | null;
}

const SIDEBAND_WARNINGS = {
  'trace-lost': 'trace lost',
  'sideband-lost': 'sideband lost',
  'section-lost': 'image section lost',
} as const;

/**
 * perf's records beside a raw trace, applied while it is decoded: which process runs, and which
 * code it has mapped. Call `apply` for each event of a `FlowDecoder`, and set its `image` to the
 * answer where that is not null.
 */
export class Sideband {
  readonly #channels: Channel[];
  readonly #options: SidebandOptions;
  readonly #say: (line: string) => void;
  readonly #contexts = new Map<number, Context>();
  #image: CodeImage | null = null;

  constructor(files: readonly SidebandChannel[], options: SidebandOptions, say: (line: string) => void) {
    this.#options = options;
    this.#say = say;
    this.#channels = files.map((file) => ({
      file,
      stream: new SidebandStream(file),
      place: 'unknown',
      context: null,
      next: null,
    }));
  }

  /** An event was decoded: apply what is due. Returns the code from now on, null where it stays as it is. */
  apply(event: Readonly<FlowEvent>): CodeImage | null {
    const tsc = toBigInt(event.timeLo >>> 0, event.timeHi >>> 0);
    this.#image = null;
    for (;;) {
      let first: Channel | null = null;
      for (const channel of this.#channels)
        if (!channel.stream.isAtEnd && (first === null || channel.stream.tsc < first.stream.tsc))
          first = channel;
      if (first === null || first.stream.tsc > tsc) break;
      this.#applyRecord(first);
    }
    for (const channel of this.#channels) if (channel.file.primary) this.#reach(channel, event);
    return this.#image;
  }

  #applyRecord(channel: Channel): void {
    const { stream } = channel;
    const { offset, pid } = stream;
    const record = stream.record();
    const text = stream.take(this.#options);
    if (this.#options.show) this.#say(text);
    if (isRaw(record) || isSample(record)) return;
    const isPrimary = channel.file.primary;
    const isOut = (record.misc & PERF_RECORD_MISC_SWITCH_OUT) !== 0;
    switch (record.type) {
      case PERF_RECORD_ITRACE_START:
        // Tracing has just begun: there is no place to wait for.
        if (!isPrimary) return;
        this.#prepare(channel, this.#contextOf(record.pid));
        if (channel.next !== null) this.#switch(channel);
        return;
      case PERF_RECORD_FORK:
        if (record.pid !== record.ppid) this.#fork(record.pid, record.ppid);
        return;
      case PERF_RECORD_COMM:
        if ((record.misc & PERF_RECORD_MISC_COMM_EXEC) === 0) return;
        // The old code is still needed to get to where the kernel replaces it.
        this.#contexts.delete(record.pid);
        if (isPrimary) this.#prepare(channel, this.#contextOf(record.pid));
        return;
      case PERF_RECORD_SWITCH:
        if (!isPrimary || isOut) return;
        if (pid === null) this.#complain(channel, offset, 'bad configuration');
        else this.#prepare(channel, this.#contextOf(pid));
        return;
      case PERF_RECORD_SWITCH_CPU_WIDE:
        if (!isPrimary) return;
        if (isOut) this.#prepare(channel, this.#contextOf(record.nextOrPreviousPid));
        else if (pid !== null) this.#prepare(channel, this.#contextOf(pid));
        return;
      case PERF_RECORD_MMAP:
      case PERF_RECORD_MMAP2:
        // What the kernel's files hold was patched when it was loaded: it comes from the kernel core.
        if ((record.misc & PERF_RECORD_MISC_CPUMODE_MASK) === PERF_RECORD_MISC_KERNEL) return;
        this.#map(channel, offset, record);
        return;
      case PERF_RECORD_LOST:
        this.#warn(channel, offset, 'sideband-lost');
        return;
      case PERF_RECORD_AUX:
        if (isPrimary && (Number(record.flags & 0xffn) & PERF_AUX_FLAG_TRUNCATED) !== 0)
          this.#warn(channel, offset, 'trace-lost');
        return;
    }
  }

  #map(
    channel: Channel,
    offset: number,
    record: { pid: number; start: bigint; length: bigint; pageOffset: bigint; path: string },
  ): void {
    const { path } = record;
    const context = this.#contextOf(record.pid);
    if ((path.startsWith('[') && path !== '[vdso]') || path === '//anon' || path.includes(' (deleted)')) {
      this.#warn(channel, offset, 'section-lost');
      return;
    }
    const bytes = this.#options.openCode(path);
    if (bytes === null) {
      this.#complain(channel, offset, path === '[vdso]' ? 'bad configuration' : 'bad file');
      return;
    }
    const from = Number(record.pageOffset < BigInt(bytes.length) ? record.pageOffset : BigInt(bytes.length));
    const size = Number(
      record.length < BigInt(bytes.length - from) ? record.length : BigInt(bytes.length - from),
    );
    if (size === 0) return;
    const mapped = { name: path, address: record.start, bytes: bytes.subarray(from, from + size) };
    context.mapped.push(mapped);
    context.image?.addSection(mapped);
    for (const { context: current } of this.#channels)
      if (current === context) this.#image = this.#imageOf(context);
  }

  #fork(pid: number, parentPid: number): void {
    this.#contexts.delete(pid);
    const child = this.#contextOf(pid);
    const parent = this.#contexts.get(parentPid);
    if (parent !== undefined) child.mapped.push(...parent.mapped);
  }

  #contextOf(pid: number): Context {
    let context = this.#contexts.get(pid);
    if (context === undefined) {
      context = { pid, mapped: [], image: null };
      this.#contexts.set(pid, context);
    }
    return context;
  }

  #imageOf(context: Context): CodeImage {
    if (context.image === null) {
      context.image = new CodeImage();
      this.#options.addCommonCode?.(context.image);
      for (const code of context.mapped) context.image.addSection(code);
    }
    return context.image;
  }

  #prepare(channel: Channel, context: Context): void {
    channel.next = channel.context === context ? null : context;
  }

  #switch(channel: Channel): void {
    const context = channel.next!;
    channel.context = context;
    channel.next = null;
    this.#image = this.#imageOf(context);
    if (this.#options.showSwitches) this.#say(`[context: pid-${context.pid.toString(16)}]`);
  }

  /**
   * The time of an event is reached: a switch that waits may happen if the trace is, or was, in the kernel.
   */
  #reach(channel: Channel, event: Readonly<FlowEvent>): void {
    const before = channel.place;
    channel.place = placeOf(event, before, channel.file.kernelStart);
    if (channel.next === null) return;
    const isUser = (place: Place) => place === 'user' || place === 'likely user';
    if (!isUser(before) || !isUser(channel.place)) this.#switch(channel);
  }

  #warn(channel: Channel, offset: number, what: keyof typeof SIDEBAND_WARNINGS): void {
    if (this.#options.warn) this.#tell(channel, offset, `warning: ${SIDEBAND_WARNINGS[what]}`);
  }

  #complain(channel: Channel, offset: number, what: string): void {
    this.#tell(channel, offset, `error: ${what}`);
  }

  #tell(channel: Channel, offset: number, what: string): void {
    this.#say(`[${channel.file.name}:${offset.toString(16).padStart(16, '0')} sideband ${what}]`);
  }
}

function placeOf(event: Readonly<FlowEvent>, before: Place, kernelStart: bigint): Place {
  const at = (lo: number, hi: number): Place =>
    toBigInt(lo >>> 0, hi >>> 0) < kernelStart ? 'user' : 'kernel';
  const other = (place: Place): Place => {
    if (place === 'unknown') return 'unknown';
    return place === 'kernel' || place === 'likely kernel' ? 'likely user' : 'likely kernel';
  };
  switch (event.kind) {
    case ev.EVENT_DISABLED:
      return event.isIpSuppressed ? other(before) : at(event.ipLo, event.ipHi);
    case ev.EVENT_ASYNC_DISABLED:
      return event.isIpSuppressed ? other(at(event.ipLo, event.ipHi)) : at(event.toLo, event.toHi);
    case ev.EVENT_ASYNC_BRANCH:
      return at(event.toLo, event.toHi);
    case ev.EVENT_PAGING:
      return 'likely kernel';
    case ev.EVENT_ASYNC_PAGING:
      return event.isIpSuppressed ? 'likely kernel' : at(event.ipLo, event.ipHi);
    case ev.EVENT_CBR:
    case ev.EVENT_MNT:
    case ev.EVENT_PWRE:
    case ev.EVENT_PWRX:
    case ev.EVENT_STOP:
    case ev.EVENT_VMCS:
    case ev.EVENT_ASYNC_VMCS:
    case ev.EVENT_SIPI:
    case ev.EVENT_TRIGGER:
      return 'unknown';
    default:
      return event.isIpSuppressed ? 'unknown' : at(event.ipLo, event.ipHi);
  }
}
