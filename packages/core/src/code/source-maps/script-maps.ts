import { type ByteSource, encodeUtf8 } from '../../base/index.ts';
import { decodeDataUrl, isDataUrl } from './data-url.ts';
import { type GivenName, givenNames } from './given-names.ts';
import { mappingUrl } from './mapping-comment.ts';
import { type RecordedSourceMap, recordedSourceMap } from './recorded-maps.ts';
import { longLines, ScriptText } from './script-text.ts';
import { MOST_MAP_BYTES, readSourceMap, SourceMap } from './source-map.ts';
import { pathOfScript, resolveSource } from './source-path.ts';

/** Where scripts and their maps come from. */
export interface ScriptFiles {
  /** The map that a process had of a script in its memory; null: none is recorded. */
  recordedMap(pid: number, script: string): Promise<RecordedSourceMap | null>;
  /** A file as the process sees it, to be closed; null: there is none, or it may not be read. */
  open(pid: number, path: string): Promise<(ByteSource & { close?(): Promise<void> }) | null>;
}

/** Why code is shown as it was compiled, or what is not sure. */
export interface SourceMapFault {
  /** The script, as V8 calls it. */
  script: string;
  /** Path of the map; null: it is in the script, or was in memory. */
  map: string | null;
  /** `the map is not there`, `not JSON`, ... */
  reason: string;
}

/** What became of the source maps of a profile. */
export interface SourceMapsResult {
  /** Scripts that functions of the profile are of, without those of Node itself. */
  scripts: number;
  /** Those of them that a map was read of. */
  mapped: number;
  /** Places in them that their maps say nothing of: what compilers add. */
  unmappedPlaces: number;
  /** One for each script, at most. */
  faults: SourceMapFault[];
}

/** A place in a source. */
export interface MappedPlace {
  source: string;
  /** From 1. */
  line: number;
  /** From 1. */
  column: number;
}

interface Loaded {
  map: SourceMap;
  /** Of its script, for names; null: it is not there. */
  text: ScriptText | null;
  /** By place, `2:61`; null: nobody has looked. */
  given: ReadonlyMap<string, string> | null;
}

const MOST_SCRIPT_BYTES = MOST_MAP_BYTES;
/** Of maps of sources that were compiled themselves. */
const MOST_STEPS = 8;
/** Code that another step may have made: its file may have a map, too. */
const COMPILED = /\.[cm]?jsx?$/;
const WEBPACK = 'webpack://';
const WEBPACK_NAME = /^webpack:\/\/[^/]*\/|\?.*$/g;
const MOST_LEVELS = 32;
/** Names in the code are looked for so far before a function begins: `const a=async function(`. */
const MOST_NAME_GAP = 64;
/** People seldom write a function into a longer line, minifiers do. Chrome's DevTools have the same limit. */
const MOST_LINE_BYTES = 500;

/**
 * The maps of scripts, by process and script. A map that the process had in its memory is the one that holds;
 * else that which the script's last comment names; else the file beside it.
 */
export class ScriptMaps {
  readonly #files: ScriptFiles;
  readonly #loaded = new Map<string, Promise<Loaded | null>>();
  readonly #ready = new Map<string, Loaded | null>();
  /** Where sources are that have no path. */
  readonly #found = new Map<string, string>();
  readonly #faults = new Map<string, SourceMapFault>();
  /** Scripts that have, or should have, a map: a compiler wrote them. */
  readonly #compiled = new Set<string>();
  /** Of scripts without a map. */
  readonly #longLines = new Map<string, ReadonlySet<number>>();
  #scripts = 0;
  #mapped = 0;
  #unmappedPlaces = 0;

  constructor(files: ScriptFiles) {
    this.#files = files;
  }

