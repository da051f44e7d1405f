import { NONE, type Profile } from '../profile/index.ts';
import type { Functions } from './functions.ts';

/** Where in the source the time of a row was. */
export interface RowSource {
  file: string;
  line: number;
  /** Where all of the row has one. */
  column?: number;
  /** `function`: more is not known than where the function begins. */
  precision: 'line' | 'function';
}

/** As perf writes it. */
export const UNKNOWN_LINE = '??:0';

interface Place extends RowSource {
  column: number;
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

  constructor(profile: Profile, functions: Functions) {
    this.#profile = profile;
    this.#functions = functions;
  }

  /** The line's number, for `source` and `text`; `NONE`: nothing is known. */
  ofFrame(frame: number): number {
    const place = this.#placeOf(frame);
    if (place === null) return NONE;
    const text = lineText(place);
    let row = this.#rows.get(text);
    if (row === undefined) {
      this.#rows.set(text, (row = this.#texts.push(text) - 1));
      const { file, line, precision } = place;
      this.#sources.push({ file, line, precision });
    }
    return row;
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
  const { frames, sources, strings } = profile;
  const row = frames.source.at(frame);
  if (row !== NONE)
    return {
      file: strings.get(sources.file.at(row)),
      line: sources.line.at(row),
      column: sources.column.at(row),
      precision: 'line',
    };
  const { file, line, column } = functions.place(functions.ofFrame(frame)) ?? NO_PLACE;
  return file === null || line === null ? null : { file, line, column: column ?? 0, precision: 'function' };
}

const NO_PLACE = { file: null, line: null, column: null };

/** `/app/main.js:12` */
export function lineText({ file, line, precision }: RowSource): string {
  return `${file}:${line}${precision === 'function' ? ' (function)' : ''}`;
}
