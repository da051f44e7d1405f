/** The order in which a function is shown: instructions by address, source lines where they begin. */
import type { SourceFrame } from '@counterpoint/core/symbols';
import type { ListedLine, Listing } from './listing.ts';
import { expandTabs, type SourceText } from './source-text.ts';

export type ShownRow =
  /** The function or the file of what follows is another one. */
  | { readonly kind: 'place'; readonly text: string }
  /** `total`: shares of the line, where it is shown for the first time. */
  | {
      readonly kind: 'source';
      readonly file: string;
      readonly line: number;
      readonly text: string | null;
      readonly total: ListedLine | null;
    }
  | { readonly kind: 'instruction'; readonly index: number };

/** Lines between two that have code (comments, braces) are shown if they are no more than these. */
const MOST_BETWEEN = 3;

export function shownRows(listing: Listing, source: SourceText | null, fullPaths: boolean): ShownRow[] {
  const rows: ShownRow[] = [];
  const layout = source === null ? null : new SourceLayout(listing, source, fullPaths);
  for (const [index, { frames }] of listing.instructions.entries()) {
    if (layout !== null && frames.length > 0) rows.push(...layout.before(frames));
    rows.push({ kind: 'instruction', index });
  }
  return rows;
}

class SourceLayout {
  readonly #source: SourceText;
  readonly #fullPaths: boolean;
  readonly #totals: Map<string, ListedLine>;
  readonly #seen = new Set<string>();
  #functions = '';
  #file = '';
  #line = 0;

  constructor({ lines }: Listing, source: SourceText, fullPaths: boolean) {
    this.#source = source;
    this.#fullPaths = fullPaths;
    this.#totals = new Map(lines.map((line) => [`${line.line} ${line.file}`, line]));
  }

  before(frames: readonly SourceFrame[]): ShownRow[] {
    const { file, line } = frames[0]!;
    const functions = frames.map(({ functionName }) => functionName).join('\n');
    const isElsewhere = functions !== this.#functions || file !== this.#file;
    if (!isElsewhere && (line === this.#line || line === 0)) return [];
    const rows: ShownRow[] = isElsewhere ? [{ kind: 'place', text: this.#placeText(frames) }] : [];
    if (line > 0) {
      const from = this.#line + 1;
      const isNear = !isElsewhere && line > from && line - from <= MOST_BETWEEN;
      for (let between = from; isNear && between < line; between++)
        if (!this.#totals.has(`${between} ${file}`)) rows.push(this.#row(file, between));
      rows.push(this.#row(file, line));
    }
    [this.#functions, this.#file, this.#line] = [functions, file, line];
    return rows;
  }

  #row(file: string, line: number): ShownRow {
    const key = `${line} ${file}`;
    const total = this.#seen.has(key) ? null : (this.#totals.get(key) ?? null);
    this.#seen.add(key);
    const text = this.#source.line(file, line);
    return { kind: 'source', file, line, text: text === null ? null : expandTabs(text), total };
  }

  /** `mix() inlined into work()  spin.c`. */
  #placeText(frames: readonly SourceFrame[]): string {
    const names = frames.map(({ functionName }) => called(functionName || '[unknown]'));
    const { file } = frames[0]!;
    return `${names.join(' inlined into ')}  ${this.#fullPaths ? file : baseName(file)}`.trimEnd();
  }
}

/** Names of functions of JavaScript have their place behind them. */
function called(name: string): string {
  return name.endsWith(')') || name.includes(' /') || /:\d+$/.test(name) ? name : `${name}()`;
}

export function baseName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
