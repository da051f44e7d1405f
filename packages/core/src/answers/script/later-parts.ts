import type { TextBuffer } from '../../base/index.ts';

/** Stands in a line for a part that is made when it is printed: no other text has it. */
const MARK = '\0';
const MARK_BYTE = 0;

/** Parts of lines that depend on what is known no earlier than when they are printed. */
export class LaterParts {
  readonly #byLine = new Map<number, (() => string)[]>();

  /** The next part of a line; gives what stands for it. */
  add(line: number, part: () => string): string {
    const parts = this.#byLine.get(line);
    if (parts === undefined) this.#byLine.set(line, [part]);
    else parts.push(part);
    return MARK;
  }

  /** The text of a line, with its parts in their places. */
  put(buffer: TextBuffer, text: Uint8Array, line: number): void {
    let from = 0;
    for (const part of this.#byLine.get(line) ?? NO_PARTS) {
      const mark = text.indexOf(MARK_BYTE, from);
      buffer.put(text.subarray(from, mark));
      buffer.putText(part());
      from = mark + 1;
    }
    buffer.put(from === 0 ? text : text.subarray(from));
  }

  clear(): void {
    this.#byLine.clear();
  }
}

const NO_PARTS: readonly (() => string)[] = [];
