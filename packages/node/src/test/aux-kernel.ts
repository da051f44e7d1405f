import {
  MMAP_PAGE_AUX_HEAD,
  PERF_AUX_FLAG_COLLISION,
  PERF_AUX_FLAG_PARTIAL,
  PERF_AUX_FLAG_TRUNCATED,
  PERF_RECORD_AUX,
  PERF_RECORD_LOST,
} from '@counterpoint/core/abi';
import { BodyWriter, encodeRecord, type PerfRecord, type SampleLayout } from '@counterpoint/core/records';
import { AuxWriter, RingWriter, type WrittenMemory, writtenRing } from '@counterpoint/core/ring';
import { Random } from '../../../core/src/test/random.ts';

/** What both sides of a simulated CPU share, besides ring and area. */
export const STATE = 0;
/** What `STATE` is: off by its own reader, or by the kernel, which had no room; on. */
export const [OFF, ON] = [0, 1];
/** Written by the reader, who waits until the CPU has it. */
export const WANTED_OFF = 1;
export const ENDED = 2;
export const CONTROL_WORDS = 4;

/** A stretch of the source's bytes, and where in the trace it is, or would have been. */
export interface Stretch {
  /** Bytes of the trace before it. */
  at: number;
  from: number;
  to: number;
}

/** What happened on a simulated CPU, for comparing. */
export interface AuxHistory {
  /** What was traced, piece by piece. */
  kept: Stretch[];
  /** What ran while there was no room. */
  lost: Stretch[];
  /** Bytes that ran while the trace was paused: nobody wants them. */
  paused: number;
  /** AUX records: those that the ring had room for, and those that it had not. */
  written: { end: number; flags: number }[];
  dropped: { end: number; flags: number }[];
  /** Begins of pieces that found no room at all: the kernel writes no record of them. */
  refused: number;
  /** Of an area that is written over: bytes of the source at each stop. */
  stops: number[];
}

export interface AuxKernelOptions {
  seed: number;
  cpu: number;
  /** Of the events' attr. */
  layout: SampleLayout;
  id: bigint;
  watermarkBytes: number;
  overwrites: boolean;
  /** Bytes that the CPU could trace, one after the other: from real packets. */
  source: Uint8Array;
  /** Most bytes of one piece. */
  pieceBytes: number;
  /** Once in so many pieces, one takes all the room there is, and no more. */
  wholeEvery: number;
  wake(): void;
  /** Let time pass, so that the reader may come in between. */
  wait(random: Random): void;
}

/**
 * One CPU of a kernel with a hardware trace, over memory that a reader shares: kernel/events/ring_buffer.c
 * and a driver. Each `step` runs the source for a while: a thread comes (`begin`), is traced, maybe paused,
 * and goes (`end`). Where room is short the piece is cut, and the event is off until the reader enables it;
 * the reader may do so between the kernel's decision and its deed, which then has no effect:
 *
 *   no room ──── (reader: tail, ENABLE: it is on still) ──── off ──── wake
 */
export class AuxKernel {
  readonly history: AuxHistory = {
    kept: [],
    lost: [],
    paused: 0,
    written: [],
    dropped: [],
    refused: 0,
    stops: [],
  };
  readonly #options: AuxKernelOptions;
  readonly #random: Random;
  readonly #control: Int32Array;
  readonly #ring: RingWriter;
  readonly #ringBytes: number;
  readonly #writer: AuxWriter;
  #position = 0;
  #traced = 0;
  #timeNs = 1_000_000n;
  #isWakeDue = false;
  #ringWokenAt = 0;

