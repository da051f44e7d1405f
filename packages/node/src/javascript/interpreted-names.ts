import type { CodeSpaceLayout } from './code-space-layout.ts';
import type { FunctionIndex } from './function-index.ts';
import type { FunctionPlace, FunctionPlaces } from './function-places.ts';
import { addressOf, field, HeapMismatch, type HeapReader, type Tagged } from './heap-reader.ts';

/**
 * Where the addresses are that stand for functions which V8 interprets: above all memory of user space,
 * and below that of the kernel.
 */
export const INTERPRETED_START = 2 ** 48;
export const INTERPRETED_BYTES = 1 << 24;
/** Of each function. */
const FUNCTION_BYTES = 16;
const WORD = 8;
const MOST_ENTRIES = 1 << 16;
/** A bytecode array may be that of another function after so long. */
const HOLDS_MS = 50;

interface Entry {
  address: number;
  sharedFunction: Tagged | null;
  untilMs: number;
}

/**
 * Interpreted functions by their bytecode arrays. A function is known for sure where it has this bytecode
 * array at the moment at which it is read.
 */
export class InterpretedNames {
  readonly #heap: HeapReader;
  readonly #space: CodeSpaceLayout;
  readonly #functions: FunctionIndex;
  readonly #places: FunctionPlaces;
  readonly #add: (start: number, size: number, place: FunctionPlace) => void;
  readonly #entries = new Map<number, Entry>();
  /** By name and place. */
  readonly #addresses = new Map<string, number>();

  constructor(
    heap: HeapReader,
    space: CodeSpaceLayout,
    functions: FunctionIndex,
    places: FunctionPlaces,
    add: (start: number, size: number, place: FunctionPlace) => void,
  ) {
    this.#heap = heap;
    this.#space = space;
    this.#functions = functions;
    this.#places = places;
    this.#add = add;
  }

  /** An address that stands for the function, or 0. */
  addressOf(bytecode: number, closure: number): number {
    const now = performance.now();
    const known = this.#entries.get(bytecode);
    if (known !== undefined && now < known.untilMs) return known.address;
    const tagged = BigInt(bytecode);
    const isSame =
      known?.sharedFunction != null && this.#functions.bytecodeOf(known.sharedFunction) === tagged;
    const sharedFunction = isSame ? known.sharedFunction : this.#find(tagged, BigInt(closure));
    const address = isSame ? known.address : sharedFunction === null ? 0 : this.#addressOf(sharedFunction);
    if (this.#entries.size >= MOST_ENTRIES) this.#entries.clear();
    this.#entries.set(bytecode, { address, sharedFunction, untilMs: now + HOLDS_MS });
    return address;
  }

  /** By the closure in the frame, if it has not been moved since; else among all functions. */
  #find(bytecode: Tagged, closure: Tagged): Tagged | null {
    try {
      const { sharedFunction: at } = this.#space;
      const sharedFunction = field(this.#heap.bytes(addressOf(closure), at + WORD), at);
      if (this.#functions.bytecodeOf(sharedFunction) === bytecode) {
        this.#functions.add(bytecode, sharedFunction);
        return sharedFunction;
      }
    } catch (error) {
      if (!(error instanceof HeapMismatch)) throw error;
    }
    return this.#functions.of(bytecode);
  }

  #addressOf(sharedFunction: Tagged): number {
    try {
      const place = this.#places.of(sharedFunction);
      const key = `${place.name()} ${place.script.name}:${place.line}:${place.column}`;
      let address = this.#addresses.get(key);
      if (address !== undefined) return address;
      address = INTERPRETED_START + this.#addresses.size * FUNCTION_BYTES;
      if (address + FUNCTION_BYTES > INTERPRETED_START + INTERPRETED_BYTES) return 0;
      this.#addresses.set(key, address);
      this.#add(address, FUNCTION_BYTES, place);
      // A return address is behind the call.
      return address;
    } catch (error) {
      if (error instanceof HeapMismatch) return 0;
      throw error;
    }
  }
}
