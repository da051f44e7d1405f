import { InlinedCodeWriter } from '@counterpoint/core/jit';
import { type CodeObject, CodeSpace } from './code-space.ts';
import type { CodeSpaceLayout } from './code-space-layout.ts';
import type { InterpretedFunctions } from './frame-walker.ts';
import { FunctionIndex } from './function-index.ts';
import { type FunctionPlace, FunctionPlaces } from './function-places.ts';
import { field, HeapMismatch, HeapReader, type Tagged } from './heap-reader.ts';
import { InterpretedNames } from './interpreted-names.ts';
import { MapTimesLog } from './map-times-log.ts';
import { compiledFunction, readOptimisedCode } from './optimised-code.ts';
import { ScriptLists } from './script-lists.ts';
import { knownLayoutOf, type NoLayout, type V8Layout, v8LayoutOf } from './v8-layout.ts';

/** As in a perf map of V8. */
const INTERPRETED_MARK = '~';
const MARK_OF_KIND = { baseline: '^', maglev: '+', turbofan: '*' } as const;
const MOST_LINES = 1 << 17;
/** Of what its code inlines: readers need some fifty times as much. */
const MOST_INLINED_BYTES = 16 << 20;
/** Code whose function nobody knows is asked for again so often. */
const MOST_TRIES = 20;
/** Looking takes no larger share of the time than one in so many. */
const REST_FACTOR = 20;

interface Reading {
  heap: HeapReader;
  layout: V8Layout;
  space: CodeSpaceLayout;
  code: CodeSpace;
  scripts: ScriptLists;
  functions: FunctionIndex;
  places: FunctionPlaces;
  interpreted: InterpretedNames;
}

interface Waiting {
  piece: CodeObject;
  tries: number;
}

/**
 * A running Node that writes no map of its code. What a map would say is read from its memory, again
 * and again: which code came since the last look, and of which function it is. Nothing runs in the
 * process, and it is never stopped.
 */
export class NamelessProcess implements Disposable, InterpretedFunctions {
  /** What its optimised code inlines. */
  readonly pieces = new InlinedCodeWriter();
  /** When the map had which size. */
  readonly times = new MapTimesLog();
  readonly #lines: string[] = [];
  #sizeBytes = 0;
  #reading: Reading | null = null;
  #waiting: Waiting[] = [];
  #nextLookMs = Number.NEGATIVE_INFINITY;
  #isDisposed = false;
  /** Why its code has no names; null: it has, or nobody knows yet. */
  whyNot: string | null = null;
  #isNode = true;

  constructor(pid: number) {
    const program = `/proc/${pid}/exe`;
    const known = knownLayoutOf(program);
    if (known !== null) this.#begin(pid, known);
    else
      v8LayoutOf(program).then(
        (layout) => this.#begin(pid, layout),
        (error) => {
          this.whyNot = `its program cannot be read (${error instanceof Error ? error.message : error})`;
        },
      );
  }

  get canWalkFrames(): boolean {
    return this.#reading !== null;
  }

  get space(): CodeSpaceLayout {
    return this.#reading!.space;
  }

  isGeneratedCode(address: number): boolean {
    return this.#reading?.code.has(address) ?? false;
  }

  addressOf(bytecode: number, closure: number): number {
    return this.#reading?.interpreted.addressOf(bytecode, closure) ?? 0;
  }

