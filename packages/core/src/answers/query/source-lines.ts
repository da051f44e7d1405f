import { NONE, type Profile } from '../../profile/tables/index.ts';
import type { Functions } from './functions.ts';

/** Where in the source the time of a row was. */
export interface RowSource {
  /** Path of the source file, or URL of a script, as its debug information or runtime says it. */
  file: string;
  /** From 1. */
  line: number;
  /** From 1; present where all samples of the row have the same one. */
  column?: number;
  /** `function`: more is not known than where the function begins. */
  precision: 'line' | 'function';
}

/** As perf writes it. */
export const UNKNOWN_LINE = '??:0';
/** Of a file that is not known. */
export const UNKNOWN_FILE = '??';

interface Place extends RowSource {
  column: number;
  /** Of a program or library, not of code that was made while it ran. */
  isNative: boolean;
}

/**
 * Lines of source code that frames are at. Of code whose line nobody recorded, it is that of its function,
 * and the text says so: `/app/main.js:12 (function)`.
 */
export class SourceLines {
  readonly #profile: Profile;
  readonly #functions: Functions;
  readonly #rows = new Map<string, number>();
  readonly #sources: RowSource[] = [];
  readonly #texts: string[] = [];

  readonly #shortPaths: boolean;

  /**
   * `shortPaths`: texts have only the last part of the paths of programs' and libraries' sources, as in perf.
   */
  constructor(profile: Profile, functions: Functions, shortPaths = false) {
    this.#profile = profile;
    this.#functions = functions;
    this.#shortPaths = shortPaths;
  }

  /** The line's number, for `source` and `text`; `NONE`: nothing is known. */
  ofFrame(frame: number): number {
    const place = this.#placeOf(frame);
    if (place === null) return NONE;
    const text = lineText(place);
    let row = this.#rows.get(text);
    if (row === undefined) {
      this.#rows.set(text, (row = this.#texts.push(lineText({ ...place, file: this.#shown(place) })) - 1));
      const { file, line, precision } = place;
      this.#sources.push({ file, line, precision });
    }
    return row;
  }

  /** The whole path of the file. */
  fileOf(frame: number): string {
    return this.#placeOf(frame)?.file ?? UNKNOWN_FILE;
  }

  /** The same as texts show it. */
  shownFile(frame: number): string {
    const place = this.#placeOf(frame);
    return place === null ? UNKNOWN_FILE : this.#shown(place);
  }

  #shown({ file, isNative }: Place): string {
    return isNative && this.#shortPaths ? file.slice(file.lastIndexOf('/') + 1) : file;
  }

  /** From 1; 0: unknown. */
  columnOf(frame: number): number {
    return this.#placeOf(frame)?.column ?? 0;
  }

  source(row: number): RowSource {
    return this.#sources[row]!;
  }

  text(row: number): string {
    return this.#texts[row]!;
  }

  #placeOf(frame: number): Place | null {
    return sourceOf(this.#profile, this.#functions, frame);
  }
}

/** Where a frame is in its source; null: nothing is known. */
export function sourceOf(profile: Profile, functions: Functions, frame: number): Place | null {
  const { frames, sources, strings, binaries } = profile;
  const row = frames.source.at(frame);
  if (row !== NONE)
    return {
      file: strings.get(sources.file.at(row)),
      line: sources.line.at(row),
      column: sources.column.at(row),
      precision: 'line',
      isNative: binaries[frames.binary.at(frame)]?.kind !== 'jit',
    };
  const { file, line, column } = functions.place(functions.ofFrame(frame)) ?? NO_PLACE;
  if (file === null || line === null) return null;
  return { file, line, column: column ?? 0, precision: 'function', isNative: false };
}

const NO_PLACE = { file: null, line: null, column: null };

/** `/app/main.js:12` */
export function lineText({ file, line, precision }: RowSource): string {
  return `${file}:${line}${precision === 'function' ? ' (function)' : ''}`;
}
