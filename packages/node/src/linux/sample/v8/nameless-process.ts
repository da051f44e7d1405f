import {
  type CodePosition,
  type InlinedCode,
  InlinedCodeWriter,
  type MapTime,
  NAME_NOT_CERTAIN,
} from '@counterpoint/core/jit';
import { readBaselineCode } from './bytecode-lines.ts';
import { type MemoryRange, usedCodeRanges, usedDataRanges } from './code-pages.ts';
import { type CodeObject, CodeSpace } from './code-space.ts';
import type { CodeSpaceLayout } from './code-space-layout.ts';
import { CodeTimeline, type LookWindow, mapLine, type SeenCode } from './code-timeline.ts';
import { expressionNames, leadsTo } from './expression-names.ts';
import type { InterpretedFunctions } from './frame-walker.ts';
import { FunctionIndex } from './function-index.ts';
import { type FunctionPlace, FunctionPlaces } from './function-places.ts';
import { field, HeapMismatch, HeapReader, memoryOf, type Tagged } from './heap-reader.ts';
import { type AddInterpreted, InterpretedNames, type SampleMoment } from './interpreted-names.ts';
import { MemoryMaps, rootOf } from './memory-maps.ts';
import { compiledFunction, type MapLine, readOptimisedCode } from './optimised-code.ts';
import { ScriptLists } from './script-lists.ts';
import { knownLayoutOf, type NoLayout, type V8Layout, v8LayoutOf } from './v8-layout.ts';

/** As in a perf map of V8. */
const INTERPRETED_MARK = '~';
const MARK_OF_KIND = { baseline: '^', maglev: '+', turbofan: '*' } as const;
const MOST_LINES = 1 << 17;
const MOST_MAP_BYTES = 32 << 20;
/** Pieces of code that have no name yet. */
const MOST_WAITING = 1 << 16;
/** Of what its code inlines: readers need some fifty times as much. */
const MOST_INLINED_BYTES = 16 << 20;
/** Code whose function nobody knows is asked for again so often. */
const MOST_TRIES = 20;
/** A collector may move, at any time, what is being read of what code inlines. */
const MOST_INLINED_TRIES = 5;
/** Only a larger share is reported. */
const MOST_UNNAMED_SHARE = 0.05;
/**
 * Looking takes at most one part in this many of the time, except for the first looks. Its own time on the
 * CPU counts: on a busy machine it is there as often as anywhere, and not for others to have it meanwhile.
 */
const REST_FACTOR = 20;
/** There are fewer new ones the longer it runs. */
const REST_FACTOR_OF_NAMES = 5;
const LONGEST_REST_MS = 1000;
/** A look of so many milliseconds on the CPU takes this many times as long, at most. */
const MOST_WAITED = 10;
/** After code was collected objects may be where others were. */
const COLLECTS_MS = 1000;
/** Code of regular expressions whose names are looked for. */
const MOST_EXPRESSIONS = 1 << 12;

interface Reading {
  heap: HeapReader;
  layout: V8Layout;
  space: CodeSpaceLayout;
  code: CodeSpace;
  scripts: ScriptLists;
  functions: FunctionIndex;
  sourceMaps: MemoryMaps;
  places: FunctionPlaces;
  interpreted: InterpretedNames;
  dataRanges: () => MemoryRange[];
}

interface Waiting {
  seen: SeenCode;
  piece: CodeObject;
  tries: number;
  /** Only what it inlines is still to be read. */
  isNamed: boolean;
}

/**
 * A running Node that writes no map of its code. What a map would say is read from its memory, again
 * and again: which code came since the last look, and of which function it is. Nothing runs in the
 * process, and it is never stopped.
 */
export class NamelessProcess implements Disposable, InterpretedFunctions {
  /** What its optimised code inlines. */
  readonly pieces = new InlinedCodeWriter();
  /** Lines of interpreted functions: their addresses are never used again. */
  readonly #interpreted: string[] = [];
  readonly #timeline = new CodeTimeline(MOST_LINES);
  /** What is there now, by its address. */
  readonly #present = new Map<number, SeenCode>();
  /** When the last look began, by the clock of the samples; null: there was none. */
  #lastLookUs: number | null = null;
  /** When the last collection before the last look was over; null: nobody knows. */
  #collectedUs: number | null = null;
  /** What V8 said of that then, also where a collection ran. */
  #toldUs: number | null = null;
  /** Of all names. */
  #sizeBytes = 0;
  #named = 0;
  #collectedMs = Number.NEGATIVE_INFINITY;
  /** Pieces of code for which there was no room. */
  #missed = 0;
  #reading: Reading | null = null;
  /** Of the process also when it has ended: its last samples may be looked at later. */
  #space: CodeSpaceLayout | null = null;
  #waiting: Waiting[] = [];
  /** Code of regular expressions, by its address. */
  readonly #expressions = new Map<number, { seen: SeenCode; piece: CodeObject }>();
  #nextLookMs = Number.NEGATIVE_INFINITY;
  #isDisposed = false;
  /** Why its code has no names; null: it has, or nobody knows yet. */
  whyNot: string | null = null;
  #isNode = true;
  readonly #nowNs: (() => bigint) | null;

