import { InlinedCodeWriter, parseScriptName, type ScriptName } from '@counterpoint/core/jit';
import { type FunctionPlace, FunctionPlaces } from './function-places.ts';
import { HeapMismatch, HeapReader } from './heap-reader.ts';
import { MapLines } from './map-lines.ts';
import { MapTimesLog } from './map-times-log.ts';
import { type MapLine, readOptimisedCode } from './optimised-code.ts';
import { type V8Layout, v8LayoutOf } from './v8-layout.ts';

/** Marks of the compilers that inline: Maglev, TurboFan. */
const OPTIMISED = new Set(['+', '*']);
/** Of a program that makes code all the time, this much is kept: readers need some fifty times as much. */
const MOST_BYTES = 16 << 20;
/** Code that is moved or thrown away at once is missed. */
const MOST_FAILED_SHARE = 0.1;
const MOST_PLACES = 1 << 17;

/** A process whose optimised code is read as it is made. */
export class WatchedProcess implements Disposable {
  readonly pieces = new InlinedCodeWriter();
  /** When the map had which size. */
  readonly times = new MapTimesLog();
  readonly #lines: MapLines;
  /** What the map calls the function at a place. */
  readonly #names = new Map<string, string>();
  #heap: HeapReader | null = null;
  #layout: V8Layout | null = null;
  #places: FunctionPlaces | null = null;
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

  constructor(pid: number, paths: readonly string[], uid: number) {
    this.#lines = new MapLines(paths, uid);
    try {
      this.#heap = new HeapReader(pid);
    } catch (error) {
      this.#gap = `its memory cannot be read (${error instanceof Error ? error.message : error})`;
      return;
    }
    v8LayoutOf(`/proc/${pid}/exe`).then(
      (layout) => {
        if (layout === 'unknown-v8') this.#gap = 'its version of V8 is not known';
        this.#isWithoutData = layout === 'no-v8';
        if (typeof layout === 'string' || this.#heap === null) return;
        this.#layout = layout;
        this.#places = new FunctionPlaces(this.#heap, layout);
      },
      (error) => {
        this.#gap = `its program cannot be read (${error instanceof Error ? error.message : error})`;
      },
    );
  }

  [Symbol.dispose](): void {
    this.#lines[Symbol.dispose]();
    this.#heap?.[Symbol.dispose]();
    this.#heap = null;
  }

  /** Why inlined functions are unknown; null: they are known, or there are no names at all. */
  get gap(): string | null {
    const all = this.#failed + this.#read;
    if (this.#failed > all * MOST_FAILED_SHARE)
      return `${this.#failed} of ${all} pieces of its code could not be read`;
    if (this.#dropped > 0)
      return `it makes more optimised code than is kept: the first ${this.pieces.count} pieces are known, and ${this.#dropped} later ones are not`;
    if (this.#gap !== null && this.#lines.isThere) return this.#gap;
    return this.#isWithoutData && this.#hasOptimisedCode()
      ? 'its program does not tell where V8 keeps its data'
      : null;
  }

  /** Reads what is new, for so long; whether there was something. `nowNs`: by the clock of the samples. */
  look(budgetMs: number, nowNs: (() => bigint) | null): boolean {
    if (nowNs !== null) this.times.add(nowNs(), this.#lines.sizeBytes);
    const heap = this.#heap;
    const layout = this.#layout;
    const places = this.#places;
    if (heap === null || layout === null || places === null) return false;
    const until = performance.now() + budgetMs;
    this.#waiting ??= this.#lines.read();
    let isNew = false;
    while (performance.now() < until) {
      const { done, value: line } = this.#waiting.next();
      if (done === true) {
        this.#waiting = null;
        this.#isUpToDate = true;
        break;
      }
      isNew = true;
      const script = parseScriptName(line.recordedName);
      if (script === null) continue;
      if (!OPTIMISED.has(script.tier)) this.#addName(script, line.recordedName);
      else if (this.pieces.sizeBytes < MOST_BYTES) this.#readCode(heap, layout, places, line);
      else this.#dropped++;
    }
    return isNew;
  }

  /** As V8 writes it. Asked at the end, of maps that nothing else has read. */
  #hasOptimisedCode(): boolean {
    for (const { recordedName } of this.#lines.read())
      if (OPTIMISED.has(parseScriptName(recordedName)?.tier ?? '')) return true;
    return false;
  }

  #addName({ file, line, column }: ScriptName, recordedName: string): void {
    if (line !== null && column !== null && this.#names.size < MOST_PLACES)
      this.#names.set(`${file}:${line}:${column}`, recordedName);
  }

  #readCode(heap: HeapReader, layout: V8Layout, places: FunctionPlaces, line: MapLine) {
    try {
      const code = readOptimisedCode(heap, layout, places, line, (place) => this.#textOf(place));
      this.#read++;
      if (code !== null) this.pieces.add(code);
    } catch (error) {
      if (!(error instanceof HeapMismatch)) throw error;
      if (this.#isUpToDate) this.#failed++;
    }
  }

  /** As a perf map calls the function, so that it is one with its own code. */
  #textOf({ name, script, line, column }: FunctionPlace): string {
    const place = `${script.name}:${line}:${column}`;
    return this.#names.get(place) ?? `JS:~${name()} ${place}`;
  }
}
