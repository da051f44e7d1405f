import { HeapMismatch, type HeapReader } from './heap-reader.ts';

/**
 * A time in which V8 collected no old objects: what was in use then was not
 * moved, and is the same at its end.
 */
export interface Epoch {
  fromUs: number;
  untilUs: number;
}

/** Of `Heap`, never exported. */
export interface CollectionLayout {
  /** `ms_count_`: how many collections of all objects have begun. */
  count: number;
  /** Where `GCTracer` is, and in it `previous_mark_compact_end_time_`: of the last one. */
  tracer: number;
  ended: number;
  /** Milliseconds with a fraction; false: a whole number of microseconds. */
  isEndedDouble: boolean;
}

/** By the version of V8. */
const LAYOUTS: ReadonlyMap<string, CollectionLayout> = /* @__PURE__ */ new Map([
  ['11.3', { count: 0x240, tracer: 0x8f8, ended: 0xce8, isEndedDouble: true }],
  ['12.4', { count: 0x1b0, tracer: 0x6c8, ended: 0xd58, isEndedDouble: false }],
  ['13.6', { count: 0x238, tracer: 0x750, ended: 0xdf0, isEndedDouble: false }],
  ['14.6', { count: 0x240, tracer: 0x780, ended: 0xed0, isEndedDouble: false }],
]);
/** `gc_state_`, before the count: what a collector does now. */
const STATE_BEFORE = 0x18;
/** Of its values: all objects are collected, or the heap is taken down. */
const MARK_COMPACT = 2;
const TEAR_DOWN = 4;
/** `gc_count_`, of all collections, is behind it. */
const ALL_BEHIND = 4;
const BYTES = STATE_BEFORE + 2 * ALL_BEHIND;
const MOST_EPOCHS = 16;
/** After code was collected more of it may be: what is read then may be of before. */
const COLLECTS_US = 1e6;

/** Null: it is not known of this version. */
export function collectionLayout(version: string | null): CollectionLayout | null {
  return (version === null ? null : LAYOUTS.get(version)) ?? null;
}

/** Of an isolate: the address of its heap. */
export interface CollectionPlace {
  heap: bigint;
  layout: CollectionLayout;
}

/**
 * When an isolate collected old objects, such as functions and their bytecode: between two looks at V8's own
 * count that are equal it did not. V8 also knows when the last collection was over.
 *
 *     count        3      3    ▒       4      4     5 ▒    6      looks; ▒: it collects
 *     epochs   ────┼──────┤     ├──────┼──────┤     ·      ├──
 */
export class Collections {
  /** The last ones, in order; never empty. */
  readonly epochs: Epoch[] = [];
  readonly #heap: HeapReader;
  readonly #at: CollectionPlace | null;
  readonly #nowUs: () => number;
  #count = -1;
  #isValid = true;

  /** `at` null: it is not known, and only what `collected` is told counts. */
  constructor(heap: HeapReader, at: CollectionPlace | null, nowUs: () => number) {
    this.#heap = heap;
    this.#at = at;
    this.#nowUs = nowUs;
    this.#begin(Number.NEGATIVE_INFINITY);
    if (at !== null) this.look();
  }

  get current(): Epoch {
    return this.epochs.at(-1)!;
  }

  /** False: what is at this address is no count, or no longer. */
  get isValid(): boolean {
    return this.#isValid;
  }

  /** Whether the current epoch goes on, as far as can be told. */
  look(): boolean {
    const beginUs = this.#nowUs();
    if (this.#at === null) {
      this.current.untilUs = Math.max(this.current.untilUs, beginUs);
      return true;
    }
    const count = this.#read(this.#at);
    if (count === null) return false;
    const isSame = count === this.#count;
    if (!isSame) {
      const isFirst = this.#count < 0;
      const seenUs = this.#nowUs();
      const endedUs = count === 0 ? Number.NEGATIVE_INFINITY : this.#endedUs(this.#at);
      const isPlausible = endedUs <= beginUs && (isFirst || endedUs > this.current.untilUs);
      if (isFirst) this.epochs.length = 0;
      this.#count = count;
      this.#begin(isPlausible ? endedUs : seenUs);
    }
    this.current.untilUs = beginUs;
    return isSame;
  }

  /**
   * When the last collection was over; NaN: nobody knows. Where this is of a later one than the
   * count, it is too late only.
   */
  #endedUs({ heap, layout }: CollectionPlace): number {
    try {
      const tracer = this.#heap.bytes(heap + BigInt(layout.tracer), 8).getBigUint64(0, true);
      const view = this.#heap.bytes(tracer + BigInt(layout.ended), 8);
      const ended = layout.isEndedDouble
        ? view.getFloat64(0, true) * 1000
        : Number(view.getBigInt64(0, true));
      // V8 has cut off what is less than a microsecond.
      return ended + 1 + this.#nowUs() - Number(process.hrtime.bigint()) / 1000;
    } catch (error) {
      if (error instanceof HeapMismatch) return Number.NaN;
      throw error;
    }
  }

  /** Null: it is being collected, or cannot be read. */
  #read({ heap, layout }: CollectionPlace): number | null {
    try {
      const view = this.#heap.bytes(heap + BigInt(layout.count - STATE_BEFORE), BYTES);
      const state = view.getUint32(0, true);
      const count = view.getInt32(STATE_BEFORE, true);
      const all = view.getInt32(STATE_BEFORE + ALL_BEHIND, true);
      if (state > TEAR_DOWN || count < Math.max(0, this.#count) || all < count) this.#isValid = false;
      return this.#isValid && state !== MARK_COMPACT && state !== TEAR_DOWN ? count : null;
    } catch (error) {
      if (error instanceof HeapMismatch) return null;
      throw error;
    }
  }

  /** Code has gone since `lastLookUs`: without a count this is the only sign. */
  collected(lastLookUs: number): void {
    if (this.#at !== null) return;
    this.current.untilUs = Math.min(this.current.untilUs, lastLookUs);
    this.#begin(this.#nowUs() + COLLECTS_US);
  }

  #begin(fromUs: number): void {
    this.epochs.push({ fromUs, untilUs: fromUs });
    if (this.epochs.length > MOST_EPOCHS) this.epochs.shift();
  }
}
