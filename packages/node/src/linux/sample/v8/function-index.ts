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
/** Of the lists of all scripts together: most of their functions were never compiled. */
const MOST_ROWS = 1 << 22;
/** Looking for functions takes at most one part in this many of the time. */
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

  /** Objects were collected: what was known may be others by now, and still look like it. */
  forget(): void {
    this.#functions = new Map();
  }

  refresh(): void {
    const start = performance.now();
    this.#functions = new Map();
    this.#heap.inBlocks(() => {
      let rows = 0;
      for (const script of this.#scripts.scripts()) {
        rows += this.#addScript(script);
        if (rows >= MOST_ROWS || this.#functions.size >= MOST_FUNCTIONS) return;
      }
    });
    const end = performance.now();
    this.#nextRefreshMs = end + REST_FACTOR * (end - start);
  }

  /** How many functions its list has. */
  #addScript(script: Tagged): number {
    const functions = this.#functionsOf(script);
    for (const sharedFunction of functions) {
      if (this.#functions.size >= MOST_FUNCTIONS) break;
      const bytecode = this.bytecodeOf(sharedFunction);
      if (bytecode !== null) this.#functions.set(bytecode, sharedFunction);
    }
    return functions.length;
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
    return bytecodeIn(this.#heap, this.#layout, this.#space, data);
  }
}

/** Of a function's data: bytecode, what holds it for the interpreter, or baseline code. */
export function bytecodeIn(
  heap: HeapReader,
  layout: V8Layout,
  space: CodeSpaceLayout,
  data: Tagged,
  mayBeCode = true,
): Tagged | null {
  if (!isObject(data)) return null;
  const { types, interpreterBytecode } = space;
  const type = heap.typeOf(data);
  if (type === types.bytecodeArray) return data;
  const word = (offset: number) => field(heap.bytes(addressOf(data), offset + WORD), offset);
  if (type === types.interpreterData) return word(interpreterBytecode);
  // Code holds no code: memory that says so may lead in a circle.
  return mayBeCode && type === layout.types.code
    ? bytecodeIn(heap, layout, space, word(layout.code.deoptimizationData), false)
    : null;
}
