import { bytecodeIn } from './function-index.ts';
import { field, HeapMismatch, type HeapReader, isObject, smi, type Tagged } from './heap-reader.ts';
import { positionRows } from './source-positions.ts';
import type { V8Layout } from './v8-layout.ts';

/** A function of a script, as V8's `SharedFunctionInfo` describes it. */
export interface FunctionPlace {
  /** Empty where it has none. Reads it. */
  name(): string;
  script: ScriptLines;
  /** From 1. */
  line: number;
  column: number;
}

const SCRIPT_BYTES = 128;
const SHARED_FUNCTION_BYTES = 64;
const BYTECODE_HEAD_BYTES = 64;
const MOST_SCRIPTS = 4096;
/** Of all scripts that are kept. */
const MOST_LINES = 1 << 24;
const MOST_PLACES = 1 << 15;
/** Most scopes of functions are shorter. */
const USUAL_SCOPE_BYTES = 256;

/** Rows of `ScopeInfo`, behind its map. */
const ROW_BYTES = 8;
const SCOPE_FLAGS = 1;
const SCOPE_LOCALS = 3;
const SCOPE_FIRST_VARIABLE = 4;
/** Beyond this the names of variables are in a table of their own (`kScopeInfoMaxInlinedLocalNamesSize`). */
const MOST_INLINED_NAMES = 75;
/** Bits of a `ScopeInfo`'s flags. */
const HAS_CLASS_VARIABLE = 1 << 10;
const FUNCTION_VARIABLE = 3 << 12;
const HAS_INFERRED_NAME = 1 << 14;

/** Evaluated code may evaluate code. */
const MOST_EVALS = 4;

/** The lines of a script: from an offset in its source to a line and a column. */
export class ScriptLines {
  /** As V8 has it: empty where `eval` made it. */
  readonly name: string;
  /** Its name, or where it was made: `eval at compile (/app/views.js:10:5), <anonymous>`. */
  readonly origin: string;
  readonly #ends: Int32Array;
  readonly #lineOffset: number;
  readonly #columnOffset: number;

  constructor(name: string, origin: string, ends: Int32Array, lineOffset: number, columnOffset: number) {
    this.name = name;
    this.origin = origin;
    this.#ends = ends;
    this.#lineOffset = lineOffset;
    this.#columnOffset = columnOffset;
  }

  get lineCount(): number {
    return this.#ends.length;
  }

  /** Both from 1. */
  placeOf(offset: number): { line: number; column: number } {
    let low = 0;
    let high = this.#ends.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#ends[middle]! < offset) low = middle + 1;
      else high = middle;
    }
    const start = low === 0 ? 0 : this.#ends[low - 1]! + 1;
    const shift = low === 0 ? this.#columnOffset : 0;
    return { line: low + this.#lineOffset + 1, column: offset - start + shift + 1 };
  }
}

/** Names and places of functions. Lines of a script are read once. */
export class FunctionPlaces {
  readonly #heap: HeapReader;
  readonly #layout: V8Layout;
  readonly #scripts = new Map<string, ScriptLines>();
  readonly #places = new Map<string, FunctionPlace>();
  #lineCount = 0;

  constructor(heap: HeapReader, layout: V8Layout) {
    this.#heap = heap;
    this.#layout = layout;
  }

  /** Objects were collected: others may be where they were, and look like them. */
  forget(): void {
    this.#places.clear();
    this.#scripts.clear();
    this.#lineCount = 0;
  }

