import { encodeRecordedMaps, type RecordedSourceMap, recordedSourceMap } from '@counterpoint/core/jit';
import type { CodeSpaceLayout } from './code-space-layout.ts';
import { field, HeapMismatch, type HeapReader, smi, type Tagged } from './heap-reader.ts';
import { isMadeFromFile } from './loaded-code.ts';
import type { ScriptLists } from './script-lists.ts';
import type { V8Layout } from './v8-layout.ts';

/**
 * Of `Script`, in words behind the positions of functions that were compiled lazily: flags, the URL that
 * `//# sourceURL` gives, that of `//# sourceMappingURL`. No version exports it; the same in V8 11 to 13.
 */
const MAP_URL_BEHIND_LAZY = 24;
const SCRIPT_ID_BEHIND_ENDS = 8;
const WORD = 8;
/** The comment is read when a script has been parsed, a little after it is in the list. */
const MOST_TRIES = 5;
/** Node's own scripts, a hundred in each process, have no such comment. */
const OWN_SCRIPTS = 'node:';
const MOST_SCRIPTS = 1 << 16;
/** Of maps of one process, without the texts of sources. */
const MOST_BYTES = 32 << 20;
/** With them. */
const MOST_MAP_BYTES = 32 << 20;
/** Looking takes at most one part in this many of the time, except on a busy machine. */
const REST_FACTOR = 20;
const LONGEST_REST_MS = 100;
/** Maps of names are looked at more often than that, for as long as code is made. */
const SHORTEST_REST_MS = 60;
/** Who makes no code compiles no script, as a rule. */
const REST_WITHOUT_CODE_MS = 500;
/** Every N looks, scripts are looked at again: another one may be where one was. */
const LOOKS_OF_ALL = 10;
/** However long names have taken before. */
const LEAST_MS = 2;

interface KnownScript {
  id: number;
  /** How often it was looked at. */
  tries: number;
}

/**
 * Source maps that are nowhere but in the memory of a process: tsx, ts-node and others compile a script when
 * it is loaded, and put the map into its last comment. V8 keeps that comment with the script.
 */
export class MemoryMaps {
  readonly #heap: HeapReader;
  readonly #layout: V8Layout;
  readonly #scripts: ScriptLists;
  readonly #root: string;
  readonly #types: CodeSpaceLayout['types'];
  /** Where a script has its text. */
  readonly #source: number;
  readonly #known = new Map<Tagged, KnownScript>();
  #looks = 0;
  /** How many scripts there were at the last look, and whether one of them is to be looked at again. */
  #counts = '';
  #isIncomplete = false;
  /** By the script's name. */
  readonly #maps = new Map<string, RecordedSourceMap>();
  #sizeBytes = 0;
  #nextLookMs = Number.NEGATIVE_INFINITY;
  /** Code came since the last look. */
  #hasCode = true;
  #lastLookMs = Number.NEGATIVE_INFINITY;

  /** `root`: the directory that is `/` for the process. */
  constructor(
    heap: HeapReader,
    layout: V8Layout,
    space: CodeSpaceLayout,
    scripts: ScriptLists,
    root: string,
  ) {
    this.#heap = heap;
    this.#layout = layout;
    this.#types = space.types;
    this.#source = space.source;
    this.#scripts = scripts;
    this.#root = root;
  }

