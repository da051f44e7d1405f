import { InlinedCodeWriter, parseScriptName } from '@counterpoint/core/jit';
import { readBaselineCode } from './bytecode-lines.ts';
import { FunctionIndex } from './function-index.ts';
import { type FunctionPlace, FunctionPlaces } from './function-places.ts';
import { HeapMismatch, HeapReader, memoryOf, type Tagged } from './heap-reader.ts';
import { MapLines } from './map-lines.ts';
import { MapTimesLog } from './map-times-log.ts';
import { MemoryMaps, rootOf } from './memory-maps.ts';
import { isPlaceOf, type MapLine, readOptimisedCode } from './optimised-code.ts';
import { ScriptLists } from './script-lists.ts';
import { knownLayoutOf, type NoLayout, type V8Layout, v8LayoutOf } from './v8-layout.ts';

/** Marks of the compilers that inline: Maglev, TurboFan. */
const OPTIMISED = new Set(['+', '*']);
const MAY_BE_OPTIMISED = /^[A-Z]\w+:o?[+*]/;
const IS_BASELINE = /^[A-Z]\w+:\^/;
/** Pieces whose lines are not known yet. */
const MOST_BASELINE = 1 << 14;
/** Its function is not known at once. */
const MOST_BASELINE_TRIES = 20;
/** A collector may move, at any time, what is being read of optimised code. */
const MOST_OPTIMISED_TRIES = 5;
/** Code of a script, of all that V8 names. */
const OF_SCRIPT = /^(?:JS|LazyCompile|Function|Eval|Script|Module|Wasm):/;
/** Of a program that makes code all the time, this much is kept: readers need some fifty times as much. */
const MOST_BYTES = 16 << 20;
/** Code that is moved or thrown away at once is missed. */
const MOST_FAILED_SHARE = 0.1;
const MOST_PLACES = 1 << 17;
/** Between two looks at the clock. */
const LINES_A_GLANCE = 16;

/** A process that makes code, and where its map may be. */
export interface WatchedMap {
  pid: number;
  paths: readonly string[];
  uid: number;
  /** When it began, by the wall clock: a map that is older is not its map. Null: unknown. */
  startMs: number | null;
  /** It writes none: its code is found in its memory. */
  isNameless: boolean;
}

/** A process whose optimised code is read as it is made. */
export class WatchedProcess implements Disposable {
  readonly pieces = new InlinedCodeWriter();
  /** When the map had which size. */
  readonly times = new MapTimesLog();
  /** Source maps of its scripts; null: nothing is known of it yet. */
  sourceMaps: MemoryMaps | null = null;
  readonly #pid: number;
  readonly #lines: MapLines;
  #hasBegun = false;
  /** What the map calls the function at a place: by the last word of that, as files have spaces. */
  readonly #names = new Map<string, string>();
  #heap: HeapReader | null = null;
  #layout: V8Layout | null = null;
  #places: FunctionPlaces | null = null;
  #functions: FunctionIndex | null = null;
  #baseline: { line: MapLine; tries: number }[] = [];
  /** Optimised code that could not be read. */
  #again: { line: MapLine; tries: number }[] = [];
  #read = 0;
  #failed = 0;
  /** Pieces for which there was no room. */
  #dropped = 0;
  /** Lines that came and were not looked at yet. */
  #waiting: Iterator<MapLine> | null = null;
  /** Lines of before the recording may be of code that is gone. */
  #isUpToDate = false;
  #gap: string | null = null;
  /** Another runtime; or V8 without its constants, as in Deno. */
  #isWithoutData = false;

  constructor({ pid, paths, uid, startMs }: Omit<WatchedMap, 'isNameless'>) {
    this.#pid = pid;
    this.#lines = new MapLines(paths, uid, startMs);
    // It takes a while, and its processes have one program.
    v8LayoutOf(`/proc/${pid}/exe`).catch(() => {});
  }

