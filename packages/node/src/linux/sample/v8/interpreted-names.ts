import type { CodePosition } from '@counterpoint/core/jit';
import { type BytecodeLines, readBytecodeLines } from './bytecode-lines.ts';
import type { CodeSpaceLayout } from './code-space-layout.ts';
import { type CollectionPlace, Collections, type Epoch } from './collections.ts';
import type { FunctionIndex } from './function-index.ts';
import type { FunctionPlace, FunctionPlaces } from './function-places.ts';
import { addressOf, field, HeapMismatch, type HeapReader, type Tagged } from './heap-reader.ts';
import type { ScriptLists } from './script-lists.ts';
import type { V8Layout } from './v8-layout.ts';

/**
 * Where the addresses are that stand for functions which V8 interprets: above all memory of user space,
 * and below that of the kernel.
 */
export const INTERPRETED_START = 2 ** 48;
export const INTERPRETED_BYTES = 1 << 24;
/** Of a function whose lines nobody knows. */
const FUNCTION_BYTES = 16;
/** Of each place in the source that a function has: an address in it, and one behind it for calls. */
const PLACE_BYTES = 2;
const WORD = 8;
const MOST_ENTRIES = 1 << 16;
/** Of all names that have an address. */
const MOST_NAME_UNITS = 1 << 24;
/** Without a count of collections a bytecode array may be that of another function after so long. */
const HOLDS_US = 50e3;
/** A function that nobody knows is asked for again so often. */
const TRIES_AGAIN_MS = 50;
/** A sample whose time nobody knows was taken so long before it is read, at most. */
const LATEST_READ_US = 250e3;
/** After the end of its process a function that was seen so shortly before is still the same. */
const SEEN_BEFORE_END_US = 500e3;
/** Who has collected nothing for so long does not begin in the last moment. */
const COLLECTS_RARELY_US = 1e6;
/** Functions that a bytecode array was of, one after the other. */
const MOST_SPANS = 3;
/** Heaps that were no longer what they had been: of threads that ended. */
const MOST_ENDED_HEAPS = 1 << 12;

/**
 * When a sample was taken, by the clock of `nowUs`, and of which thread it is; `timeUs` null: nobody knows.
 */
export interface SampleMoment {
  timeUs: number | null;
  tid: number;
}

/** `place` null: of functions that nobody can tell for certain. */
export type AddInterpreted = (
  start: number,
  size: number,
  place: FunctionPlace | null,
  positions: readonly CodePosition[],
) => void;

/** The addresses of a function. */
interface Addresses {
  start: number;
  lines: BytecodeLines | null;
}

/** From the beginning of one epoch to the end of another a bytecode array is of one function. */
interface Span {
  address: number;
  first: Epoch;
  last: Epoch;
  /** When this was read last. */
  readUs: number;
  /** The last one that was seen with it. */
  closure: number;
}

interface Known {
  /** In order of time. */
  spans: Span[];
  /** The closure that told nothing, and when it is asked again. */
  closure: number;
  triesAgainMs: number;
  /** What a sample of before an epoch led to, when it was read in that epoch. */
  later: { epoch: Epoch; address: number } | null;
}

const NOTHING_KNOWN: Known = { spans: [], closure: 0, triesAgainMs: Number.NEGATIVE_INFINITY, later: null };

/** Of one thread that runs JavaScript, or of all where this is not known. */
interface Isolate {
  collections: Collections;
  /** -1: no sample of it has come yet. */
  tid: number;
  /** Whether the collections are counted. */
  isCounted: boolean;
  /** By bytecode array. */
  known: Map<number, Known>;
}

/**
 * Interpreted functions by their bytecode arrays. Memory is read later than the sample was taken, and what
 * was collected meanwhile may have become another function. So a name counts for the epoch in which it was
 * read, and for the time between two epochs at both of which it was the same.
 */