  #begin(pid: number, layout: V8Layout | NoLayout): void {
    if (this.#isDisposed) return;
    this.whyNot = whyUnreadable(layout);
    this.#isNode = layout !== 'no-v8';
    if (typeof layout === 'string' || layout.codeSpace === null) return;
    try {
      this.#reading = readingOf(pid, layout, layout.codeSpace, (start, size, place) =>
        this.#addLine(start, size, textOf(place, INTERPRETED_MARK)),
      );
    } catch (error) {
      const why = error instanceof Error ? error.message : error;
      this.whyNot = `its memory cannot be read (${why}; root may, and its user where kernel.yama.ptrace_scope is 0)`;
    }
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true;
    this.#reading?.heap[Symbol.dispose]();
    this.#reading = null;
  }

  /** Of a program with V8: why its code has no names. */
  get gap(): string | null {
    return this.#isNode ? this.whyNot : null;
  }

  /** What is known of its code, as a perf map tells it. */
  map(): Uint8Array<ArrayBuffer> {
    return new TextEncoder().encode(this.#lines.join(''));
  }

  /** See `WatchedProcess`. The last look comes at once. */
  look(budgetMs: number, nowNs: (() => bigint) | null, isLast = false): boolean {
    const reading = this.#reading;
    const begin = performance.now();
    if (reading === null || (begin < this.#nextLookMs && !isLast)) return false;
    if (nowNs !== null) this.times.add(nowNs(), this.#sizeBytes);
    const found = reading.code.look();
    for (const piece of found) {
      reading.scripts.add(piece.start - reading.layout.streamHeaderBytes, piece.map);
      this.#waiting.push({ piece, tries: 0 });
    }
    this.#nameWaiting(reading, begin + budgetMs);
    const end = performance.now();
    this.#nextLookMs = end + REST_FACTOR * (end - begin);
    return found.length > 0;
  }

  #nameWaiting(reading: Reading, untilMs: number): void {
    const again: Waiting[] = [];
    let row = 0;
    for (; row < this.#waiting.length && performance.now() < untilMs; row++) {
      const { piece, tries } = this.#waiting[row]!;
      if (!this.#nameCode(reading, piece) && tries < MOST_TRIES) again.push({ piece, tries: tries + 1 });
    }
    this.#waiting = [...again, ...this.#waiting.slice(row)];
  }

  /** False: its function is not known, or not yet. */
  #nameCode(reading: Reading, piece: CodeObject): boolean {
    const { heap, layout, space, places } = reading;
    try {
      const mark = markOf(space, piece.kind);
      if (mark === null) return true;
      const sharedFunction = functionOf(reading, piece);
      if (sharedFunction === null) return false;
      const place = places.of(sharedFunction);
      const recordedName = textOf(place, mark);
      this.#addLine(piece.start, piece.size, recordedName);
      if (piece.kind === space.kinds.baseline || this.pieces.sizeBytes >= MOST_INLINED_BYTES) return true;
      const line = { start: piece.start, size: piece.size, recordedName };
      const inlined = readOptimisedCode(heap, layout, places, line, (one) => textOf(one, INTERPRETED_MARK));
      if (inlined !== null) this.pieces.add(inlined);
      return true;
    } catch (error) {
      if (error instanceof HeapMismatch) return false;
      throw error;
    }
  }

  #addLine(start: number, size: number, name: string): void {
    if (this.#lines.length >= MOST_LINES) return;
    // A name is one line, whatever a program calls its functions.
    const line = `${start.toString(16)} ${size.toString(16)} ${name.replaceAll(/[\r\n]/g, ' ')}\n`;
    this.#lines.push(line);
    this.#sizeBytes += Buffer.byteLength(line);
  }
}

function readingOf(
  pid: number,
  layout: V8Layout,
  space: CodeSpaceLayout,
  addInterpreted: (start: number, size: number, place: FunctionPlace) => void,
): Reading {
  const heap = new HeapReader(pid);
  const scripts = new ScriptLists(heap, layout, space);
  const functions = new FunctionIndex(heap, layout, space, scripts);
  const places = new FunctionPlaces(heap, layout);
  return {
    heap,
    layout,
    space,
    scripts,
    functions,
    places,
    code: new CodeSpace(pid, heap, layout, space),
    interpreted: new InterpretedNames(heap, space, functions, places, addInterpreted),
  };
}

/** Null: its code can be read. */
export function whyUnreadable(layout: V8Layout | NoLayout): string | null {
  if (layout === 'no-v8') return 'it does not export where its V8 keeps things';
  if (layout === 'unknown-v8' || layout.codeSpace === null) return 'its version of V8 is not known';
  return null;
}

function functionOf({ heap, layout, space, functions }: Reading, { kind, view }: CodeObject): Tagged | null {
  const data = field(view, layout.code.deoptimizationData);
  if (kind !== space.kinds.baseline) return compiledFunction(heap, layout, data);
  const bytecode = functions.bytecodeIn(data);
  return bytecode === null ? null : functions.of(bytecode);
}

function markOf({ kinds }: CodeSpaceLayout, kind: number): string | null {
  if (kind === kinds.baseline) return MARK_OF_KIND.baseline;
  if (kind === kinds.maglev) return MARK_OF_KIND.maglev;
  return kind === kinds.turbofan ? MARK_OF_KIND.turbofan : null;
}

function textOf({ name, script, line, column }: FunctionPlace, mark: string): string {
  return `JS:${mark}${name()} ${script.name}:${line}:${column}`;
}
