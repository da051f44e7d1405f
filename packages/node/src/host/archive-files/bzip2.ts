import { CounterpointError } from '@counterpoint/core/base';

/** `BZh`, then the size of blocks: 1 to 9 times 100,000 bytes. */
const MAGIC = [0x42, 0x5a, 0x68] as const;
/** The digits of pi before a block, those of its root at the end of a stream. */
const BLOCK_MAGIC = [0x314159, 0x265359] as const;
const END_MAGIC = [0x177245, 0x385090] as const;
/** Symbols that one choice of table is for. */
const GROUP_SYMBOLS = 50;
const LONGEST_CODE = 20;
const RUN_A = 0;
const RUN_B = 1;

export function isBzip2(bytes: Uint8Array): boolean {
  return MAGIC.every((byte, at) => bytes[at] === byte) && bytes[3]! >= 0x31 && bytes[3]! <= 0x39;
}

/**
 * The content of a bzip2 file (one stream or several), a block at a time, each borrowed until the next.
 * Throws `ERR_ARCHIVE` where it is damaged; each block has a checksum.
 */
export function* bunzip2(bytes: Uint8Array): Generator<Uint8Array> {
  const bits = new Bits(bytes);
  while (bits.hasMore) {
    if (bits.take(24) !== 0x425a68) throw damaged('a stream does not begin as one');
    const level = bits.take(8) - 0x30;
    if (level < 1 || level > 9) throw damaged('the size of blocks is impossible');
    const block = new Block(level * 100_000);
    for (;;) {
      const [high, low] = [bits.take(24), bits.take(24)];
      if (high === END_MAGIC[0] && low === END_MAGIC[1]) break;
      if (high !== BLOCK_MAGIC[0] || low !== BLOCK_MAGIC[1]) throw damaged('a block does not begin as one');
      yield block.read(bits);
    }
    bits.take(24);
    bits.take(8);
    bits.alignToByte();
  }
}

/** Bits from the highest down. */
class Bits {
  readonly #bytes: Uint8Array;
  #at = 0;
  #held = 0;
  #count = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get hasMore(): boolean {
    return this.#at < this.#bytes.length;
  }

  /** Up to 24 at once. */
  take(count: number): number {
    while (this.#count < count) {
      if (this.#at >= this.#bytes.length) throw damaged('it is cut off');
      this.#held = ((this.#held & 0xffffff) << 8) | this.#bytes[this.#at++]!;
      this.#count += 8;
    }
    this.#count -= count;
    return (this.#held >>> this.#count) & ((1 << count) - 1);
  }

  alignToByte(): void {
    this.#count -= this.#count % 8;
  }
}

/** A prefix code in canonical form: by length, the largest code, and where its symbols begin. */
class Code {
  readonly #symbols: Uint16Array;
  readonly #limits = new Int32Array(LONGEST_CODE + 2);
  readonly #bases = new Int32Array(LONGEST_CODE + 2);
  readonly #longest: number;

  constructor(lengths: Uint8Array) {
    const symbols: number[] = [];
    let code = 0;
    let longest = 0;
    for (let length = 1; length <= LONGEST_CODE; length++) {
      this.#bases[length] = code - symbols.length;
      for (let symbol = 0; symbol < lengths.length; symbol++) {
        if (lengths[symbol] !== length) continue;
        symbols.push(symbol);
        code++;
        longest = length;
      }
      this.#limits[length] = code;
      code <<= 1;
    }
    this.#symbols = Uint16Array.from(symbols);
    this.#longest = longest;
  }

  read(bits: Bits): number {
    let code = 0;
    for (let length = 1; length <= this.#longest; length++) {
      code = (code << 1) | bits.take(1);
      if (code >= this.#limits[length]!) continue;
      const place = code - this.#bases[length]!;
      if (place >= 0 && place < this.#symbols.length) return this.#symbols[place]!;
    }
    throw damaged('a code is of no symbol');
  }
}

class Block {
  /** The sorted bytes; above them, once counted, the place of the next one. */
  readonly #words: Uint32Array;
  #out = new Uint8Array(1 << 20);

  constructor(mostBytes: number) {
    this.#words = new Uint32Array(mostBytes);
  }

  read(bits: Bits): Uint8Array {
    const checksum = ((bits.take(16) << 16) | bits.take(16)) >>> 0;
    if (bits.take(1) === 1) throw damaged('a block is of the form that bzip2 gave up in 1997');
    const origin = bits.take(24);
    const used = usedBytes(bits);
    const codes = readCodes(bits, used.length + 2);
    const size = this.#readSymbols(bits, used, codes);
    if (origin >= size) throw damaged('a block begins outside of itself');
    this.#sort(size);
    const out = this.#expand(size, origin);
    if (crcOf(out) !== checksum) throw damaged('a block has a wrong checksum');
    return out;
  }

  /** Symbols are runs of the first byte of a list, or places in it; a byte that was found goes first. */
  #readSymbols(bits: Bits, used: number[], { choices, tables }: Codes): number {
    const words = this.#words;
    const end = used.length + 1;
    const list = Uint8Array.from(used);
    let [size, group, left] = [0, -1, 0];
    let table = tables[0]!;
    let [run, place] = [0, 1];
    for (;;) {
      if (left === 0) {
        const choice = choices[++group];
        if (choice === undefined) throw damaged('a block has more symbols than it says');
        table = tables[choice]!;
        left = GROUP_SYMBOLS;
      }
      left--;
      const symbol = table.read(bits);
      if (symbol === RUN_A || symbol === RUN_B) {
        run += place << symbol;
        place *= 2;
        if (run > words.length) throw damaged('a run is longer than a block');
        continue;
      }
      if (run > 0) {
        if (size + run > words.length) throw damaged('a block is larger than it says');
        words.fill(list[0]!, size, size + run);
        size += run;
        [run, place] = [0, 1];
      }
      if (symbol === end) return size;
      if (size >= words.length) throw damaged('a block is larger than it says');
      const byte = list[symbol - 1]!;
      list.copyWithin(1, 0, symbol - 1);
      list[0] = byte;
      words[size++] = byte;
    }
  }

  /** Above each byte the place of the one behind it in the text (Burrows and Wheeler, backwards). */
  #sort(size: number): void {
    const words = this.#words;
    const starts = new Uint32Array(257);
    for (let at = 0; at < size; at++) starts[(words[at]! & 0xff) + 1]!++;
    for (let byte = 0; byte < 256; byte++) starts[byte + 1]! += starts[byte]!;
    for (let at = 0; at < size; at++) words[starts[words[at]! & 0xff]!++]! |= at << 8;
  }

  /** In the order of the text; behind four equal bytes stands how many more there are. */
  #expand(size: number, origin: number): Uint8Array {
    const words = this.#words;
    let out = this.#out;
    let word = words[origin]! >>> 8;
    let [length, equal, before] = [0, 0, -1];
    for (let done = 0; done < size; done++) {
      const entry = words[word]!;
      const byte = entry & 0xff;
      word = entry >>> 8;
      if (length + 256 > out.length) {
        const larger = new Uint8Array(out.length * 2);
        larger.set(out);
        out = this.#out = larger;
      }
      if (equal === 4) {
        out.fill(before, length, length + byte);
        length += byte;
        equal = 0;
        before = -1;
        continue;
      }
      equal = byte === before ? equal + 1 : 1;
      before = byte;
      out[length++] = byte;
    }
    return out.subarray(0, length);
  }
}