  get result(): SourceMapsResult {
    return {
      scripts: this.#scripts,
      mapped: this.#mapped,
      unmappedPlaces: this.#unmappedPlaces,
      faults: [...this.#faults.values()],
    };
  }

  /** Reads what `place` needs for what is in a function: its script's map, and those behind it. */
  async prepare(pid: number, script: string, line: number, column: number): Promise<void> {
    let at: MappedPlace = { source: script, line, column };
    for (let step = 0; step < MOST_STEPS; step++) {
      const loaded = await this.#load(pid, at.source, step === 0);
      const next = loaded?.map.place(at.line, at.column) ?? null;
      if (next === null) return;
      if (next.source.startsWith(WEBPACK)) await this.#find(pid, at.source, next.source);
      if (!isCompiledAgain(at.source, next.source)) return;
      at = next;
    }
    this.#fault(script, null, 'maps that lead to each other in a circle');
  }

  /** Whether a map of the script was read. After `prepare`. */
  has(pid: number, script: string): boolean {
    return (this.#ready.get(keyOf(pid, script)) ?? null) !== null;
  }

  /**
   * Whether the code in a line is what a compiler wrote: what no map leads back from is then a place in no
   * source. After `prepare`.
   */
  isGenerated(pid: number, script: string, line: number): boolean {
    const key = keyOf(pid, script);
    return this.#compiled.has(key) || this.#longLines.get(key)?.has(line) === true;
  }

  /** In the source; null: no map says it. All from 1. */
  place(pid: number, script: string, line: number, column: number): MappedPlace | null {
    let at: MappedPlace = { source: script, line, column };
    for (let step = 0; step < MOST_STEPS; step++) {
      const loaded = this.#ready.get(keyOf(pid, at.source)) ?? null;
      if (loaded === null) return step === 0 ? null : at;
      const next = loaded.map.place(at.line, at.column);
      if (next === null) {
        this.#unmappedPlaces++;
        return null;
      }
      if (!isCompiledAgain(at.source, next.source))
        return { ...next, source: this.#found.get(next.source) ?? next.source };
      at = next;
    }
    return null;
  }

  /** Where a function begins. That of a whole file is its first line; a bundle of several has none. */
  functionPlace(pid: number, script: string, line: number, column: number): MappedPlace | null {
    if (line !== 1 || column !== 1) return this.place(pid, script, line, column);
    const sources = new Set(this.#ready.get(keyOf(pid, script))?.map.sources);
    const [source = null] = sources;
    if (sources.size !== 1 || source === null) return null;
    return { source: this.#found.get(source) ?? source, line: 1, column: 1 };
  }

  /**
   * What the source calls a function that begins at a place. Its name in the code stands before that;
   * the map says what this very word was. `name` is empty where V8 knows none; the code may have it
   * then. Null: nothing is known.
   */
  functionName(pid: number, script: string, line: number, column: number, name: string): string | null {
    const loaded = this.#ready.get(keyOf(pid, script)) ?? null;
    if (loaded === null) return null;
    if (name === '') return givenIn(loaded).get(`${line}:${column}`) ?? null;
    const word = name.slice(name.lastIndexOf('.') + 1);
    if (loaded.text === null || word === '') return null;
    for (const { column: at, name: original } of loaded.map.namesBefore(line, column)) {
      if (at < column - word.length - MOST_NAME_GAP) return null;
      if (loaded.text.hasWord(line, at, word)) return original;
    }
    return null;
  }

  /** webpack says where a source is below the folder of the project, which is one above the bundle. */
  async #find(pid: number, script: string, source: string): Promise<void> {
    if (this.#found.has(source)) return;
    this.#found.set(source, source);
    const name = source.replace(WEBPACK_NAME, '');
    let folder = pathOfScript(script);
    for (let level = 0; level < MOST_LEVELS && folder.startsWith('/'); level++) {
      folder = folder.slice(0, folder.lastIndexOf('/'));
      const path = `${folder}/${name}`;
      const file = await this.#files.open(pid, path);
      await file?.close?.();
      if (file === null) continue;
      this.#found.set(source, path);
      return;
    }
  }

  #load(pid: number, script: string, isRunning: boolean): Promise<Loaded | null> {
    const key = keyOf(pid, script);
    let loaded = this.#loaded.get(key);
    if (loaded === undefined) {
      loaded = this.#read(pid, script).then((one) => {
        this.#ready.set(key, one);
        if (one !== null || this.#faults.has(script)) this.#compiled.add(key);
        if (isRunning && isOfFile(script)) this.#scripts++;
        if (isRunning && one !== null) this.#mapped++;
        return one;
      });
      this.#loaded.set(key, loaded);
    }
    return loaded;
  }

  async #read(pid: number, script: string): Promise<Loaded | null> {
    const path = pathOfScript(script);
    const recorded = await this.#files.recordedMap(pid, script);
    if (recorded !== null) {
      if (recorded.fault !== null) return this.#fault(script, null, recorded.fault);
      const text = await this.#textWithMap(pid, path, recorded.map);
      const loaded = this.#parse(script, null, encodeUtf8(recorded.map), path, text);
      if (loaded !== null) loaded.given = byPlace(recorded.names);
      return loaded;
    }
    if (!isOfFile(script)) return null;
    const text = await this.#readFile(pid, path);
    if (text === null) return null;
    if (text === 'too large') return this.#fault(script, null, 'the script is too large');
    const url = mappingUrl(text);
    if (url === null) {
      const beside = await this.#readBeside(pid, script, path, text);
      if (beside === null) this.#longLines.set(keyOf(pid, script), longLines(text, MOST_LINE_BYTES));
      return beside;
    }
    if (isDataUrl(url)) {
      const bytes = decodeDataUrl(url);
      if (bytes === null) return this.#fault(script, null, 'the map in the script is damaged');
      return this.#parse(script, null, bytes, path, text);
    }
    const at = resolveSource(path, '', decoded(url));
    if (!at.startsWith('/')) return this.#fault(script, at, 'the map is not in a file');
    const bytes = await this.#readFile(pid, at);
    if (bytes === null) return this.#fault(script, at, 'the map is not there');
    if (bytes === 'too large') return this.#fault(script, at, bytes);
    return this.#parse(script, at, bytes, at, text);
  }

  async #readBeside(pid: number, script: string, path: string, text: Uint8Array): Promise<Loaded | null> {
    const beside = `${path}.map`;
    const bytes = await this.#readFile(pid, beside);
    return bytes === null || bytes === 'too large' ? null : this.#parse(script, beside, bytes, beside, text);
  }

  /** Of a file that has this map inside; another one may be there by now, or the source that was compiled. */
  async #textWithMap(pid: number, path: string, map: string): Promise<Uint8Array | null> {
    const text = path.startsWith('/') ? await this.#readFile(pid, path) : null;
    const url = text === null || text === 'too large' ? null : mappingUrl(text);
    const own = url === null ? null : recordedSourceMap(path, url);
    return own?.map === map && text !== 'too large' ? text : null;
  }

