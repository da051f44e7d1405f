/**
 * DEFLATE (RFC 1951) inside zlib (RFC 1950), as in compressed debug sections. Written here because core has no host API for it
 * that works in one call and everywhere.
 *
 *     2 bytes of header | block | block | ... | Adler-32
 *                         final?, type: stored / fixed codes / codes of its own
 */
import { FormatError } from '../../base/index.ts';

const METHOD_DEFLATE = 8;
const FLAG_DICTIONARY = 0x20;
const LONGEST_CODE = 15;
const END_OF_BLOCK = 256;
/** Length codes 257..285 and distance codes 0..29: where each begins, and how many more bits it has (section 3.2.5). */
const LENGTH_BASE: Uint16Array = Uint16Array.of(
  ...[
    3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195,
  ],
  ...[227, 258],
);
const LENGTH_BITS: Uint8Array = Uint8Array.of(
  ...[0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0],
);
const DISTANCES = 30;
/** In this order a block gives the lengths of the codes that its codes' lengths are written in (section 3.2.7). */
const LENGTHS_ORDER: Uint8Array = Uint8Array.of(
  ...[16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15],
);
const ADLER_MODULUS = 65521;
/** So many sums stay below 2^32 before they must be reduced. */
const ADLER_RUN = 3800;

/** The decompressed bytes, which must be exactly `sizeBytes`. Throws FormatError. */
export function inflateZlib(bytes: Uint8Array, sizeBytes: number): Uint8Array<ArrayBuffer> {
  const isZlib =
    bytes.length >= 6 &&
    (bytes[0]! & 15) === METHOD_DEFLATE &&
    ((bytes[0]! << 8) | bytes[1]!) % 31 === 0 &&
    (bytes[1]! & FLAG_DICTIONARY) === 0;
  if (!isZlib) throw new FormatError('ERR_NOT_ZLIB', 0, 'a zlib stream', 'other bytes');
  const inflater = new Inflater(bytes, sizeBytes);
  inflater.run();
  const { output, at } = inflater;
  if (bytes.length - at < 4) throw new FormatError('ERR_ZLIB_CHECK', at, 'a checksum', 'the end');
  let check = 0;
  for (let index = 0; index < 4; index++) check = (check << 8) | bytes[at + index]!;
  if (check >>> 0 !== adler32(output))
    throw new FormatError('ERR_ZLIB_CHECK', at, 'the checksum of what was decompressed', 'another');
  return output;
}

function adler32(bytes: Uint8Array): number {
  let low = 1;
  let high = 0;
  for (let at = 0; at < bytes.length; ) {
    for (const end = Math.min(at + ADLER_RUN, bytes.length); at < end; at++) {
      low += bytes[at]!;
      high += low;
    }
    low %= ADLER_MODULUS;
    high %= ADLER_MODULUS;
  }
  return ((high << 16) | low) >>> 0;
}

/** Codes up to this length are found with one look at the bits that come next; nearly all are. */
const TABLE_BITS = 9;
const LENGTH_SHIFT = 12;

/** Codes by length: how many have it, and the symbols in the order of their codes. */
class Huffman {
  /** By the next bits of the input: length of the code << LENGTH_SHIFT | symbol; 0 where the code is longer. */
  readonly table = new Uint16Array(1 << TABLE_BITS);
  readonly #counts = new Uint16Array(LONGEST_CODE + 1);
  readonly #symbols: Uint16Array;

  constructor(lengths: Uint8Array) {
    const counts = this.#counts;
    for (const length of lengths) counts[length]!++;
    counts[0] = 0;
    // Each length has twice the room that the one before left; codes may leave some, but not take more.
    let left = 1;
    for (let length = 1; length <= LONGEST_CODE; length++) {
      left = 2 * left - counts[length]!;
      if (left < 0) throw new FormatError('ERR_DEFLATE', 0, 'codes that differ', 'too many codes');
    }
    const next = new Uint16Array(LONGEST_CODE + 2);
    for (let length = 1; length <= LONGEST_CODE; length++) next[length + 1] = next[length]! + counts[length]!;
    this.#symbols = new Uint16Array(lengths.length);
    lengths.forEach((length, symbol) => {
      if (length > 0) this.#symbols[next[length]!++] = symbol;
    });
    this.#fillTable();
  }

  #fillTable(): void {
    let code = 0;
    let index = 0;
    for (let length = 1; length <= TABLE_BITS; length++) {
      for (let left = this.#counts[length]!; left > 0; left--, code++, index++) {
        // A code comes with its highest bit first, all else with its lowest.
        let bits = 0;
        for (let bit = 0; bit < length; bit++) bits |= ((code >> bit) & 1) << (length - 1 - bit);
        const entry = (length << LENGTH_SHIFT) | this.#symbols[index]!;
        for (let at = bits; at < this.table.length; at += 1 << length) this.table[at] = entry;
      }
      code <<= 1;
    }
  }

  /** Codes of one length are consecutive numbers, and those of the next begin at twice what comes behind them. */
  read(bits: Inflater): number {
    const entry = this.table[bits.peek(TABLE_BITS)]!;
    if (entry !== 0) {
      bits.bits(entry >> LENGTH_SHIFT);
      return entry & ((1 << LENGTH_SHIFT) - 1);
    }
    let code = 0;
    let first = 0;
    let index = 0;
    for (let length = 1; length <= LONGEST_CODE; length++) {
      code |= bits.bits(1);
      const count = this.#counts[length]!;
      if (code - first < count) return this.#symbols[index + code - first]!;
      index += count;
      first = (first + count) << 1;
      code <<= 1;
    }
    throw bits.error('a code of the block', 'another');
  }
}