  /** `nowNs`: the clock of the samples; null: it cannot be asked. */
  constructor(pid: number, nowNs: (() => bigint) | null) {
    this.#nowNs = nowNs;
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

  get sourceMaps(): MemoryMaps | null {
    return this.#reading?.sourceMaps ?? null;
  }

  /** See `V8Layout`. */
  get untestedVersion(): string | null {
    return this.#reading?.layout.untestedVersion ?? null;
  }

  get canWalkFrames(): boolean {
    return this.#reading !== null;
  }

  get space(): CodeSpaceLayout {
    return this.#space!;
  }

  isGeneratedCode(address: number): boolean {
    return this.#reading?.code.has(address) ?? false;
  }

  addressOf(
    bytecode: number,
    closure: number,
    offset: number,
    currentOffset: number,
    moment: SampleMoment,
  ): number {
    const { interpreted } = this.#reading ?? {};
    const at = this.#nowNs === null ? { ...moment, timeUs: null } : moment;
    return interpreted?.addressOf(bytecode, closure, offset, currentOffset, at) ?? 0;
  }

  /** By the clock of the samples, where that can be asked. */
  #nowUs(): number {
    return this.#nowNs === null ? performance.now() * 1000 : Number(this.#nowNs()) / 1000;
  }

  #begin(pid: number, layout: V8Layout | NoLayout): void {
    if (this.#isDisposed) return;
    this.whyNot = whyUnreadable(layout);
    this.#isNode = layout !== 'no-v8';
    if (typeof layout === 'string' || layout.codeSpace === null) return;
    try {
      const add: AddInterpreted = (start, size, place, positions) =>
        this.#addInterpreted(
          { start, size, recordedName: place === null ? NAME_NOT_CERTAIN : textOf(place, INTERPRETED_MARK) },
          positions,
        );
      this.#space = layout.codeSpace;
      this.#reading = readingOf(pid, layout, layout.codeSpace, add, () => this.#nowUs());
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
    if (this.whyNot !== null || !this.#isNode) return this.#isNode ? this.whyNot : null;
    const unnamed = this.#missed + this.#waiting.filter(({ tries }) => tries === 0).length;
    const named = this.#named + this.#interpreted.length;
    return unnamed > named * MOST_UNNAMED_SHARE
      ? `${unnamed} of ${unnamed + named} pieces of its code could not be read in time; record for longer, or on a less busy machine`
      : null;
  }

  /** What is known of its code, as a perf map tells it, and when which of its lines counts. */
  map(): { bytes: Uint8Array<ArrayBuffer>; times: MapTime[] } {
    const interpreted = this.#interpreted.join('');
    const { text, times } = this.#timeline.map(this.#lastLookUs ?? 0);
    const before = Buffer.byteLength(interpreted);
    return {
      bytes: new TextEncoder().encode(interpreted + text),
      times:
        this.#lastLookUs === null
          ? []
          : times.map(({ timeUs, sizeBytes }) => ({ timeUs, sizeBytes: before + sizeBytes })),
    };
  }

  /** See `WatchedProcess`. The last look comes at once. */
  look(budgetMs: number, nowNs: (() => bigint) | null, isLast = false): boolean {
    const reading = this.#reading;
    const begin = performance.now();
    reading?.interpreted.look();
    if (reading === null || (begin < this.#nextLookMs && !isLast)) return false;
    const beginCpu = cpuMs();
    const hasNew = this.#lookAtCode(reading, nowNs);
    const looked = performance.now();
    const lookedCpu = cpuMs();
    if (hasNew) this.#waiting.sort(byUse);
    const mostMs = isLast ? budgetMs : MOST_WAITED * budgetMs;
    const hasTime = () => performance.now() < looked + mostMs && (isLast || cpuMs() < lookedCpu + budgetMs);
    this.#nameWaiting(reading, hasTime);
    // Interpreted functions are no code that is found.
    reading.sourceMaps.look(looked + budgetMs, true);
    // It takes long, and what names them stays for as long as they do.
    if (isLast) this.#nameExpressions(reading, performance.now() + budgetMs);
    const restMs = REST_FACTOR * (lookedCpu - beginCpu) + REST_FACTOR_OF_NAMES * (cpuMs() - lookedCpu);
    this.#nextLookMs = performance.now() + Math.min(LONGEST_REST_MS, restMs);
    return hasNew;
  }

  #lookAtCode(reading: Reading, nowNs: (() => bigint) | null): boolean {
    const beginUs = nowNs === null ? null : Number(nowNs() / 1000n);
    const hasCollected = reading.interpreted.collectedUs() !== this.#toldUs;
    const { found, gone, isThere } = reading.code.look();
    const endUs = nowNs === null ? null : Number(nowNs() / 1000n) + 1;
    const before = this.#lastLookUs;
    if (isThere && beginUs !== null) this.#lastLookUs = beginUs;
    const window: LookWindow | null =
      before !== null && endUs !== null && (found.length + gone.length > 0 || hasCollected)
        ? { fromUs: before, toUs: endUs }
        : null;
    if (window !== null) this.#timeline.open(window);
    for (const { start } of gone) {
      const seen = this.#present.get(start);
      this.#present.delete(start);
      this.#expressions.delete(start);
      // Without times code counts for all of them.
      if (seen !== undefined && before !== null) this.#timeline.end(seen);
    }
    if (gone.length > 0) {
      reading.functions.forget();
      reading.interpreted.collected(before ?? this.#nowUs() - COLLECTS_MS * 1000);
      this.#collectedMs = performance.now();
    }
    // What has no name yet may have been collected, and what is there now may have the same bytes.
    if ((gone.length > 0 || hasCollected) && window !== null)
      for (const { seen, isNamed } of this.#waiting) if (!isNamed) this.#timeline.bornLater(seen);
    // What late samples led to since may look like functions that are there now.
    const mayBeOthers = performance.now() < this.#collectedMs + COLLECTS_MS;
    if (mayBeOthers && found.length + gone.length > 0) reading.places.forget();
    for (const piece of found) this.#addPiece(reading, piece);
    // The heaps of new pieces are known now, too.
    const isQuiet = beginUs !== null && this.#nowNs !== null && reading.interpreted.look();
    this.#toldUs = reading.interpreted.collectedUs();
    this.#collectedUs = isQuiet && this.#toldUs !== null && this.#toldUs <= beginUs! ? this.#toldUs : null;
    if (window !== null && this.#collectedUs !== null) window.collectedUs = this.#collectedUs;
    return found.length + gone.length > 0;
  }

  #addPiece({ scripts, layout, space }: Reading, piece: CodeObject): void {
    scripts.add(piece.start - layout.streamHeaderBytes, piece.map);
    const seen = this.#timeline.add(piece.start, piece.size);
    if (seen === null || this.#waiting.length >= MOST_WAITING) this.#missed++;
    else this.#waiting.push({ seen, piece, tries: 0, isNamed: false });
    if (seen !== null) this.#present.set(piece.start, seen);
    if (seen !== null && piece.kind === space.kinds.regexp && this.#expressions.size < MOST_EXPRESSIONS)
      this.#expressions.set(piece.start, { seen, piece });
  }

  #nameExpressions({ heap, layout, code, dataRanges }: Reading, untilMs: number): void {
    const nameless = [...this.#expressions.values()].filter(({ seen }) => seen.name === '');
    if (nameless.length === 0) return;
    const leads = nameless.map(({ piece }) => leadsTo(heap, layout, piece.code));
    const names = expressionNames(heap, layout, dataRanges(), new Set(leads.flat()), untilMs);
    if (names === null) return;
    for (const [row, { seen, piece }] of nameless.entries()) {
      const found = new Set(leads[row]!.flatMap((lead) => names.get(lead) ?? []));
      const [name] = found;
      if (name !== undefined && found.size === 1 && code.again(piece) !== null) this.#setName(seen, name);
    }
  }

  #nameWaiting(reading: Reading, hasTime: () => boolean): void {
    const again: Waiting[] = [];
    let row = 0;
    for (; row < this.#waiting.length && hasTime(); row++) {
      const waiting = this.#waiting[row]!;
      const most = () => (waiting.isNamed ? MOST_INLINED_TRIES : MOST_TRIES);
      const isDone = this.#nameCode(reading, waiting) || waiting.tries >= most();
      if (!isDone) again.push({ ...waiting, tries: waiting.tries + 1 });
    }
    this.#waiting = [...this.#waiting.slice(row), ...again];
  }

  /** False: its function, or what it inlines, is not known, or not yet. */
  #nameCode(reading: Reading, waiting: Waiting): boolean {
    const { seen, piece: found } = waiting;
    const { heap, layout, space, places, code } = reading;
    const mark = markOf(space, found.kind);
    if (mark === null) return true;
    // What was read before may have been moved since, and something else be there now.
    const piece = code.again(found);
    if (piece === null) return true;
    try {
      const sharedFunction = functionOf(reading, piece);
      if (sharedFunction === null) return false;
      const place = places.of(sharedFunction);
      const recordedName = textOf(place, mark);
      const isOptimised = piece.kind !== space.kinds.baseline;
      const line = { start: piece.start, size: piece.size, recordedName };
      const inlined =
        this.pieces.sizeBytes >= MOST_INLINED_BYTES
          ? null
          : inlinedIn(() =>
              isOptimised
                ? readOptimisedCode(heap, layout, places, line, (one) => textOf(one, INTERPRETED_MARK))
                : readBaselineCode(heap, layout, line, (holder) => {
                    const bytecode = reading.functions.bytecodeIn(holder);
                    return bytecode === null ? null : { bytecode, place };
                  }),
            );
      if (!isUnchanged(piece, code.again(found), layout)) return false;
      // What was collected since the look may look like what is there now.
      const hasCollected =
        this.#collectedUs !== null &&
        !(reading.interpreted.look() && reading.interpreted.collectedUs() === this.#collectedUs);
      if (hasCollected && !waiting.isNamed) return false;
      if (!waiting.isNamed) this.#setName(seen, recordedName);
      waiting.isNamed = true;
      if (inlined === UNREADABLE) return false;
      if (inlined !== null) this.pieces.add(inlined);
      return true;
    } catch (error) {
      if (error instanceof HeapMismatch) return false;
      throw error;
    }
  }

  #setName(seen: SeenCode, name: string): void {
    this.#sizeBytes += name.length;
    if (this.#sizeBytes >= MOST_MAP_BYTES) {
      this.#missed++;
      return;
    }
    seen.name = name;
    this.#named++;
  }

  #addInterpreted(line: MapLine, positions: readonly CodePosition[]): void {
    this.#sizeBytes += line.recordedName.length;
    if (this.#interpreted.length >= MOST_LINES || this.#sizeBytes >= MOST_MAP_BYTES) {
      this.#missed++;
      return;
    }
    this.#interpreted.push(mapLine(line.start, line.size, line.recordedName));
    if (positions.length > 0 && this.pieces.sizeBytes < MOST_INLINED_BYTES)
      this.pieces.add({ ...line, calls: [], positions });
  }
}

/** Of this process. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** What was compiled last by the compiler that takes most time runs most. */
function byUse(one: Waiting, other: Waiting): number {
  return one.tries - other.tries || other.piece.kind - one.piece.kind;
}

const UNREADABLE = 'unreadable';

/** Null: it inlines nothing. */
function inlinedIn(read: () => InlinedCode | null): InlinedCode | null | typeof UNREADABLE {
  try {
    return read();
  } catch (error) {
    if (error instanceof HeapMismatch) return UNREADABLE;
    throw error;
  }
}

/** Whether what its function was read from is still that of the code. */
function isUnchanged(before: CodeObject, after: CodeObject | null, { code }: V8Layout): boolean {
  const at = code.deoptimizationData;
  return after !== null && field(before.view, at) === field(after.view, at);
}

function readingOf(
  pid: number,
  layout: V8Layout,
  space: CodeSpaceLayout,
  addInterpreted: AddInterpreted,
  nowUs: () => number,
): Reading {
  const heap = new HeapReader(memoryOf(pid));
  const scripts = new ScriptLists(heap, layout, space);
  const functions = new FunctionIndex(heap, layout, space, scripts);
  const places = new FunctionPlaces(heap, layout);
  return {
    heap,
    layout,
    space,
    scripts,
    functions,
    sourceMaps: new MemoryMaps(heap, layout, space, scripts, rootOf(pid)),
    places,
    code: new CodeSpace(() => usedCodeRanges(pid), heap, layout, space),
    dataRanges: () => usedDataRanges(pid),
    interpreted: new InterpretedNames(heap, layout, space, scripts, functions, places, addInterpreted, nowUs),
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
  return `JS:${mark}${name()} ${script.origin}:${line}:${column}`;
}