  /** `at`: from where its sources are. */
  #parse(
    script: string,
    file: string | null,
    bytes: Uint8Array,
    at: string,
    text: Uint8Array | null,
  ): Loaded | null {
    const map = readSourceMap(bytes, at);
    if (!(map instanceof SourceMap)) return this.#fault(script, file, map);
    if (map.damage.length > 0) this.#fault(script, file, map.damage.join('; '));
    return { map, text: text === null ? null : new ScriptText(text), given: null };
  }

  #fault(script: string, map: string | null, reason: string): null {
    if (!this.#faults.has(script)) this.#faults.set(script, { script, map, reason });
    return null;
  }

  async #readFile(pid: number, path: string): Promise<Uint8Array | 'too large' | null> {
    const file = await this.#files.open(pid, path);
    if (file === null) return null;
    try {
      return file.size > MOST_SCRIPT_BYTES ? 'too large' : await file.read(0, file.size);
    } catch {
      return null;
    } finally {
      await file.close?.();
    }
  }
}

function givenIn(loaded: Loaded): ReadonlyMap<string, string> {
  loaded.given ??= byPlace(loaded.text === null ? [] : givenNames(loaded.text.code));
  return loaded.given;
}

function byPlace(names: readonly GivenName[]): Map<string, string> {
  return new Map(names.map(([line, column, name]) => [`${line}:${column}`, name]));
}

/** Compilers that keep a file's name mean another text by it, not a further step. */
function isCompiledAgain(script: string, source: string): boolean {
  return COMPILED.test(source) && pathOfScript(script) !== source;
}

function isOfFile(script: string): boolean {
  return pathOfScript(script).startsWith('/');
}

function decoded(url: string): string {
  try {
    return decodeURIComponent(url.replace(/[?#].*$/s, ''));
  } catch {
    return url;
  }
}

function keyOf(pid: number, script: string): string {
  return `${pid} ${script}`;
}
