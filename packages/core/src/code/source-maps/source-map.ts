import { decodeUtf8 } from '../../base/index.ts';
import { isNestedAtMost } from './json-depth.ts';
import { decodeMappings, findMapping, type Mappings } from './mappings.ts';
import { resolveSource } from './source-path.ts';

/** A place in a source. */
export interface SourcePlace {
  /** Its path; a URL where its map has no path of it. */
  source: string;
  /** From 1. */
  line: number;
  /** From 1. */
  column: number;
  /** What the source calls what is there; null: the map does not say it. */
  name: string | null;
}

/** What is wrong with a map as a whole. */
export type MapFault = 'too large' | 'not JSON' | 'not a source map' | 'not of version 3';

/** A larger one is not read. */
export const MOST_MAP_BYTES = 1 << 28;
const VERSION = 3;
const MOST_SECTIONS = 1 << 16;
/** Of objects and lists: a level takes one byte, and some fifty when it is read. */
const MOST_DEPTH = 256;
/** What servers put before JSON so that no page can run it. */
const GUARD = ")]}'";

type Json = { readonly [key: string]: unknown };

/** A part of the code and its table. A plain map has one. */
interface Section {
  /** Where it begins in the code, from 0. */
  line: number;
  column: number;
  mappings: Mappings;
  /** Null: the map names a source that is nothing. */
  sources: readonly (string | null)[];
  names: readonly unknown[];
}

/** Where code comes from. Made by `readSourceMap`. */
export class SourceMap {
  readonly #sections: readonly Section[];
  readonly #ignored: ReadonlySet<string>;
  /** What was wrong in it, and left out. */
  readonly damage: readonly string[];

  constructor(sections: readonly Section[], ignored: ReadonlySet<string>, damage: readonly string[]) {
    this.#sections = sections;
    this.#ignored = ignored;
    this.damage = damage;
  }

  /** Of all sections. Null: one that the map has no name of. */
  get sources(): readonly (string | null)[] {
    return this.#sections.flatMap(({ sources }) => sources);
  }

  /** Whether its makers say that it is not the program's own code (`ignoreList`). */
  isIgnored(source: string): boolean {
    return this.#ignored.has(source);
  }

  /** Of a place in the code, both from 1. Null: it is of no source that is known. */
  place(line: number, column: number): SourcePlace | null {
    const section = this.#sectionAt(line - 1, column - 1);
    if (section === null) return null;
    const { mappings, sources, names } = section;
    const inner = line - 1 - section.line;
    const row = findMapping(mappings, inner, column - 1 - (inner === 0 ? section.column : 0));
    if (row < 0 || mappings.source[row]! < 0) return null;
    const source = sources[mappings.source[row]!] ?? null;
    if (source === null) return null;
    const name = names[mappings.name[row]!];
    return {
      source,
      line: mappings.sourceLine[row]! + 1,
      column: mappings.sourceColumn[row]! + 1,
      name: typeof name === 'string' ? name : null,
    };
  }

  /**
   * What begins before a place in its line of the code, and has another name in the source; the last one
   * first. Columns are from 1.
   */
  *namesBefore(line: number, column: number): Generator<{ column: number; name: string }> {
    const section = this.#sectionAt(line - 1, column - 1);
    if (section === null) return;
    const { mappings, names } = section;
    const inner = line - 1 - section.line;
    const shift = (inner === 0 ? section.column : 0) + 1;
    const first = mappings.lineStart[inner] ?? 0;
    for (let row = findMapping(mappings, inner, column - shift); row >= first; row--) {
      const name = names[mappings.name[row]!];
      const at = mappings.column[row]! + shift;
      if (at < column && typeof name === 'string') yield { column: at, name };
    }
  }

  #sectionAt(line: number, column: number): Section | null {
    let low = 0;
    let high = this.#sections.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const section = this.#sections[middle]!;
      if (section.line < line || (section.line === line && section.column <= column)) low = middle + 1;
      else high = middle;
    }
    return this.#sections[low - 1] ?? null;
  }
}

/** Reads a map that is, or would be, at the path `at`. A word says why it is none. Never throws. */
export function readSourceMap(bytes: Uint8Array, at: string): SourceMap | MapFault {
  if (bytes.length > MOST_MAP_BYTES) return 'too large';
  if (!isNestedAtMost(bytes, MOST_DEPTH)) return 'not a source map';
  let json: unknown;
  try {
    const text = decodeUtf8(bytes);
    json = JSON.parse(text.startsWith(GUARD) ? text.slice(text.indexOf('\n') + 1) : text);
  } catch {
    return 'not JSON';
  }
  if (!isObject(json)) return 'not a source map';
  if (Number(json['version']) !== VERSION) return 'not of version 3';
  return new MapReader(at).read(json);
}

class MapReader {
  readonly #at: string;
  readonly #sections: Section[] = [];
  readonly #ignored = new Set<string>();
  readonly #damage = new Set<string>();

  constructor(at: string) {
    this.#at = at;
  }

  read(json: Json): SourceMap | MapFault {
    const sections = json['sections'];
    if (Array.isArray(sections)) this.#readSections(sections);
    else if (typeof json['mappings'] === 'string') this.#add(json, json['mappings'], 0, 0);
    else return 'not a source map';
    return new SourceMap(this.#sections, this.#ignored, [...this.#damage]);
  }

  #readSections(sections: readonly unknown[]): void {
    let isAscending = true;
    for (const section of sections.slice(0, MOST_SECTIONS)) {
      const offset = isObject(section) ? section['offset'] : null;
      const map = isObject(section) ? section['map'] : null;
      const line = isObject(offset) ? offset['line'] : null;
      const column = isObject(offset) ? offset['column'] : null;
      if (!isPosition(line) || !isPosition(column)) this.#damage.add('a section without a place');
      else if (!isObject(map) || typeof map['mappings'] !== 'string')
        this.#damage.add('a section without a map of its own');
      else {
        const before = this.#sections.at(-1);
        if (before !== undefined && (before.line - line || before.column - column) > 0) isAscending = false;
        this.#add(map, map['mappings'], line, column);
      }
    }
    if (sections.length > MOST_SECTIONS) this.#damage.add(`more than ${MOST_SECTIONS} sections`);
    if (isAscending) return;
    this.#damage.add('sections that are not in order');
    this.#sections.length = 0;
  }

  #add(json: Json, text: string, line: number, column: number): void {
    const root = typeof json['sourceRoot'] === 'string' ? json['sourceRoot'] : '';
    const listed = Array.isArray(json['sources']) ? json['sources'] : [];
    const sources = listed.map((source) =>
      typeof source === 'string' && source !== '' ? resolveSource(this.#at, root, source) : null,
    );
    const names: readonly unknown[] = Array.isArray(json['names']) ? json['names'] : [];
    const mappings = decodeMappings(text, { sources: sources.length, names: names.length });
    for (const key of ['ignoreList', 'x_google_ignoreList']) {
      const rows = json[key];
      if (!Array.isArray(rows)) continue;
      for (const row of rows) {
        const source = sources[Number(row)];
        if (typeof source === 'string') this.#ignored.add(source);
      }
    }
    if (mappings.damagedLine >= 0)
      this.#damage.add(`nothing is known from line ${line + mappings.damagedLine + 1} on`);
    if (mappings.outside > 0) this.#damage.add('segments that lead outside of sources and names');
    if (sources.includes(null)) this.#damage.add('sources without a name');
    this.#sections.push({ line, column, mappings, sources, names });
  }
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isPosition(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < 2 ** 31;
}
