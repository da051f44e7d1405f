import { TWO_32, toHex } from '../../../../base/u64.ts';
import { decodePunycode } from './punycode.ts';

/**
 * Thrown, as one prepared object, where a name breaks the grammar or a bound. Never leaves `demangleRustV0`.
 */
export class Invalid extends Error {}
export const INVALID: Invalid = new Invalid('not a Rust name');

/**
 * Of 200,000 real names none nests deeper than 93. At the limit reading takes a
 * quarter of V8's default stack.
 */
const DEPTH_LIMIT = 300;
/**
 * Back references are read again each time, so a short name can stand for a very
 * long one; real names take 2,500.
 */
const STEP_LIMIT = 1 << 16;
/** In characters; real names stay below 15,000. */
const OUTPUT_LIMIT = 1 << 18;
/** Digits of 64 bits in base 62. */
const INTEGER_DIGITS = 11;

/** Back references count from after `_R`. */
const START = 2;

/** A cursor over a v0 name, the text written so far, and the bounds on both. */
export class V0Reader {
  readonly source: string;
  /** Where the name ends: at the end of the source or before a `.suffix`. */
  readonly end: number;
  position = START;
  text = '';
  /** Lifetimes bound by the `for<…>` around. */
  boundLifetimes = 0;
  /** With the hashes of crates and the types of constants. */
  readonly verbose: boolean;
  /** Above 0: read, but do not write. */
  #silent = 0;
  #depth = 0;
  #stepsLeft = STEP_LIMIT;

  constructor(source: string, end: number, verbose: boolean) {
    this.source = source;
    this.end = end;
    this.verbose = verbose;
  }

  peek(): string {
    return this.source.charAt(this.position);
  }

  next(): string {
    if (this.position >= this.end) throw INVALID;
    return this.source.charAt(this.position++);
  }

  accept(letter: string): boolean {
    if (this.source.charAt(this.position) !== letter) return false;
    this.position++;
    return true;
  }

  enter(): void {
    if (++this.#depth > DEPTH_LIMIT || --this.#stepsLeft < 0) throw INVALID;
  }

  leave(): void {
    this.#depth--;
  }

  /** Counts work that a short stretch of the name can ask for. */
  spend(steps: number): void {
    this.#stepsLeft -= steps;
    if (this.#stepsLeft < 0) throw INVALID;
  }

  write(text: string): void {
    if (this.#silent > 0) return;
    this.text += text;
    if (this.text.length > OUTPUT_LIMIT) throw INVALID;
  }

  /** Reads without writing: what is in the name only to tell it apart from others. */
  silently(read: () => void): void {
    this.#silent++;
    read();
    this.#silent--;
  }

  /**
   * After `B`: reads again what stands at an earlier position. Nothing is looked up while nothing is written.
   */
  backReference(read: () => void): void {
    const from = this.position - 1;
    const target = START + this.integer62();
    if (target >= from) throw INVALID;
    if (this.#silent > 0) return;
    const { position } = this;
    this.position = target;
    read();
    this.position = position;
  }

  /** `_` is 0; else digits in base 62, plus 1, up to `_`. Values beyond 2^53 come out rounded. */
  integer62(): number {
    if (this.accept('_')) return 0;
    const limit = this.position + INTEGER_DIGITS;
    let value = 0;
    while (!this.accept('_')) {
      if (this.position >= limit) throw INVALID;
      value = value * 62 + this.#digit62();
    }
    return value + 1;
  }

  #digit62(): number {
    const digit = digit62(this.source.charCodeAt(this.position++));
    if (digit < 0) throw INVALID;
    return digit;
  }

  /** `tag` and an integer, plus 1; 0 where the tag does not come. */
  optionalInteger62(tag: string): number {
    return this.accept(tag) ? this.integer62() + 1 : 0;
  }

  /**
   * s <integer>, plus 1, in hex, modulo 2^64: the hash of a crate. In two halves, as it takes all 64 bits.
   */
  disambiguatorHex(): string {
    if (!this.accept('s')) return '0';
    let lo = 0;
    let hi = 0;
    let plus = 1;
    const limit = this.position + INTEGER_DIGITS;
    while (!this.accept('_')) {
      if (this.position >= limit) throw INVALID;
      lo = lo * 62 + this.#digit62();
      hi = (hi * 62 + Math.floor(lo / TWO_32)) % TWO_32;
      lo %= TWO_32;
      plus = 2;
    }
    lo += plus;
    return toHex(lo % TWO_32, lo < TWO_32 ? hi : (hi + 1) % TWO_32);
  }

  /** [u] <length> [_] <bytes>; '' for the unnamed. */
  identifier(): string {
    const isPunycode = this.accept('u');
    const first = this.next();
    if (first < '0' || first > '9') throw INVALID;
    let length = Number(first);
    if (length > 0) {
      while (this.peek() >= '0' && this.peek() <= '9') {
        length = length * 10 + Number(this.next());
        if (length > this.source.length) throw INVALID;
      }
    }
    // Separates the length from a name that starts with a digit or an underscore.
    this.accept('_');
    const start = this.position;
    this.position += length;
    if (this.position > this.end) throw INVALID;
    const bytes = this.source.slice(start, this.position);
    if (!isPunycode) return bytes;
    this.spend(length);
    const split = bytes.lastIndexOf('_');
    const decoded = decodePunycode(bytes.slice(0, Math.max(split, 0)), bytes.slice(split + 1));
    if (decoded === null) throw INVALID;
    return decoded;
  }

  /** Lower-case hex digits up to `_`. */
  hexDigits(): string {
    const end = this.source.indexOf('_', this.position);
    if (end < 0) throw INVALID;
    const digits = this.source.slice(this.position, end);
    this.spend(digits.length);
    for (let i = 0; i < digits.length; i++) if (!'0123456789abcdef'.includes(digits.charAt(i))) throw INVALID;
    this.position = end + 1;
    return digits;
  }
}

/** The digit that a character code stands for in base 62 (0-9, a-z, A-Z), or -1. */
export function digit62(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  if (code >= 0x61 && code <= 0x7a) return code - 0x61 + 10;
  return code >= 0x41 && code <= 0x5a ? code - 0x41 + 36 : -1;
}