export class InterpretedNames {
  readonly #heap: HeapReader;
  readonly #layout: V8Layout;
  readonly #space: CodeSpaceLayout;
  readonly #functions: FunctionIndex;
  readonly #places: FunctionPlaces;
  readonly #scripts: ScriptLists;
  readonly #add: AddInterpreted;
  readonly #nowUs: () => number;
  #uncertain = 0;
  readonly #isolates = new Map<bigint, Isolate>();
  /** Of all whose heap or whose count is not known. */
  readonly #uncounted: Isolate;
  #endedHeaps = 0;
  /** By name and place. */
  readonly #addresses = new Map<string, Addresses>();
  /** By address of the function. */
  readonly #lines = new Map<number, BytecodeLines>();
  /** The same object as long as the function in memory looks the same. */
  readonly #starts = new WeakMap<FunctionPlace, { bytecode: Tagged; start: number }>();
  #next = INTERPRETED_START;
  #nameUnits = 0;

  constructor(
    heap: HeapReader,
    layout: V8Layout,
    space: CodeSpaceLayout,
    scripts: ScriptLists,
    functions: FunctionIndex,
    places: FunctionPlaces,
    add: AddInterpreted,
    nowUs: () => number,
  ) {
    this.#heap = heap;
    this.#layout = layout;
    this.#space = space;
    this.#functions = functions;
    this.#places = places;
    this.#scripts = scripts;
    this.#add = add;
    this.#nowUs = nowUs;
    this.#uncounted = isolateOf(new Collections(heap, null, nowUs), -1, false);
  }

  /**
   * An address that stands for the function and the place in it, or 0. `offset`: in the bytecode
   * array, as the frame has it; `currentOffset`: as the register has it, which may be used for
   * something else; -1: it is not known.
   */
  addressOf(
    bytecode: number,
    closure: number,
    offset: number,
    currentOffset: number,
    moment: SampleMoment,
  ): number {
    const address = this.#functionAddress(bytecode, closure, moment);
    const lines = this.#lines.get(address);
    if (lines === undefined) return address;
    // Bytecodes that call nothing do not write where they are.
    const isCurrent = lines.starts !== null && hasSorted(lines.starts, this.#within(currentOffset));
    const at = this.#within(isCurrent ? currentOffset : offset);
    return at < 0 || at >= lines.sizeBytes ? address : address + PLACE_BYTES * rowAt(lines.positions, at) + 1;
  }

  /** An offset counts from the object. */
  #within(offset: number): number {
    return offset + 1 - this.#space.bytecodeData;
  }

  /** An address that stands for the function, or 0. */
  #functionAddress(bytecode: number, closure: number, { timeUs, tid }: SampleMoment): number {
    const isolate = this.#isolateOf(bytecode, tid);
    const nowUs = this.#nowUs();
    const fromUs = timeUs ?? nowUs - LATEST_READ_US;
    const untilUs = timeUs ?? nowUs;
    if (isolate.collections.current.untilUs < untilUs) this.#look(isolate);
    const known = isolate.known.get(bytecode) ?? NOTHING_KNOWN;
    for (const span of known.spans) {
      const isHeld = isolate.isCounted || nowUs < span.readUs + HOLDS_US;
      if (span.first.fromUs > fromUs || untilUs > span.last.untilUs || !isHeld) continue;
      span.closure = closure;
      return span.address;
    }
    if (known.closure === closure && performance.now() < known.triesAgainMs) return 0;
    const last = known.spans.at(-1);
    if (last !== undefined) {
      if (isHeldAtEnd(isolate, last, closure, untilUs) && !this.#heap.isThere(addressOf(BigInt(bytecode))))
        return last.address;
      // It is of before what is known.
      if (last.last === isolate.collections.current && isolate.isCounted) return this.#uncertainAddress();
    }
    if (known.later?.epoch === isolate.collections.current && fromUs < known.later.epoch.fromUs)
      return this.#between(last, known.later.address, fromUs);
    const sharedFunction = this.#sharedFunctionOf(BigInt(bytecode), BigInt(closure));
    const address = sharedFunction === null ? 0 : this.#addressOf(sharedFunction, BigInt(bytecode));
    // What was read while it was collected is nothing.
    if (address !== 0 && !this.#look(isolate)) return this.#uncertainAddress();
    if (isolate.known.size >= MOST_ENTRIES) isolate.known.clear();
    const { current } = isolate.collections;
    if (address === 0) {
      const triesAgainMs = performance.now() + TRIES_AGAIN_MS;
      isolate.known.set(bytecode, { ...known, closure, triesAgainMs });
      return 0;
    }
    // What is there now may be garbage that nobody has used again yet; but a frame of this epoch uses it.
    if (current.fromUs > fromUs) {
      isolate.known.set(bytecode, { ...known, later: { epoch: current, address } });
      return this.#between(last, address, fromUs);
    }
    if (last?.address === address) Object.assign(last, { last: current, readUs: nowUs, closure });
    else {
      const span = { address, first: current, last: current, readUs: nowUs, closure };
      isolate.known.set(bytecode, { ...known, spans: [...known.spans, span].slice(-MOST_SPANS) });
    }
    return address;
  }

  /** It is the same function only where it was so before and later. */
  #between(before: Span | undefined, later: number, timeUs: number): number {
    return before !== undefined && before.address === later && before.first.fromUs <= timeUs
      ? later
      : this.#uncertainAddress();
  }

