/** How long one function takes, all its calls together and by who calls it. */
import type { AddressTable } from './address-table.ts';
import { CALL_UNTRACED, LEFT_LATE, LEFT_RETURN } from './call-kinds.ts';
import { type CallRecord, NO_ROW } from './call-record.ts';

/** How many values are kept as they are. More are counted in classes. */
const MOST_EXACT = 1 << 14;
/** Classes between a power of two and the next: a percentile is then at most 1/64 too high. */
const CLASSES = 64;
const CLASS_BITS = 6;
/** Callers beyond these are counted together. */
const MOST_CALLERS = 1 << 12;

/** Numbers of whole ticks: exact while few, else in classes whose width is at most 1/64 of the value. */
export class Distribution {
  /** Number of values. */
  count = 0;
  /** Of all values. */
  sum = 0;
  /** The least value; infinite without any. */
  min: number = Number.POSITIVE_INFINITY;
  /** The greatest value; 0 without any. */
  max = 0;
  #values: number[] = [];
  #classes: Float64Array | null = null;

  /** Count a value: a whole number, 0 or more. */
  add(value: number): void {
    this.count++;
    this.sum += value;
    if (value < this.min) this.min = value;
    if (value > this.max) this.max = value;
    if (this.#classes === null) {
      this.#values.push(value);
      if (this.#values.length <= MOST_EXACT) return;
      this.#classes = new Float64Array(54 * CLASSES);
      for (const one of this.#values) this.#classes[classOf(one)]! += 1;
      this.#values = [];
    } else this.#classes[classOf(value)]! += 1;
  }

  /** Percentiles are exact; else at most this share too high. */
  get resolution(): number {
    return this.#classes === null ? 0 : 1 / CLASSES;
  }

  /** NaN without any value. */
  get mean(): number {
    return this.sum / this.count;
  }

  /** The least value that `percent` of all do not exceed; NaN without any. */
  percentile(percent: number): number {
    if (this.count === 0) return Number.NaN;
    const rank = Math.max(1, Math.ceil((percent / 100) * this.count));
    if (this.#classes === null) return this.#values.sort((a, b) => a - b)[rank - 1]!;
    let seen = 0;
    for (let at = 0; at < this.#classes.length; at++) {
      seen += this.#classes[at]!;
      if (seen >= rank) return Math.min(this.max, Math.max(this.min, lastOf(at)));
    }
    return this.max;
  }
}

/** Below 128 each value has a class; above, 64 for each power of two. */
function classOf(value: number): number {
  if (value < 2 * CLASSES) return value;
  const exponent = Math.floor(Math.log2(value));
  // The logarithm of a number just below a power of two may be rounded up to it.
  const power = 2 ** exponent > value ? exponent - 1 : exponent;
  return (power - CLASS_BITS) * CLASSES + Math.floor(value / 2 ** (power - CLASS_BITS));
}

/** The largest value of a class. */
function lastOf(at: number): number {
  if (at < 2 * CLASSES) return at;
  const power = Math.floor(at / CLASSES) - 1 + CLASS_BITS;
  return ((at % CLASSES) + CLASSES + 1) * 2 ** (power - CLASS_BITS) - 1;
}

/** How long a function took where one instruction called it. */
export interface CallerLatency {
  /**
   * The calling instruction; NO_ROW where the call was not seen, or where there are too many to tell apart.
   */
  readonly callerRow: number;
  /** TSC ticks of each call; empty where the trace has no time. */
  readonly ticks: Distribution;
  /** Instructions of each call, with those of the calls inside it. */
  readonly instructions: Distribution;
}

/** How long one function takes, all its calls together and by who calls it. Give it every call that ends. */
export class FunctionLatency {
  /** TSC ticks of each call; empty where the trace has no time. */
  readonly ticks = new Distribution();
  /** Instructions of each call, with those of the calls inside it. */
  readonly instructions = new Distribution();
  /** Calls that did not end by a return, or whose beginning was not seen: they are in no distribution. */
  unfinished = 0;
  /** Calls without a time: they are in `instructions` only. */
  untimed = 0;
  readonly #addresses: AddressTable;
  readonly #lo: number;
  readonly #hi: number;
  #row: number = NO_ROW;
  readonly #callers = new Map<number, CallerLatency>();

  /** The function at an address: its 32-bit halves, signed or not. */
  constructor(addresses: AddressTable, lo: number, hi: number) {
    this.#addresses = addresses;
    this.#lo = lo | 0;
    this.#hi = hi | 0;
  }

  /** Take a call that has ended; one of another function is left out. For `CallListener.onLeave`. */
  add(call: Readonly<CallRecord>): void {
    if (this.#row === NO_ROW) this.#row = this.#addresses.rowOf(this.#lo, this.#hi);
    if (call.functionRow !== this.#row || call.kind === CALL_UNTRACED) return;
    if (!endedWell(call)) {
      this.unfinished++;
      return;
    }
    const caller = this.#callerOf(call.callerRow);
    this.instructions.add(call.instructions);
    caller.instructions.add(call.instructions);
    const { durationTicks } = call;
    if (Number.isNaN(durationTicks)) {
      this.untimed++;
      return;
    }
    this.ticks.add(durationTicks);
    caller.ticks.add(durationTicks);
  }

  /** The most time first, or without time the most instructions. */
  callers(): CallerLatency[] {
    return [...this.#callers.values()].sort(
      (a, b) => b.ticks.sum - a.ticks.sum || b.instructions.sum - a.instructions.sum,
    );
  }

  #callerOf(row: number): CallerLatency {
    const key = this.#callers.has(row) || this.#callers.size < MOST_CALLERS ? row : NO_ROW;
    let caller = this.#callers.get(key);
    if (caller === undefined) {
      caller = { callerRow: key, ticks: new Distribution(), instructions: new Distribution() };
      this.#callers.set(key, caller);
    }
    return caller;
  }
}

/** It came back, and it is known when it began. */
function endedWell({ left, callerRow }: Readonly<CallRecord>): boolean {
  return (left === LEFT_RETURN || left === LEFT_LATE) && callerRow !== NO_ROW;
}