  constructor(mapping: ArrayBuffer, area: ArrayBuffer, control: Int32Array, options: AuxKernelOptions) {
    this.#options = options;
    this.#control = control;
    this.#random = new Random(options.seed);
    const memory = writtenRing(mapping);
    this.#ringBytes = memory.data.length;
    this.#ring = new RingWriter(memory, (lost) =>
      this.#encode({ type: PERF_RECORD_LOST, id: options.id, lost: BigInt(lost) } as PerfRecord),
    );
    this.#writer = new AuxWriter(areaOf(mapping, area), {
      overwrites: options.overwrites,
      watermarkBytes: options.watermarkBytes,
      onRecord: (offset, size, flags) => this.#tell(offset, size, flags),
      wake: () => {
        this.#isWakeDue = true;
      },
    });
  }

  /** Bytes of the source that have run. */
  get position(): number {
    return this.#position;
  }

  /** False: the source has ended. */
  step(): boolean {
    const { source, overwrites } = this.#options;
    if (this.#position >= source.length) return false;
    const size = Math.min(this.#pieceSize(), source.length - this.#position);
    if (this.#heedReader()) this.#lose(0);
    else if (Atomics.load(this.#control, STATE) === OFF) this.#lose(size);
    else if (overwrites) this.#overwrite(size);
    else this.#trace(size);
    if (this.#isWakeDue) {
      this.#isWakeDue = false;
      this.#options.wake();
    }
    return true;
  }

  /** The reader disables the event: done when it sees that. */
  #heedReader(): boolean {
    if (Atomics.load(this.#control, WANTED_OFF) === 0) return false;
    this.history.stops.push(this.#position);
    Atomics.store(this.#control, STATE, OFF);
    Atomics.store(this.#control, WANTED_OFF, 0);
    Atomics.notify(this.#control, WANTED_OFF);
    return true;
  }

  #pieceSize(): number {
    const { pieceBytes } = this.#options;
    return 1 + this.#random.below(this.#random.below(4) === 0 ? pieceBytes : Math.ceil(pieceBytes / 8));
  }

  #trace(size: number): void {
    this.#writer.enable();
    const room = this.#writer.begin();
    if (room === 0) {
      this.history.refused++;
      this.#lose(size);
      this.#switchOff();
      return;
    }
    // Now and then to the last byte: nothing is cut, and the next piece finds no room.
    const isWhole = this.#random.below(this.#options.wholeEvery) === 0;
    const left = this.#write(isWhole ? Math.min(room, this.#options.source.length - this.#position) : size);
    this.#writer.end(this.#flags() | (left > 0 ? PERF_AUX_FLAG_TRUNCATED : 0));
    if (left === 0) return;
    this.#lose(left);
    this.#switchOff();
  }

  #overwrite(size: number): void {
    this.#writer.begin();
    this.#write(size);
    this.#writer.end(this.#flags());
  }

  /**
   * In bursts, as the processor does; now and then the trace is paused inside of a piece (`aux-action`), and
   * what runs then is not wanted. Returns how much of `size` found no room.
   */
  #write(size: number): number {
    const { source, wait } = this.#options;
    let left = size;
    while (left > 0) {
      const burst = Math.min(left, 1 + this.#random.below(size));
      wait(this.#random);
      if (this.#random.below(12) === 0) {
        this.#position += burst;
        this.history.paused += burst;
        left -= burst;
        continue;
      }
      const fits = this.#writer.write(source.subarray(this.#position, this.#position + burst));
      this.#keep(fits);
      left -= fits;
      if (fits < burst) break;
    }
    return left;
  }

  #flags(): number {
    const kind = this.#random.below(20);
    return kind === 0 ? PERF_AUX_FLAG_PARTIAL : kind === 1 ? PERF_AUX_FLAG_COLLISION : 0;
  }

  #switchOff(): void {
    this.#options.wait(this.#random);
    Atomics.store(this.#control, STATE, OFF);
  }

  #keep(size: number): void {
    if (size === 0) return;
    const [at, from] = [this.#traced, this.#position];
    this.#traced += size;
    this.#position += size;
    const last = this.history.kept.at(-1);
    if (last?.to === from) last.to = this.#position;
    else this.history.kept.push({ at, from, to: this.#position });
  }

  #lose(size: number): void {
    const from = this.#position;
    this.#position += size;
    this.#options.wait(this.#random);
    if (size === 0) return;
    const last = this.history.lost.at(-1);
    if (last?.at === this.#traced && last.to === from) last.to = this.#position;
    else this.history.lost.push({ at: this.#traced, from, to: this.#position });
  }

  #tell(offset: number, size: number, flags: number): void {
    const record = {
      type: PERF_RECORD_AUX,
      auxOffset: BigInt(offset),
      auxSize: BigInt(size),
      flags: BigInt(flags),
    };
    const isWritten = this.#ring.write(this.#encode(record as PerfRecord));
    this.history[isWritten ? 'written' : 'dropped'].push({ end: offset + size, flags });
    if (this.#ring.head - this.#ringWokenAt < this.#ringBytes / 2) return;
    this.#ringWokenAt = this.#ring.head;
    this.#isWakeDue = true;
  }

  #encode(record: PerfRecord): Uint8Array {
    const { layout, id, cpu } = this.#options;
    const writer = new BodyWriter();
    const sampleId = { pid: 1, tid: 1, time: this.#timeNs++, cpu, id };
    encodeRecord(writer, { ...record, misc: 0, tail: new Uint8Array(), sampleId } as PerfRecord, layout);
    return writer.take();
  }
}

/** The kernel's side of an area that is mapped apart from its ring. */
/** An AUX area as its kernel sees it: where it writes, how far its reader has come. */
export function areaOf(mapping: ArrayBuffer, area: ArrayBuffer): WrittenMemory {
  const positions = new BigUint64Array(mapping, MMAP_PAGE_AUX_HEAD, 2);
  return {
    data: new Uint8Array(area),
    tail: () => Number(Atomics.load(positions, 1)),
    setHead: (position) => void Atomics.store(positions, 0, BigInt(position)),
  };
}
