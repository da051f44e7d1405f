import { decodeUtf8 } from '../../base/index.ts';

const LINE_FEED = 0x0a;

/** The text of a script, a line at a time: a bundle may be a line of megabytes. */
export class ScriptText {
  readonly #bytes: Uint8Array;
  #starts: number[] | null = null;
  #line = 0;
  #text = '';

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** Whether a word, and not a part of one, is at a place; both from 1. */
  hasWord(line: number, column: number, word: string): boolean {
    const text = this.#lineText(line);
    const at = column - 1;
    return (
      text.startsWith(word, at) && !WORD.test(text[at - 1] ?? '') && !WORD.test(text[at + word.length] ?? '')
    );
  }

  /** All of it. */
  get code(): string {
    return decodeUtf8(this.#bytes);
  }

  #lineText(line: number): string {
    if (line === this.#line) return this.#text;
    this.#starts ??= lineStarts(this.#bytes);
    this.#text = decodeUtf8(this.#bytes.subarray(this.#starts[line - 1] ?? 0, this.#starts[line] ?? 0));
    this.#line = line;
    return this.#text;
  }
}

/** Of identifiers. */
const WORD = /[\w$\u0080-\uffff]/;

/** And the end. */
function lineStarts(bytes: Uint8Array): number[] {
  const starts = [0];
  for (let at = bytes.indexOf(LINE_FEED); at >= 0; at = bytes.indexOf(LINE_FEED, at + 1)) starts.push(at + 1);
  starts.push(bytes.length);
  return starts;
}

/** The lines, from 1, that have more than so many bytes. */
export function longLines(text: Uint8Array, mostBytes: number): Set<number> {
  const found = new Set<number>();
  let start = 0;
  for (let line = 1; start < text.length; line++) {
    const end = text.indexOf(LINE_FEED, start);
    const next = end < 0 ? text.length : end;
    if (next - start > mostBytes) found.add(line);
    start = next + 1;
  }
  return found;
}