  /**
   * The process writes its map, so it runs its program. What was opened before that may be of the process
   * that it was forked from: a busy machine takes its time from fork to exec.
   */
  #begin(): void {
    const pid = this.#pid;
    try {
      this.#heap = new HeapReader(memoryOf(pid));
    } catch (error) {
      this.#gap = `its memory cannot be read (${error instanceof Error ? error.message : error})`;
      return;
    }
    const known = knownLayoutOf(`/proc/${pid}/exe`);
    if (known !== null) this.#use(known);
    else
      v8LayoutOf(`/proc/${pid}/exe`).then(
        (layout) => this.#use(layout),
        (error) => {
          this.#gap = `its program cannot be read (${error instanceof Error ? error.message : error})`;
        },
      );
  }

  #use(layout: V8Layout | NoLayout): void {
    if (layout === 'unknown-v8') this.#gap = 'its version of V8 is not known';
    this.#isWithoutData = layout === 'no-v8';
    if (typeof layout === 'string' || this.#heap === null) return;
    this.#layout = layout;
    this.#places = new FunctionPlaces(this.#heap, layout);
    if (layout.codeSpace === null) return;
    const scripts = new ScriptLists(this.#heap, layout, layout.codeSpace);
    this.sourceMaps = new MemoryMaps(this.#heap, layout, layout.codeSpace, scripts, rootOf(this.#pid));
    this.#functions = new FunctionIndex(this.#heap, layout, layout.codeSpace, scripts);
  }

  [Symbol.dispose](): void {
    this.#lines[Symbol.dispose]();
    this.#heap?.[Symbol.dispose]();
    this.#heap = null;
  }

  /** Why inlined functions are unknown; null: they are known, or there are no names at all. */
  get gap(): string | null {
    const failed = this.#failed + this.#again.length;
    const all = failed + this.#read;
    if (failed > all * MOST_FAILED_SHARE) return `${failed} of ${all} pieces of its code could not be read`;
    if (this.#dropped > 0)
      return `it makes more optimised code than is kept: the first ${this.pieces.count} pieces are known, and ${this.#dropped} later ones are not`;
    if (this.#gap !== null && this.#lines.isThere) return this.#gap;
    if (this.#waiting !== null) return 'there was no time to read all of its code';
    return this.#isWithoutData && this.#hasOptimisedCode()
      ? 'its program does not tell where V8 keeps its data'
      : null;
  }

  /** See `V8Layout`; null where it has no names. */
  get untestedVersion(): string | null {
    return this.#lines.isThere ? (this.#layout?.untestedVersion ?? null) : null;
  }

  /** Reads what is new, for so long; whether there was something. `nowNs`: by the clock of the samples. */
  look(budgetMs: number, nowNs: (() => bigint) | null): boolean {
    if (nowNs !== null) this.times.look(() => this.#lines.sizeBytes, nowNs);
    if (!this.#hasBegun && this.#lines.isThere) {
      this.#hasBegun = true;
      this.#begin();
    }
    const heap = this.#heap;
    const layout = this.#layout;
    const places = this.#places;
    if (heap === null || layout === null || places === null) return false;
    const until = performance.now() + budgetMs;
    this.#waiting ??= this.#lines.read();
    let isNew = false;
    for (let count = 0; count % LINES_A_GLANCE !== 0 || performance.now() < until; count++) {
      const { done, value: line } = this.#waiting.next();
      if (done === true) {
        this.#waiting = null;
        this.#isUpToDate = true;
        break;
      }
      isNew = true;
      if (!OF_SCRIPT.test(line.recordedName)) continue;
      this.sourceMaps?.addCode(line.start);
      if (!isOptimised(line.recordedName)) {
        this.#addName(line.recordedName);
        if (IS_BASELINE.test(line.recordedName) && this.#baseline.length < MOST_BASELINE)
          this.#baseline.push({ line, tries: 0 });
      } else if (this.pieces.sizeBytes < MOST_BYTES) {
        this.#readCode(heap, layout, places, line, 1);
        // It takes as long as many other lines.
        count = -1;
      } else this.#dropped++;
    }
    this.sourceMaps?.look(until, isNew);
    if (this.#waiting === null) {
      this.#readAgain(heap, layout, places, until);
      this.#readBaseline(heap, layout, places, until);
    }
    return isNew;
  }

  /** Before the next lines come: then its memory may be that of other code. */
  #readAgain(heap: HeapReader, layout: V8Layout, places: FunctionPlaces, until: number): void {
    const queue = this.#again;
    if (queue.length === 0) return;
    this.#again = [];
    let row = 0;
    for (; row < queue.length && (row === 0 || performance.now() < until); row++) {
      const { line, tries } = queue[row]!;
      this.#readCode(heap, layout, places, line, tries + 1);
    }
    this.#again.push(...queue.slice(row));
  }

  /** Lines of baseline code, when nothing else is to be done. */
  #readBaseline(heap: HeapReader, layout: V8Layout, places: FunctionPlaces, until: number): void {
    const functions = this.#functions;
    const queue = this.#baseline;
    if (functions === null || layout.bytecodeSizes === null || queue.length === 0) return;
    const functionOf = (holder: Tagged) => {
      const bytecode = functions.bytecodeIn(holder);
      const found = bytecode === null ? null : functions.of(bytecode);
      return bytecode === null || found === null ? null : { bytecode, place: places.of(found) };
    };
    const again: typeof queue = [];
    let row = 0;
    for (; row < queue.length && (row === 0 || performance.now() < until); row++) {
      const { line, tries } = queue[row]!;
      if (this.pieces.sizeBytes >= MOST_BYTES) continue;
      try {
        const code = readBaselineCode(
          heap,
          layout,
          line,
          (holder) => {
            const found = functionOf(holder);
            if (found !== null && !isPlaceOf(found.place, line.recordedName))
              throw new HeapMismatch('another function is there');
            return found;
          },
          (place) => this.#ownNameOf(place),
        );
        if (code !== null) this.pieces.add(code);
        else if (tries < MOST_BASELINE_TRIES) again.push({ line, tries: tries + 1 });
      } catch (error) {
        if (!(error instanceof HeapMismatch)) throw error;
      }
    }
    this.#baseline = [...again, ...queue.slice(row)];
  }

  /** As V8 writes it. Asked at the end, of maps that nothing else has read. */
  #hasOptimisedCode(): boolean {
    for (const { recordedName } of this.#lines.read()) if (isOptimised(recordedName)) return true;
    return false;
  }

  #addName(recordedName: string): void {
    if (this.#names.size < MOST_PLACES) this.#names.set(lastWordOf(recordedName), recordedName);
  }

  #readCode(heap: HeapReader, layout: V8Layout, places: FunctionPlaces, line: MapLine, tries: number): void {
    try {
      const code = readOptimisedCode(
        heap,
        layout,
        places,
        line,
        (place) => this.#textOf(place),
        (place) => this.#ownNameOf(place),
      );
      this.#read++;
      if (code !== null) this.pieces.add(code);
    } catch (error) {
      if (!(error instanceof HeapMismatch)) throw error;
      if (!this.#isUpToDate) return;
      if (tries < MOST_OPTIMISED_TRIES && this.#again.length < MOST_BASELINE)
        this.#again.push({ line, tries });
      else this.#failed++;
    }
  }

  /** Of a function that its recorded name does not tell. */
  #ownNameOf(place: FunctionPlace): string | null {
    const { name, origin } = place.script;
    return name === '' && origin !== '' ? this.#textOf(place) : null;
  }

  /** As a perf map calls the function, so that it is one with its own code. */
  #textOf({ name, script, line, column }: FunctionPlace): string {
    if (script.name === '' && script.origin !== '') return `JS:~${name()} ${script.origin}:${line}:${column}`;
    const place = `${script.name}:${line}:${column}`;
    const known = this.#names.get(lastWordOf(place));
    return known?.endsWith(` ${place}`) === true ? known : `JS:~${name()} ${place}`;
  }
}

/**
 * Taking a name apart costs more than all else that is done with a line, and few lines are of optimised code.
 */
function isOptimised(recordedName: string): boolean {
  return MAY_BE_OPTIMISED.test(recordedName) && OPTIMISED.has(parseScriptName(recordedName)?.tier ?? '');
}

function lastWordOf(text: string): string {
  return text.slice(text.lastIndexOf(' ') + 1);
}
