import { FormatError } from '../../../base/index.ts';

/**
 * The LZMA decoder proper: a range decoder that feeds a model of literals, matches and repeated distances (as
 * LZMA2 chunks use it, so without an end marker). The output is its own dictionary.
 *
 *     bit "is match" 0 -> literal
 *                    1 -> bit "is repeat" 0 -> length, distance
 *                                         1 -> which of the last four distances, length (or one byte)
 *
 * Facts: the LZMA specification in Igor Pavlov's public-domain LZMA SDK (lzma-specification.txt).
 */

const STATES = 12;
const MAX_POS_STATES = 16;
const LENGTH_STATES = 4;
const MIN_MATCH = 2;
/** Distances from this slot on have bits that are not modelled by slot-specific probabilities. */
const FIRST_DIRECT_SLOT = 14;
const ALIGN_BITS = 4;
const PROBABILITY_HALF = 1024;
const PROBABILITY_BITS = 11;
const ADAPT_SHIFT = 5;
const RANGE_MINIMUM = 0x100_0000;

// Layout of a length model: choice, choice2, then trees of 3 bits per position state
// (low, mid) and one of 8 bits.
const LENGTH_LOW = 2;
const LENGTH_MID = LENGTH_LOW + MAX_POS_STATES * 8;
const LENGTH_HIGH = LENGTH_MID + MAX_POS_STATES * 8;
const LENGTH_SIZE = LENGTH_HIGH + 256;

// Layout of the whole model in one array, literals last because their number varies.
const IS_MATCH = 0;
const IS_REPEAT = IS_MATCH + STATES * MAX_POS_STATES;
const IS_REPEAT_0 = IS_REPEAT + STATES;
const IS_REPEAT_1 = IS_REPEAT_0 + STATES;
const IS_REPEAT_2 = IS_REPEAT_1 + STATES;
const IS_SHORT_REPEAT = IS_REPEAT_2 + STATES;
const DISTANCE_SLOT = IS_SHORT_REPEAT + STATES * MAX_POS_STATES;
const DISTANCE_SPECIAL = DISTANCE_SLOT + LENGTH_STATES * 64;
const DISTANCE_ALIGN = DISTANCE_SPECIAL + 128;
const MATCH_LENGTH = DISTANCE_ALIGN + (1 << ALIGN_BITS);
const REPEAT_LENGTH = MATCH_LENGTH + LENGTH_SIZE;
const LITERALS = REPEAT_LENGTH + LENGTH_SIZE;
const LITERAL_SIZE = 0x300;
/** LZMA2 allows lc + lp up to 4. */
const MODEL_SIZE = LITERALS + (LITERAL_SIZE << 4);

export class LzmaDecoder {
  /** What was decoded so far; longer than `length`. */
  output: Uint8Array<ArrayBuffer> = new Uint8Array(1 << 16);
  length = 0;
  /** Matches may not reach back beyond this place: where the dictionary was last reset. */
  dictionaryStart = 0;
  readonly #model = new Uint16Array(MODEL_SIZE);
  #state = 0;
  #repeat0 = 0;
  #repeat1 = 0;
  #repeat2 = 0;
  #repeat3 = 0;
  #literalContextBits = 0;
  #literalPosMask = 0;
  #posMask = 0;
  // The range decoder over `input`.
  #input: Uint8Array = new Uint8Array(0);
  #at = 0;
  #range = 0;
  #code = 0;

  /** lc, lp and pb as one byte: (pb * 5 + lp) * 9 + lc. False where LZMA2 does not allow it. */
  setProperties(byte: number): boolean {
    const literalContextBits = byte % 9;
    const literalPosBits = Math.floor(byte / 9) % 5;
    const posBits = Math.floor(byte / 45);
    if (posBits > 4 || literalContextBits + literalPosBits > 4) return false;
    this.#literalContextBits = literalContextBits;
    this.#literalPosMask = (1 << literalPosBits) - 1;
    this.#posMask = (1 << posBits) - 1;
    return true;
  }