  /** Whether it is still the epoch that it was. */
  #look(isolate: Isolate): boolean {
    const { collections } = isolate;
    const before = collections.current;
    const isSame = collections.look();
    // Others may be where these were, and look like them.
    if (collections.current !== before) {
      this.#functions.forget();
      this.#places.forget();
    }
    return isSame;
  }

  /** From time to time, so that epochs are long. False: something is being collected, or cannot be read. */
  look(): boolean {
    const layout = this.#layout.collections;
    let isQuiet = layout !== null;
    for (const heap of layout === null ? [] : this.#scripts.heaps()) {
      const known = this.#isolates.get(heap);
      if (known === undefined) this.#isolates.set(heap, this.#isolateAt({ heap, layout: layout! }, -1));
      else if (!this.#look(known)) isQuiet = false;
    }
    return isQuiet;
  }

  /**
   * When the last collection of any isolate was over, 0 where there was none; null: nobody knows. As of the
   * last `look`.
   */
  collectedUs(): number | null {
    const counted = [...this.#isolates.values()].map(({ collections }) => collections);
    if (counted.length === 0 || counted.some(({ isValid }) => !isValid)) return null;
    return Math.max(0, ...counted.map(({ current }) => current.fromUs));
  }

  #isolateAt(place: CollectionPlace, tid: number): Isolate {
    return isolateOf(new Collections(this.#heap, place, this.#nowUs), tid, true);
  }

  /** By the page of the bytecode array. */
  #isolateOf(bytecode: number, tid: number): Isolate {
    const layout = this.#layout.collections;
    const heap = layout === null ? null : this.#scripts.heapOf(bytecode);
    if (layout === null || heap === null || this.#endedHeaps >= MOST_ENDED_HEAPS) return this.#uncounted;
    const known = this.#isolates.get(heap);
    // An isolate runs in one thread, and that of the next thread may be in the same place.
    if (known !== undefined && (known.tid === tid || known.tid < 0) && known.collections.isValid) {
      known.tid = tid;
      return known;
    }
    if (known !== undefined) this.#endedHeaps++;
    const isolate = this.#isolateAt({ heap, layout }, tid);
    this.#isolates.set(heap, isolate);
    return isolate;
  }

  /** Code has been collected. */
  collected(lastLookUs: number): void {
    this.#uncounted.collections.collected(lastLookUs);
  }

  /** Stands for all of which nobody knows for certain what they are. */
  #uncertainAddress(): number {
    if (this.#uncertain === 0) {
      this.#uncertain = this.#next;
      this.#next += FUNCTION_BYTES;
      this.#add(this.#uncertain, FUNCTION_BYTES, null, []);
    }
    return this.#uncertain;
  }

  #sharedFunctionOf(bytecode: Tagged, closure: Tagged): Tagged | null {
    return this.#byClosure(bytecode, closure) ?? this.#functions.of(bytecode);
  }

  /** By the closure in the frame, if it has not been moved since. */
  #byClosure(bytecode: Tagged, closure: Tagged): Tagged | null {
    const sharedFunction = this.#functionOf(closure);
    if (sharedFunction === null || this.#functions.bytecodeOf(sharedFunction) !== bytecode) return null;
    return sharedFunction;
  }

  /** What stands where a closure has its function. */
  #functionOf(closure: Tagged): Tagged | null {
    const { sharedFunction: at } = this.#space;
    try {
      return field(this.#heap.bytes(addressOf(closure), at + WORD), at);
    } catch (error) {
      if (error instanceof HeapMismatch) return null;
      throw error;
    }
  }

  #addressOf(sharedFunction: Tagged, bytecode: Tagged): number {
    try {
      const place = this.#places.of(sharedFunction);
      const before = this.#starts.get(place);
      if (before?.bytecode === bytecode) return before.start;
      const start = this.#startOf(place, bytecode);
      this.#starts.set(place, { bytecode, start });
      return start;
    } catch (error) {
      if (error instanceof HeapMismatch) return 0;
      throw error;
    }
  }

  #startOf(place: FunctionPlace, bytecode: Tagged): number {
    const key = `${place.name()} ${place.script.origin}:${place.line}:${place.column}`;
    const known = this.#addresses.get(key);
    const lines = this.#linesOf(bytecode, place);
    // What was compiled again after it was thrown away is the same; another script may have the same names.
    if (known !== undefined && isSame(known.lines, lines)) return known.start;
    const start = this.#next;
    const size = Math.max(
      FUNCTION_BYTES,
      Math.ceil((PLACE_BYTES * (lines?.positions.length ?? 0) + 1) / FUNCTION_BYTES) * FUNCTION_BYTES,
    );
    if (start + size > INTERPRETED_START + INTERPRETED_BYTES) return known?.start ?? 0;
    this.#nameUnits += key.length + (lines?.positions.length ?? 0);
    if (this.#nameUnits > MOST_NAME_UNITS) return known?.start ?? 0;
    this.#next += size;
    this.#addresses.set(key, { start, lines });
    if (lines !== null) this.#lines.set(start, lines);
    const positions = lines?.positions.map((one, row) => ({ ...one, offset: PLACE_BYTES * row })) ?? [];
    this.#add(start, size, place, positions);
    return start;
  }

  #linesOf(bytecode: Tagged, place: FunctionPlace): BytecodeLines | null {
    try {
      return readBytecodeLines(this.#heap, this.#layout, bytecode, place);
    } catch (error) {
      if (error instanceof HeapMismatch) return null;
      throw error;
    }
  }
}

