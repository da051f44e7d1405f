import { encodeUtf8Into, printableJson } from '../../base/index.ts';

/** Chunks handed out are at least this long, except the last. */
const CHUNK_BYTES = 256 * 1024;

/** Room kept beyond a full chunk, so that short writes after `isFull` became true need no growth. */
const SLACK_BYTES = 64 * 1024;

const MAX_DECIMAL_DIGITS = 16;
const DIGIT_0 = 0x30;
const MINUS = 0x2d;
const POINT = 0x2e;

/**
 * Text and numbers as UTF-8 bytes, taken out in chunks:
 *
 *   for (const row of rows) {
 *     out.text(row.name);
 *     if (out.isFull) yield out.take();
 *   }
 *   yield out.take();
 *
 * Writing digits as bytes costs a third of `String(n)` and a concatenation, and no
 * export ever holds one giant string.
 */
export class ByteWriter {
  #bytes: Uint8Array<ArrayBuffer> = new Uint8Array(CHUNK_BYTES + SLACK_BYTES);
  length = 0;

  /** True when `take` should be called. Writing on is allowed: the buffer grows. */
  get isFull(): boolean {
    return this.length >= CHUNK_BYTES;
  }

  /** What was written since the last `take`; the caller owns it. */
  take(): Uint8Array<ArrayBuffer> {
    const chunk = this.#bytes.slice(0, this.length);
    this.length = 0;
    return chunk;
  }

  /** What was written since the last `take` or `clear`, borrowed until the next write. */
  view(): Uint8Array<ArrayBuffer> {
    return this.#bytes.subarray(0, this.length);
  }

  clear(): void {
    this.length = 0;
  }

  byte(value: number): void {
    if (this.length === this.#bytes.length) this.#reserve(1);
    this.#bytes[this.length++] = value;
  }

  raw(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.length);
    this.length += bytes.length;
  }

  text(text: string): void {
    this.#reserve(text.length * 3);
    this.length += encodeUtf8Into(text, this.#bytes.subarray(this.length));
  }

  /** A JSON string in quotes. Lone surrogates come out as escapes, so the bytes are always UTF-8. */
  jsonString(text: string): void {
    this.text(printableJson(text));
  }

  /** Any JSON value that is small. */
  json(value: unknown): void {
    this.text(printableJson(value));
  }

  /** Decimal digits of a whole number of any sign; a fraction is rounded, what is not a number is 0. */
  integer(value: number): void {
    let rest = Math.round(value);
    if (!(Math.abs(rest) <= Number.MAX_SAFE_INTEGER)) {
      this.text(Number.isFinite(rest) ? BigInt(rest).toString() : '0');
      return;
    }
    if (this.length + MAX_DECIMAL_DIGITS + 1 > this.#bytes.length) this.#reserve(MAX_DECIMAL_DIGITS + 1);
    if (rest < 0) {
      this.#bytes[this.length++] = MINUS;
      rest = -rest;
    }
    this.#digits(rest, 1);
  }

  /** `value / 1e6` in the fewest digits: nanoseconds as milliseconds, exact. */
  millionths(value: number): void {
    let rest = Math.round(value);
    if (!(Math.abs(rest) <= Number.MAX_SAFE_INTEGER)) {
      this.integer(value / 1e6);
      return;
    }
    if (this.length + 2 * MAX_DECIMAL_DIGITS > this.#bytes.length) this.#reserve(2 * MAX_DECIMAL_DIGITS);
    if (rest < 0) {
      this.#bytes[this.length++] = MINUS;
      rest = -rest;
    }
    const whole = Math.floor(rest / 1e6);
    let fraction = rest - whole * 1e6;
    this.#digits(whole, 1);
    if (fraction === 0) return;
    let places = 6;
    while (fraction % 10 === 0) {
      fraction /= 10;
      places--;
    }
    this.#bytes[this.length++] = POINT;
    this.#digits(fraction, places);
  }

  /** Digits of a non-negative safe integer, padded with zeros to `minimum`. Room must be there. */
  #digits(value: number, minimum: number): void {
    let count = 1;
    for (let limit = 10; limit <= value; limit *= 10) count++;
    if (count < minimum) count = minimum;
    let at = (this.length += count);
    let rest = value;
    for (let left = count; left > 0; left--) {
      const quotient = rest < 0x8000_0000 ? ((rest | 0) / 10) | 0 : Math.floor(rest / 10);
      this.#bytes[--at] = DIGIT_0 + (rest - quotient * 10);
      rest = quotient;
    }
  }

  #reserve(extra: number): void {
    const needed = this.length + extra;
    if (needed <= this.#bytes.length) return;
    const bigger = new Uint8Array(Math.max(needed, this.#bytes.length * 2));
    bigger.set(this.#bytes.subarray(0, this.length));
    this.#bytes = bigger;
  }
}
