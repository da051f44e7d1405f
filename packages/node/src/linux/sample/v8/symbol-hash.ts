import type { ElfFile, Section } from '@counterpoint/core/elf';

/** Reads a file at once: as many bytes as there are. */
export type ReadBytes = (offset: number, length: number) => Uint8Array<ArrayBuffer>;

/** A symbol of the file. */
export interface HashedSymbol {
  section: number;
  /** In the file's own addresses. */
  value: number;
  /** In bytes. */
  size: number;
}

const SHT_GNU_HASH = 0x6ffffff6;
const SYMBOL_BYTES = 24;
const HEADER_BYTES = 16;
const BLOOM_WORD_BYTES = 8;
const WORD_BYTES = 4;
/** Linkers make chains of two or three; a damaged file is not followed for ever. */
const MOST_CHAIN = 1024;

/**
 * Finds symbols of a 64-bit ELF file by name, as the dynamic linker does, with a
 * few small reads for each name:
 *
 *   .gnu.hash   buckets u32, first row u32, bloom words u32, shift u32 | bloom u64[] | buckets u32[] | chain u32[]
 *   name -> hash % buckets -> row of .dynsym -> chain of hashes, whose lowest bit ends it -> name compared
 *
 * A large program has 75,000 symbols in 7 MB, and who wants fifty of them does not read the others.
 */
export class SymbolHash {
  readonly #read: ReadBytes;
  readonly #table: Section;
  readonly #symbols: Section;
  readonly #strings: Section;
  readonly #bucketCount: number;
  readonly #firstRow: number;
  readonly #bucketsAt: number;
  readonly #chainAt: number;

  /** Null: the file has no such table, or it is not of this machine's kind. */
  static open(elf: ElfFile, read: ReadBytes): SymbolHash | null {
    if (!elf.is64 || !elf.littleEndian) return null;
    const table = elf.sections.find(({ type }) => type === SHT_GNU_HASH);
    const symbols = table === undefined ? undefined : elf.sections[table.link];
    const strings = symbols === undefined ? undefined : elf.sections[symbols.link];
    if (table === undefined || symbols === undefined || strings === undefined) return null;
    const head = read(table.offset, HEADER_BYTES);
    if (head.length < HEADER_BYTES || wordAt(head, 0) === 0) return null;
    return new SymbolHash(read, head, { table, symbols, strings });
  }

  private constructor(
    read: ReadBytes,
    head: Uint8Array<ArrayBuffer>,
    { table, symbols, strings }: { table: Section; symbols: Section; strings: Section },
  ) {
    this.#read = read;
    this.#table = table;
    this.#symbols = symbols;
    this.#strings = strings;
    this.#bucketCount = wordAt(head, 0);
    this.#firstRow = wordAt(head, 1);
    this.#bucketsAt = HEADER_BYTES + wordAt(head, 2) * BLOOM_WORD_BYTES;
    this.#chainAt = this.#bucketsAt + this.#bucketCount * WORD_BYTES;
  }

  /** Null: there is none of this name. */
  find(name: string): HashedSymbol | null {
    const hash = hashOf(name);
    const first = this.#word(this.#bucketsAt + (hash % this.#bucketCount) * WORD_BYTES);
    if (first === null || first < this.#firstRow) return null;
    for (let row = first; row < first + MOST_CHAIN; row++) {
      const entry = this.#word(this.#chainAt + (row - this.#firstRow) * WORD_BYTES);
      if (entry === null) return null;
      // The lowest bit says whether the chain ends here.
      if ((entry ^ hash) >>> 1 === 0) {
        const symbol = this.#symbol(row, name);
        if (symbol !== null) return symbol;
      }
      if ((entry & 1) === 1) return null;
    }
    return null;
  }

  /** Null: it has another name. */
  #symbol(row: number, name: string): HashedSymbol | null {
    const at = row * SYMBOL_BYTES;
    if (at + SYMBOL_BYTES > this.#symbols.size) return null;
    const bytes = this.#read(this.#symbols.offset + at, SYMBOL_BYTES);
    if (bytes.length < SYMBOL_BYTES) return null;
    const nameAt = wordAt(bytes, 0);
    if (nameAt + name.length >= this.#strings.size) return null;
    const found = this.#read(this.#strings.offset + nameAt, name.length + 1);
    if (Buffer.from(found.buffer, found.byteOffset, found.length).toString('latin1') !== `${name}\0`)
      return null;
    const view = new DataView(bytes.buffer, bytes.byteOffset);
    return {
      section: view.getUint16(6, true),
      value: Number(view.getBigUint64(8, true)),
      size: Number(view.getBigUint64(16, true)),
    };
  }

  /** Of the table; null: outside. */
  #word(at: number): number | null {
    if (at + WORD_BYTES > this.#table.size) return null;
    const bytes = this.#read(this.#table.offset + at, WORD_BYTES);
    return bytes.length < WORD_BYTES ? null : wordAt(bytes, 0);
  }
}

/** Of the GNU hash table: hash * 33 + byte, from 5381. */
function hashOf(name: string): number {
  let hash = 5381;
  for (let at = 0; at < name.length; at++) hash = (Math.imul(hash, 33) + name.charCodeAt(at)) >>> 0;
  return hash;
}

function wordAt(bytes: Uint8Array<ArrayBuffer>, index: number): number {
  return new DataView(bytes.buffer, bytes.byteOffset).getUint32(index * WORD_BYTES, true);
}