  /** Here is code of the process: by it the lists of scripts are found. */
  addCode(start: number): void {
    const stream = start - this.#layout.streamHeaderBytes;
    if (this.#scripts.hasPage(stream)) return;
    try {
      const map = field(this.#heap.bytes(BigInt(stream), WORD), 0);
      if (this.#heap.typeOfMap(map) === this.#types.instructionStream) this.#scripts.add(stream, map);
    } catch (error) {
      // The code is gone.
      if (!(error instanceof HeapMismatch)) throw error;
    }
  }

  /**
   * Reads the maps of scripts that came since the last look, until that time; the
   * others come at the next one. `hasCode`: the process has made code since the last call.
   */
  look(untilMs: number, hasCode: boolean): void {
    this.#hasCode ||= hasCode;
    const start = performance.now();
    if (start < this.#nextLookMs) return;
    const isDue = this.#hasCode || this.#isIncomplete || start >= this.#lastLookMs + REST_WITHOUT_CODE_MS;
    if (!isDue) return;
    this.#hasCode = false;
    this.#lastLookMs = start;
    const isOfAll = ++this.#looks % LOOKS_OF_ALL === 0;
    const counts = this.#scripts.counts();
    if (isOfAll || this.#isIncomplete || counts !== this.#counts)
      this.#lookAtScripts(isOfAll, Math.max(start + LEAST_MS, untilMs));
    this.#counts = counts;
    const end = performance.now();
    const restMs = Math.min(LONGEST_REST_MS, REST_FACTOR * (end - start));
    this.#nextLookMs = end + Math.max(SHORTEST_REST_MS, restMs);
  }

  #lookAtScripts(isOfAll: boolean, untilMs: number): void {
    this.#isIncomplete = false;
    this.#heap.inBlocks(() => {
      for (const script of this.#scripts.scripts()) {
        if (performance.now() > untilMs) {
          this.#isIncomplete = true;
          return;
        }
        if (isOfAll || (this.#known.get(script)?.tries ?? 0) < MOST_TRIES) this.#addScript(script);
        this.#isIncomplete ||= (this.#known.get(script)?.tries ?? MOST_TRIES) < MOST_TRIES;
      }
    });
  }

  /** For the recording; null: there are none. */
  bytes(): Uint8Array<ArrayBuffer> | null {
    return this.#maps.size === 0 ? null : encodeRecordedMaps([...this.#maps.values()]);
  }

  #addScript(script: Tagged): void {
    const { types, script: at } = this.#layout;
    try {
      const view = this.#heap.object(script, at.lazyPositions + MAP_URL_BEHIND_LAZY + WORD, types.script);
      const id = smi(field(view, at.lineEnds + SCRIPT_ID_BEHIND_ENDS)) ?? 0;
      const before = this.#known.get(script);
      const tries = before?.id === id ? before.tries : 0;
      if (tries >= MOST_TRIES || this.#known.size >= MOST_SCRIPTS) return;
      const url = this.#heap.source(field(view, at.lazyPositions + MAP_URL_BEHIND_LAZY));
      const isAsked = url !== null || tries === 0 || tries + 1 === MOST_TRIES;
      const name = isAsked ? this.#heap.text(field(view, at.name)) : null;
      const hasMoreTries = url === null && name?.startsWith(OWN_SCRIPTS) !== true;
      this.#known.set(script, { id, tries: hasMoreTries ? tries + 1 : MOST_TRIES });
      if (name === null || name === '') return;
      const source = field(view, this.#source);
      const code = () => this.#heap.wholeSource(source);
      if (url !== null) this.#addMap(name, Buffer.from(url).toString('latin1'), code);
      // Until then its comment may not have been read.
      else if (tries + 1 === MOST_TRIES) this.#addMade(name, source, code);
    } catch (error) {
      if (!(error instanceof HeapMismatch)) throw error;
    }
  }

  /** Of a script without a map. */
  #addMade(script: string, source: Tagged, code: () => string): void {
    if (script.startsWith(OWN_SCRIPTS) || this.#maps.has(script)) return;
    if (isMadeFromFile(this.#root, script, this.#heap.textUnits(source), code))
      this.#maps.set(script, without(script, MADE));
  }

  #addMap(script: string, url: string, code: () => string): void {
    if (!url.startsWith('data:')) return;
    const known = this.#maps.get(script);
    if (known !== undefined && known.fault !== null) return;
    const one =
      url.length > MOST_MAP_BYTES ? without(script, TOO_LARGE) : recordedSourceMap(script, url, code());
    if (one === null || known?.map === one.map) return;
    if (known !== undefined) this.#maps.set(script, without(script, 'the process had several maps of it'));
    else if (this.#sizeBytes + one.map.length > MOST_BYTES)
      this.#maps.set(script, without(script, TOO_LARGE));
    else {
      this.#sizeBytes += one.map.length;
      this.#maps.set(script, one);
    }
  }
}

const TOO_LARGE = 'the maps of its process are larger than what is kept';

/** As a sentence of a report, in brackets. */
const MADE = 'its code was made when it was loaded, and has no map';

function without(script: string, fault: string): RecordedSourceMap {
  return { script, map: '', names: [], fault };
}

/** Where the files of a process are, as it sees them. */
export const rootOf = (pid: number): string => `/proc/${pid}/root`;