function isolateOf(collections: Collections, tid: number, isCounted: boolean): Isolate {
  return { collections, tid, isCounted, known: new Map() };
}

/**
 * The last samples of a process are read when its memory is gone. What had this bytecode array and this
 * closure a moment ago has them still: a frame keeps both.
 */
function isHeldAtEnd(
  { collections, isCounted }: Isolate,
  span: Span,
  closure: number,
  timeUs: number,
): boolean {
  const { current, epochs } = collections;
  const seenUs = isCounted ? current.untilUs : span.readUs;
  return (
    span.last === current &&
    span.closure === closure &&
    timeUs > seenUs &&
    timeUs < seenUs + SEEN_BEFORE_END_US &&
    (epochs.length === 1 || current.untilUs - current.fromUs > COLLECTS_RARELY_US)
  );
}

/** Whether an address of the one says the same of the other. */
function isSame(one: BytecodeLines | null, other: BytecodeLines | null): boolean {
  if (one === null || other === null) return one === other;
  return (
    one.sizeBytes === other.sizeBytes &&
    one.positions.length === other.positions.length &&
    one.positions.every(({ offset, line, column }, row) => {
      const another = other.positions[row]!;
      return offset === another.offset && line === another.line && column === another.column;
    })
  );
}

/** The last row that begins at `at` or before it. */
function rowAt(positions: readonly CodePosition[], at: number): number {
  let low = 0;
  let high = positions.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (positions[middle]!.offset <= at) low = middle + 1;
    else high = middle;
  }
  return Math.max(0, low - 1);
}

function hasSorted(starts: readonly number[], wanted: number): boolean {
  let low = 0;
  let high = starts.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (starts[middle]! < wanted) low = middle + 1;
    else high = middle;
  }
  return starts[low] === wanted;
}