/** Which bytes occur: 16 bits say which sixteenths, then 16 bits each. */
function usedBytes(bits: Bits): number[] {
  const used: number[] = [];
  const sixteenths = bits.take(16);
  for (let high = 0; high < 16; high++) {
    if ((sixteenths & (0x8000 >> high)) === 0) continue;
    const ones = bits.take(16);
    for (let low = 0; low < 16; low++) if ((ones & (0x8000 >> low)) !== 0) used.push(high * 16 + low);
  }
  if (used.length === 0) throw damaged('a block has no bytes');
  return used;
}

interface Codes {
  /** Which table is for each group of symbols. */
  choices: Uint8Array;
  tables: Code[];
}

function readCodes(bits: Bits, symbolCount: number): Codes {
  const tableCount = bits.take(3);
  const choiceCount = bits.take(15);
  if (tableCount < 2 || tableCount > 6 || choiceCount === 0)
    throw damaged('the number of tables is impossible');
  const order = Array.from({ length: tableCount }, (_, table) => table);
  const choices = new Uint8Array(choiceCount);
  for (let group = 0; group < choiceCount; group++) {
    let place = 0;
    while (bits.take(1) === 1) if (++place >= tableCount) throw damaged('a table is not there');
    const [table = 0] = order.splice(place, 1);
    order.unshift(table);
    choices[group] = table;
  }
  const tables = Array.from({ length: tableCount }, () => {
    const lengths = new Uint8Array(symbolCount);
    let length = bits.take(5);
    for (let symbol = 0; symbol < symbolCount; symbol++) {
      while (bits.take(1) === 1) length += bits.take(1) === 1 ? -1 : 1;
      if (length < 1 || length > LONGEST_CODE) throw damaged('a code has an impossible length');
      lengths[symbol] = length;
    }
    return new Code(lengths);
  });
  return { choices, tables };
}

/** CRC-32 as bzip2 has it: from the highest bit down. */
const CRC_TABLE = /* @__PURE__ */ Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte << 24;
  for (let bit = 0; bit < 8; bit++) value = value < 0 ? (value << 1) ^ 0x04c11db7 : value << 1;
  return value >>> 0;
});

function crcOf(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = (crc << 8) ^ CRC_TABLE[((crc >>> 24) ^ byte) & 0xff]!;
  return ~crc >>> 0;
}

function damaged(why: string): CounterpointError {
  return new CounterpointError(
    'ERR_ARCHIVE',
    `the archive cannot be decompressed (bzip2): ${why}`,
    'Copy it again: it is damaged or cut off.',
  );
}