  resetState(): void {
    this.#model.fill(PROBABILITY_HALF);
    this.#state = 0;
    this.#repeat0 = this.#repeat1 = this.#repeat2 = this.#repeat3 = 0;
  }

  /** Makes room for `size` more bytes of output. */
  reserve(size: number): void {
    if (this.length + size <= this.output.length) return;
    const bigger = new Uint8Array(Math.max(this.length + size, this.output.length * 2));
    bigger.set(this.output.subarray(0, this.length));
    this.output = bigger;
  }

  /**
   * Decodes `size` bytes from one chunk's compressed bytes, which must come out
   * exactly. `offset` is for messages.
   */
  decodeChunk(input: Uint8Array, size: number, offset: number): void {
    this.reserve(size);
    this.#input = input;
    // The first byte of a range coder's output is always 0; the next four start the code.
    if (input.length < 5 || input[0] !== 0)
      throw new FormatError('ERR_XZ_DATA', offset, 'the start of an LZMA chunk', 'other bytes');
    this.#code = ((input[1]! << 24) | (input[2]! << 16) | (input[3]! << 8) | input[4]!) >>> 0;
    this.#range = 0xffff_ffff;
    this.#at = 5;
    const end = this.length + size;
    while (this.length < end) {
      if (!this.#decodeSymbol(end))
        throw new FormatError('ERR_XZ_DATA', offset, 'a match inside the output', 'one outside');
      // Reading past the end gives zeros, so damage shows here at the latest and costs
      // no more than the chunk.
      if (this.#at > input.length)
        throw new FormatError('ERR_XZ_DATA', offset, `${size} bytes from the chunk`, 'its end');
    }
    this.#normalize();
    if (this.#at !== input.length || this.#code !== 0)
      throw new FormatError('ERR_XZ_DATA', offset, 'the end of the chunk', 'more bytes');
  }

  /** One literal or match. False where a match leads outside the dictionary or over `end`. */
  #decodeSymbol(end: number): boolean {
    const posState = (this.length - this.dictionaryStart) & this.#posMask;
    const state = this.#state;
    if (this.#bit(IS_MATCH + state * MAX_POS_STATES + posState) === 0) {
      this.#decodeLiteral();
      return true;
    }
    let length: number;
    if (this.#bit(IS_REPEAT + state) === 0) {
      this.#repeat3 = this.#repeat2;
      this.#repeat2 = this.#repeat1;
      this.#repeat1 = this.#repeat0;
      length = this.#decodeLength(MATCH_LENGTH, posState);
      this.#state = state < 7 ? 7 : 10;
      this.#repeat0 = this.#decodeDistance(length);
    } else {
      if (this.#bit(IS_REPEAT_0 + state) === 0) {
        if (this.#bit(IS_SHORT_REPEAT + state * MAX_POS_STATES + posState) === 0) {
          this.#state = state < 7 ? 9 : 11;
          return this.#copyMatch(1, end);
        }
      } else this.#rotateRepeats(state);
      length = this.#decodeLength(REPEAT_LENGTH, posState);
      this.#state = state < 7 ? 8 : 11;
    }
    return this.#copyMatch(length + MIN_MATCH, end);
  }

  /** Moves the chosen one of the older distances to the front. */
  #rotateRepeats(state: number): void {
    let distance = this.#repeat1;
    if (this.#bit(IS_REPEAT_1 + state) !== 0) {
      if (this.#bit(IS_REPEAT_2 + state) === 0) distance = this.#repeat2;
      else {
        distance = this.#repeat3;
        this.#repeat3 = this.#repeat2;
      }
      this.#repeat2 = this.#repeat1;
    }
    this.#repeat1 = this.#repeat0;
    this.#repeat0 = distance;
  }

  #copyMatch(length: number, end: number): boolean {
    const distance = this.#repeat0 + 1;
    if (distance > this.length - this.dictionaryStart || this.length + length > end) return false;
    const output = this.output;
    // Byte by byte: a match may overlap what it writes, which is how runs are coded.
    for (let from = this.length - distance, to = this.length, stop = to + length; to < stop; )
      output[to++] = output[from++]!;
    this.length += length;
    return true;
  }

  #decodeLiteral(): void {
    const output = this.output;
    const position = this.length - this.dictionaryStart;
    const previous = position > 0 ? output[this.length - 1]! : 0;
    const context =
      ((position & this.#literalPosMask) << this.#literalContextBits) +
      (previous >> (8 - this.#literalContextBits));
    const base = LITERALS + LITERAL_SIZE * context;
    let symbol = 1;
    if (this.#state >= 7) {
      // After a match the byte at the last distance predicts the literal, for as long as the bits agree.
      let expected = position > this.#repeat0 ? output[this.length - this.#repeat0 - 1]! : 0;
      do {
        const expectedBit = (expected >> 7) & 1;
        expected <<= 1;
        const bit = this.#bit(base + ((1 + expectedBit) << 8) + symbol);
        symbol = (symbol << 1) | bit;
        if (bit !== expectedBit) break;
      } while (symbol < 0x100);
    }
    while (symbol < 0x100) symbol = (symbol << 1) | this.#bit(base + symbol);
    output[this.length++] = symbol & 0xff;
    this.#state = this.#state < 4 ? 0 : this.#state < 10 ? this.#state - 3 : this.#state - 6;
  }

  /** Length of a match, less the shortest one. */
  #decodeLength(base: number, posState: number): number {
    if (this.#bit(base) === 0) return this.#tree(base + LENGTH_LOW + (posState << 3), 3);
    if (this.#bit(base + 1) === 0) return 8 + this.#tree(base + LENGTH_MID + (posState << 3), 3);
    return 16 + this.#tree(base + LENGTH_HIGH, 8);
  }

  /** Distance of a match, less one. */
  #decodeDistance(length: number): number {
    const slot = this.#tree(DISTANCE_SLOT + Math.min(length, LENGTH_STATES - 1) * 64, 6);
    if (slot < 4) return slot;
    const bits = (slot >> 1) - 1;
    const high = ((2 | (slot & 1)) << bits) >>> 0;
    if (slot < FIRST_DIRECT_SLOT) return high + this.#reverseTree(DISTANCE_SPECIAL + high - slot, bits);
    return high + this.#directBits(bits - ALIGN_BITS) * 16 + this.#reverseTree(DISTANCE_ALIGN, ALIGN_BITS);
  }

  #tree(base: number, bits: number): number {
    let symbol = 1;
    for (let count = 0; count < bits; count++) symbol = (symbol << 1) | this.#bit(base + symbol);
    return symbol - (1 << bits);
  }

  #reverseTree(base: number, bits: number): number {
    let symbol = 1;
    let value = 0;
    for (let count = 0; count < bits; count++) {
      const bit = this.#bit(base + symbol);
      symbol = (symbol << 1) | bit;
      value |= bit << count;
    }
    return value;
  }

  #directBits(count: number): number {
    let value = 0;
    for (; count > 0; count--) {
      this.#normalize();
      this.#range >>>= 1;
      const isOne = this.#code >= this.#range;
      if (isOne) this.#code -= this.#range;
      value = value * 2 + (isOne ? 1 : 0);
    }
    return value;
  }

  /** Decodes one bit by the probability at `index` and adapts it. */
  #bit(index: number): number {
    this.#normalize();
    const probability = this.#model[index]!;
    const bound = (this.#range >>> PROBABILITY_BITS) * probability;
    if (this.#code < bound) {
      this.#range = bound;
      this.#model[index] = probability + ((2 * PROBABILITY_HALF - probability) >> ADAPT_SHIFT);
      return 0;
    }
    this.#range -= bound;
    this.#code -= bound;
    this.#model[index] = probability - (probability >> ADAPT_SHIFT);
    return 1;
  }

  #normalize(): void {
    if (this.#range >= RANGE_MINIMUM) return;
    this.#range = (this.#range << 8) >>> 0;
    const next = this.#at < this.#input.length ? this.#input[this.#at]! : 0;
    this.#code = ((this.#code << 8) | next) >>> 0;
    this.#at++;
  }
}
