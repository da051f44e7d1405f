import type { CodeSpaceLayout } from './code-space-layout.ts';
import {
  addressOf,
  field,
  HeapMismatch,
  type HeapReader,
  isObject,
  smi,
  type Tagged,
} from './heap-reader.ts';
import type { ScriptLists } from './script-lists.ts';
import type { V8Layout } from './v8-layout.ts';

const WORD = 8;
const SCRIPT_BYTES = 128;
/** Of `SharedFunctionInfo`: its map and the fields up to its data. */
const FUNCTION_BYTES = 16;
const ARRAY_LENGTH = 8;
const ARRAY_DATA = 16;
const MOST_FUNCTIONS = 1 << 20;
/** Looking for functions takes no larger share of the time than one in so many. */
const REST_FACTOR = 20;
const WEAK_TAG = 3n;

/**
 * Which function a bytecode array is of. V8 keeps that way round only: script ─ functions ─ their bytecode,
 * so all scripts are gone through when a bytecode array shows up that nobody knows.
 */
export class FunctionIndex {
  readonly #heap: HeapReader;
  readonly #layout: V8Layout;
  readonly #space: CodeSpaceLayout;
  readonly #scripts: ScriptLists;
  #functions = new Map<Tagged, Tagged>();
  #nextRefreshMs = Number.NEGATIVE_INFINITY;

  constructor(heap: HeapReader, layout: V8Layout, space: CodeSpaceLayout, scripts: ScriptLists) {
    this.#heap = heap;
    this.#layout = layout;
    this.#space = space;
    this.#scripts = scripts;
  }

  /** How many functions have bytecode. */
  get size(): number {
    return this.#functions.size;
  }

  /**
   * The function of a bytecode array, at this moment; null: nobody knows, or it was too soon to look again.
   */
  of(bytecode: Tagged): Tagged | null {
    const known = this.#functions.get(bytecode);
    if (known !== undefined && this.bytecodeOf(known) === bytecode) return known;
    if (performance.now() < this.#nextRefreshMs) return null;
    this.refresh();
    return this.#functions.get(bytecode) ?? null;
  }

  /** A function was met, and this is its bytecode. */
  add(bytecode: Tagged, sharedFunction: Tagged): void {
    if (this.#functions.size < MOST_FUNCTIONS) this.#functions.set(bytecode, sharedFunction);
  }

  refresh(): void {
    const start = performance.now();
    this.#functions = new Map();
    this.#heap.inBlocks(() => {
      for (const script of this.#scripts.scripts()) this.#addScript(script);
    });
    const end = performance.now();
    this.#nextRefreshMs = end + REST_FACTOR * (end - start);
  }

  #addScript(script: Tagged): void {
    for (const sharedFunction of this.#functionsOf(script)) {
      if (this.#functions.size >= MOST_FUNCTIONS) return;
      const bytecode = this.bytecodeOf(sharedFunction);
      if (bytecode !== null) this.#functions.set(bytecode, sharedFunction);
    }
  }

  #functionsOf(script: Tagged): Tagged[] {
    try {
      const view = this.#heap.object(script, SCRIPT_BYTES, this.#layout.types.script);
      const list = field(view, this.#space.scriptFunctions);
      const head = this.#heap.object(list, ARRAY_DATA, this.#space.types.weakFixedArray);
      const length = smi(field(head, ARRAY_LENGTH)) ?? 0;
      if (length < 0 || length > MOST_FUNCTIONS) return [];
      const rows = this.#heap.bytes(addressOf(list) + BigInt(ARRAY_DATA), length * WORD);
      const functions: Tagged[] = [];
      for (let row = 0; row < length; row++) {
        const one = field(rows, row * WORD);
        if ((one & WEAK_TAG) === WEAK_TAG && one >> 32n !== 0n) functions.push(one);
      }
      return functions;
    } catch (error) {
      if (error instanceof HeapMismatch) return [];
      throw error;
    }
  }

  /** Null: it is no function, or was never compiled, or is none of a script. */
  bytecodeOf(sharedFunction: Tagged): Tagged | null {
    try {
      const view = this.#heap.object(sharedFunction, FUNCTION_BYTES, this.#layout.types.sharedFunction);
      return this.bytecodeIn(field(view, this.#space.functionData));
    } catch (error) {
      if (error instanceof HeapMismatch) return null;
      throw error;
    }
  }

  /** Bytecode, what holds it for the interpreter, or baseline code. */
  bytecodeIn(data: Tagged): Tagged | null {
    if (!isObject(data)) return null;
    const { types, interpreterBytecode } = this.#space;
    const type = this.#heap.typeOf(data);
    if (type === types.bytecodeArray) return data;
    const word = (offset: number) => field(this.#heap.bytes(addressOf(data), offset + WORD), offset);
    if (type === types.interpreterData) return word(interpreterBytecode);
    return type === this.#layout.types.code
      ? this.bytecodeIn(word(this.#layout.code.deoptimizationData))
      : null;
  }
}
