import type { ElfFile, Section } from '@counterpoint/core/elf';
import type { ReadBytes, SymbolHash } from './symbol-hash.ts';

/** How long V8's bytecodes are, by the scale of their operands (1, 2, 4 bytes) and their number. */
export interface BytecodeSizes {
  /** A row of `count` for each scale. */
  bytes: Uint8Array;
  count: number;
}

/** `v8::internal::interpreter::Bytecodes::kBytecodeSizes`, a table of V8 itself. */
const SYMBOL = '_ZN2v88internal11interpreter9Bytecodes14kBytecodeSizesE';
const SYMBOL_BYTES = new TextEncoder().encode(`${SYMBOL}\0`);
const SCALES = 3;
const LEAST_COUNT = 150;
const MOST_COUNT = 256;
const SHT_SYMTAB = 2;
const SHT_NOBITS = 8;
/** `Elf64_Sym`, in 32-bit words: name, kind and section, value, size. */
const ROW_WORDS = 6;
const VALUE_WORD = 2;
const SIZE_WORD = 4;
const MOST_SYMBOL_BYTES = 1 << 26;

/**
 * Versions differ in their bytecodes, and tell of them in a symbol: exported until V8 12, and later among all
 * symbols of the file. Null: it has been stripped.
 */
export function readBytecodeSizes(
  elf: ElfFile,
  read: ReadBytes,
  hash: SymbolHash | null,
): BytecodeSizes | null {
  const exported = hash?.find(SYMBOL) ?? null;
  if (exported !== null) {
    const { section, value } = exported;
    // Its size is not known: the table begins with the four prefixes, whose length of one each row repeats.
    return sizesAt(elf, read, section, value, exported.size);
  }
  for (const table of elf.sections) {
    if (table.type !== SHT_SYMTAB) continue;
    const found = findInAll(elf, read, table);
    if (found !== null) return found;
  }
  return null;
}

/** Few symbols are as large as the table, so few names are read. */
function findInAll(elf: ElfFile, read: ReadBytes, table: Section): BytecodeSizes | null {
  const strings = elf.sections[table.link];
  if (strings === undefined || !elf.is64 || !elf.littleEndian || table.size > MOST_SYMBOL_BYTES) return null;
  const bytes = read(table.offset, table.size);
  const words = new Uint32Array(bytes.slice(0, bytes.length & ~3).buffer);
  for (let row = 0; row + ROW_WORDS <= words.length; row += ROW_WORDS) {
    const size = words[row + SIZE_WORD]!;
    if (size % SCALES !== 0 || size < SCALES * LEAST_COUNT || size > SCALES * MOST_COUNT) continue;
    const name = read(strings.offset + words[row]!, SYMBOL_BYTES.length);
    if (name.length !== SYMBOL_BYTES.length || !name.every((byte, at) => byte === SYMBOL_BYTES[at])) continue;
    return sizesAt(elf, read, words[row + 1]! >>> 16, words[row + VALUE_WORD]!, size);
  }
  return null;
}

function sizesAt(
  elf: ElfFile,
  read: ReadBytes,
  section: number,
  value: number,
  size: number,
): BytecodeSizes | null {
  const home = elf.sections[section];
  const count = size / SCALES;
  if (home === undefined || home.type === SHT_NOBITS || !Number.isInteger(count) || count < LEAST_COUNT)
    return null;
  const bytes = read(home.offset + value - home.address, Math.min(size, SCALES * MOST_COUNT));
  return bytes.length === size ? { bytes, count } : null;
}

/** The prefixes that make operands wider: `Wide`, `ExtraWide`, and the same of the debugger. */
const PREFIXES = 4;

/** Where the bytecodes of an array begin; less than all where it does not hold together. */
export function bytecodeStarts({ bytes, count }: BytecodeSizes, code: Uint8Array): number[] {
  const starts: number[] = [];
  for (let at = 0; at < code.length; ) {
    starts.push(at);
    const first = code[at]!;
    const isPrefix = first < PREFIXES;
    const opcode = isPrefix ? code[at + 1] : first;
    const scale = isPrefix ? 1 + (first & 1) : 0;
    if (opcode === undefined || opcode >= count) break;
    at += (isPrefix ? 1 : 0) + Math.max(1, bytes[scale * count + opcode]!);
  }
  return starts;
}