  of(sharedFunction: Tagged, evals = 0): FunctionPlace {
    const { types, sharedFunction: at } = this.#layout;
    const view = this.#heap.object(sharedFunction, SHARED_FUNCTION_BYTES, types.sharedFunction);
    // The address alone may be that of another function by now.
    const key = `${sharedFunction} ${Buffer.from(view.buffer).toString('latin1')}`;
    let place = this.#places.get(key);
    if (place === undefined) {
      const script = this.#script(field(view, at.script), evals);
      const { name, start } = this.#scope(field(view, at.nameOrScopeInfo));
      place = { name, script, ...script.placeOf(start) };
      if (this.#places.size >= MOST_PLACES) this.#places.clear();
      this.#places.set(key, place);
    }
    return place;
  }

  #script(tagged: Tagged, evals: number): ScriptLines {
    const { types, script: at } = this.#layout;
    const view = this.#heap.object(tagged, SCRIPT_BYTES, types.script);
    const ends = field(view, at.lineEnds);
    // The address alone may be that of another script by now.
    const key = `${tagged} ${field(view, at.name)} ${ends}`;
    const known = this.#scripts.get(key);
    if (known !== undefined) return known;
    const name = this.#heap.text(field(view, at.name)) ?? '';
    const script = new ScriptLines(
      name,
      name === '' ? this.#madeAt(view, evals) : name,
      this.#heap.isOfType(ends, types.fixedArray)
        ? Int32Array.from(this.#heap.elements(ends), (end) => smi(end) ?? 0)
        : this.#countLines(view),
      smi(field(view, at.lineOffset)) ?? 0,
      smi(field(view, at.columnOffset)) ?? 0,
    );
    this.#lineCount += script.lineCount;
    if (this.#scripts.size >= MOST_SCRIPTS || this.#lineCount > MOST_LINES) {
      this.#scripts.clear();
      // They hold their scripts.
      this.#places.clear();
      this.#lineCount = script.lineCount;
    }
    this.#scripts.set(key, script);
    return script;
  }

  /** Where `eval` or `new Function` made a script; empty: nobody knows. */
  #madeAt(script: DataView, evals: number): string {
    const { script: at, types } = this.#layout;
    const maker = field(script, at.evalFunction);
    const position = smi(field(script, at.evalPosition));
    if (evals >= MOST_EVALS || position === null) return '';
    try {
      if (!this.#heap.isOfType(maker, types.sharedFunction)) return '';
      const { name, script: outer } = this.of(maker, evals + 1);
      const offset = position >= 0 ? position : this.#offsetAt(maker, -position);
      const { line, column } = outer.placeOf(offset);
      const place = outer.origin === '' ? '' : `${outer.origin}:${line}:${column}`;
      const isNamed = name() !== '';
      return `eval at ${isNamed ? `${name()} (${place})` : place}, <anonymous>`;
    } catch (error) {
      if (error instanceof HeapMismatch) return '';
      throw error;
    }
  }

  /** In the source of a function, of an offset in its bytecode. */
  #offsetAt(sharedFunction: Tagged, bytecodeOffset: number): number {
    const { codeSpace, positionFlagBits, types } = this.#layout;
    if (codeSpace === null) throw new HeapMismatch('a version that does not tell of its bytecode');
    const { functionData, bytecodePositions } = codeSpace;
    const view = this.#heap.object(sharedFunction, SHARED_FUNCTION_BYTES, types.sharedFunction);
    const bytecode = bytecodeIn(this.#heap, this.#layout, codeSpace, field(view, functionData));
    if (bytecode === null) throw new HeapMismatch('a function without bytecode');
    const head = this.#heap.object(bytecode, BYTECODE_HEAD_BYTES, codeSpace.types.bytecodeArray);
    const table = this.#heap.byteArray(field(head, bytecodePositions));
    let found = -1;
    for (const { at, offset } of positionRows(table, Number.MAX_SAFE_INTEGER, positionFlagBits)) {
      if (at > bytecodeOffset) break;
      found = offset;
    }
    if (found < 0) throw new HeapMismatch('a place that nobody knows');
    return found;
  }

  /** V8 counts the lines of a script when somebody asks for one. */
  #countLines(script: DataView): Int32Array {
    const { codeSpace } = this.#layout;
    const source = codeSpace === null ? null : this.#heap.source(field(script, codeSpace.source));
    if (source === null) throw new HeapMismatch('a script whose lines were never counted');
    return lineEnds(source);
  }

  /**
   * Where the function's source begins, and its name:
   *
   *     flags | parameters | locals | (positions) | names, facts of locals | class variable? | name, its slot? |
   *     inferred name? | (positions)
   */
  #scope(scopeInfo: Tagged): { name: () => string; start: number } {
    const { types, scopePositions } = this.#layout;
    const head = this.#heap.object(scopeInfo, USUAL_SCOPE_BYTES, types.scopeInfo);
    const locals = smi(field(head, SCOPE_LOCALS * ROW_BYTES));
    // A Smi has its value in the upper half; versions with the positions first keep plain bits.
    const bits = head.getUint32(SCOPE_FLAGS * ROW_BYTES + (scopePositions === null ? 4 : 0), true);
    if (locals === null || locals < 0 || locals > 1 << 16) throw new HeapMismatch(`${locals} variables`);
    const first = SCOPE_FIRST_VARIABLE + (scopePositions === null ? 0 : 2);
    const names = locals < MOST_INLINED_NAMES ? locals : 1;
    const hasName = (bits & FUNCTION_VARIABLE) !== 0;
    const hasInferred = (bits & HAS_INFERRED_NAME) !== 0;
    const nameRow = first + names + locals + ((bits & HAS_CLASS_VARIABLE) !== 0 ? 1 : 0);
    const inferredRow = nameRow + (hasName ? 2 : 0);
    const behind = inferredRow + (hasInferred ? 1 : 0);
    const positions = scopePositions === null ? behind : scopePositions + 1;
    const bytes = (behind + 2) * ROW_BYTES;
    const view = bytes <= USUAL_SCOPE_BYTES ? head : this.#heap.object(scopeInfo, bytes, types.scopeInfo);
    const start = smi(field(view, positions * ROW_BYTES));
    const end = smi(field(view, (positions + 1) * ROW_BYTES));
    if (start === null || end === null || start < 0 || end < start)
      throw new HeapMismatch('a function without a place');
    // What is kept holds two words, and not all that was read.
    const own = hasName ? field(view, nameRow * ROW_BYTES) : 0n;
    const inferred = hasInferred ? field(view, inferredRow * ROW_BYTES) : 0n;
    const text = (value: Tagged) => (isObject(value) ? (this.#heap.text(value) ?? '') : '');
    return { name: () => text(own) || text(inferred), start };
  }
}

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const LINE_SEPARATOR = 0x2028;
const PARAGRAPH_SEPARATOR = 0x2029;

/** Where the lines of a text end; the last one at its end. */
export function lineEnds(text: Uint8Array | Uint16Array): Int32Array {
  const ends: number[] = [];
  for (let at = 0; at < text.length; at++) {
    const unit = text[at]!;
    if (
      unit !== LINE_FEED &&
      unit !== CARRIAGE_RETURN &&
      unit !== LINE_SEPARATOR &&
      unit !== PARAGRAPH_SEPARATOR
    )
      continue;
    if (unit !== CARRIAGE_RETURN || text[at + 1] !== LINE_FEED) ends.push(at);
  }
  ends.push(text.length);
  return Int32Array.from(ends);
}