class Inflater {
  readonly output: Uint8Array<ArrayBuffer>;
  /** The next byte of the input. */
  at = 2;
  readonly #input: Uint8Array;
  #used = 0;
  #held = 0;
  #heldCount = 0;

  constructor(input: Uint8Array, sizeBytes: number) {
    this.#input = input;
    this.output = new Uint8Array(sizeBytes);
  }

  run(): void {
    for (let isFinal = false; !isFinal; ) {
      isFinal = this.bits(1) === 1;
      const type = this.bits(2);
      if (type === 0) this.#stored();
      else if (type === 1) this.#block(FIXED_LENGTHS, FIXED_DISTANCES);
      else if (type === 2) this.#ownCodes();
      else throw this.error('a block type', String(type));
    }
    if (this.#used !== this.output.length)
      throw this.error(`${this.output.length} bytes`, String(this.#used));
    this.align();
  }

  /** The next bits, with zeros behind the end of the input. */
  peek(count: number): number {
    while (this.#heldCount < count && this.at < this.#input.length) {
      this.#held |= this.#input[this.at++]! << this.#heldCount;
      this.#heldCount += 8;
    }
    return this.#held & ((1 << count) - 1);
  }

  /** At most 16. */
  bits(count: number): number {
    while (this.#heldCount < count) {
      if (this.at >= this.#input.length) throw this.error('more bytes', 'the end');
      this.#held |= this.#input[this.at++]! << this.#heldCount;
      this.#heldCount += 8;
    }
    const value = this.#held & ((1 << count) - 1);
    this.#held >>>= count;
    this.#heldCount -= count;
    return value;
  }

  error(expected: string, found: string): FormatError {
    return new FormatError('ERR_DEFLATE', this.at, expected, found);
  }

  /** To the next byte: whole ones that were looked at already are given back. */
  align(): void {
    this.at -= this.#heldCount >> 3;
    this.#held = 0;
    this.#heldCount = 0;
  }

  #stored(): void {
    this.align();
    const length = this.bits(16);
    if ((this.bits(16) ^ 0xffff) !== length) throw this.error('a length and its complement', 'others');
    if (length > this.#input.length - this.at) throw this.error(`${length} bytes`, 'the end');
    this.#room(length);
    this.output.set(this.#input.subarray(this.at, this.at + length), this.#used);
    this.#used += length;
    this.at += length;
  }

  #ownCodes(): void {
    const literals = this.bits(5) + 257;
    const distances = this.bits(5) + 1;
    const count = this.bits(4) + 4;
    const codeLengths = new Uint8Array(LENGTHS_ORDER.length);
    for (let index = 0; index < count; index++) codeLengths[LENGTHS_ORDER[index]!] = this.bits(3);
    const codes = new Huffman(codeLengths);
    const lengths = new Uint8Array(literals + distances);
    for (let index = 0; index < lengths.length; ) {
      const symbol = codes.read(this);
      if (symbol < 16) lengths[index++] = symbol;
      else {
        const value = symbol === 16 ? (lengths[index - 1] ?? 0) : 0;
        let repeat = symbol === 16 ? 3 + this.bits(2) : symbol === 17 ? 3 + this.bits(3) : 11 + this.bits(7);
        if (repeat > lengths.length - index) throw this.error('lengths of all codes', 'too many');
        while (repeat-- > 0) lengths[index++] = value;
      }
    }
    this.#block(new Huffman(lengths.subarray(0, literals)), new Huffman(lengths.subarray(literals)));
  }

  #block(lengths: Huffman, distances: Huffman): void {
    const { output } = this;
    for (;;) {
      const symbol = lengths.read(this);
      if (symbol < END_OF_BLOCK) {
        this.#room(1);
        output[this.#used++] = symbol;
        continue;
      }
      if (symbol === END_OF_BLOCK) return;
      const code = symbol - END_OF_BLOCK - 1;
      if (code >= LENGTH_BASE.length) throw this.error('a length', String(symbol));
      const length = LENGTH_BASE[code]! + this.bits(LENGTH_BITS[code]!);
      const distance = this.#distance(distances.read(this));
      if (distance > this.#used) throw this.error('a distance inside of the output', String(distance));
      this.#room(length);
      const end = this.#used + length;
      for (let at = this.#used; at < end; at++) output[at] = output[at - distance]!;
      this.#used = end;
    }
  }

  /** From code 4 on there is one more bit for each two codes. */
  #distance(code: number): number {
    if (code >= DISTANCES) throw this.error('a distance', String(code));
    if (code < 4) return code + 1;
    const more = (code >> 1) - 1;
    return ((2 + (code & 1)) << more) + 1 + this.bits(more);
  }

  #room(count: number): void {
    if (count > this.output.length - this.#used)
      throw this.error(`${this.output.length} bytes in all`, 'more');
  }
}

const FIXED_LENGTHS = new Huffman(
  Uint8Array.from({ length: 288 }, (_, symbol) =>
    symbol < 144 ? 8 : symbol < 256 ? 9 : symbol < 280 ? 7 : 8,
  ),
);
const FIXED_DISTANCES = new Huffman(new Uint8Array(DISTANCES).fill(5));
