import { encodeUtf8Into } from './utf8.ts';

/** Collects text and bytes into one piece of memory that is used again and again. For output of gigabytes. */
export class TextBuffer {
  #bytes: Uint8Array<ArrayBuffer>;
  length = 0;

  constructor(capacity: number) {
    this.#bytes = new Uint8Array(capacity);
  }

  put(piece: Uint8Array): void {
    this.#reserve(piece.length);
    this.#bytes.set(piece, this.length);
    this.length += piece.length;
  }

  putText(text: string): void {
    // UTF-8 takes at most three bytes for each unit of a string.
    this.#reserve(text.length * 3);
    this.length += encodeUtf8Into(text, this.#bytes.subarray(this.length));
  }

  /** What was collected. Borrowed until the next change. */
  view(): Uint8Array<ArrayBuffer> {
    return this.#bytes.subarray(0, this.length);
  }

  clear(): void {
    this.length = 0;
  }

  #reserve(size: number): void {
    if (this.length + size <= this.#bytes.length) return;
    const bigger = new Uint8Array(Math.max(this.length + size, this.#bytes.length * 2));
    bigger.set(this.view());
    this.#bytes = bigger;
  }
}
