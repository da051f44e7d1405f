import { closeSync, fstatSync, readSync } from 'node:fs';
import { type ElfFile, type ElfSymbols, openElf, readSymbols, type Section } from '@counterpoint/core/elf';
import { NamedFile, requireRegular } from '../../../host/files/index.ts';
import { type BytecodeSizes, readBytecodeSizes } from './bytecode-sizes.ts';
import { type ReadBytes, SymbolHash } from './symbol-hash.ts';

/** What V8 tells of itself: 32-bit integers, by name without prefix. */
export type V8Constants = Pick<ReadonlyMap<string, number>, 'get' | 'has'>;

/** What else V8 has in its symbols. */
export interface V8Symbols {
  /** Null: it does not say it. */
  bytecodeSizes: BytecodeSizes | null;
  /** As `12.4`; null: it does not say it. */
  version: string | null;
}

/** `v8::internal::Version::major_` and `minor_`. */
const VERSION = ['_ZN2v88internal7Version6major_E', '_ZN2v88internal7Version6minor_E'];

/** Of a section without bytes in the file (elf.h). */
const SHT_NOBITS = 8;
const PREFIX = 'v8dbg_';
const PREFIX_BYTES = new TextEncoder().encode(PREFIX);
const VALUE_BYTES = 4;
/** Headers say how large a section is. */
const MOST_READ_BYTES = 1 << 30;

/** The constants that a program's V8 exports, while `use` asks for them. Rejects where it cannot be read. */
export async function withV8Constants<Result>(
  path: string,
  use: (constants: V8Constants, symbols: V8Symbols) => Result,
): Promise<Result> {
  const fd = openProgram(path);
  try {
    const { size } = fstatSync(fd);
    const read: ReadBytes = (offset, length) => {
      const wanted = Math.max(0, Math.min(length, size - offset, MOST_READ_BYTES));
      const target = new Uint8Array(wanted);
      const count = wanted === 0 ? 0 : readSync(fd, target, 0, wanted, offset);
      return count === wanted ? target : target.subarray(0, count);
    };
    const elf = await openElf({ size, read: async (offset, length) => read(offset, length) });
    const hash = SymbolHash.open(elf, read);
    const constants = hash === null ? await allConstants(elf, read) : new HashedConstants(elf, read, hash);
    return use(constants, {
      bytecodeSizes: readBytecodeSizes(elf, read, hash),
      version: hash === null ? null : versionIn(elf, read, hash),
    });
  } finally {
    closeSync(fd);
  }
}

function openProgram(path: string): number {
  using file = new NamedFile(path);
  requireRegular(file);
  return file.openSync();
}

/** Those that are asked for, by the table that the dynamic linker uses. */
class HashedConstants implements V8Constants {
  readonly #elf: ElfFile;
  readonly #read: ReadBytes;
  readonly #hash: SymbolHash;

  constructor(elf: ElfFile, read: ReadBytes, hash: SymbolHash) {
    this.#elf = elf;
    this.#read = read;
    this.#hash = hash;
  }

  get(name: string): number | undefined {
    return hashedValue(this.#elf, this.#read, this.#hash, PREFIX + name);
  }

  has(name: string): boolean {
    return this.get(name) !== undefined;
  }
}

function hashedValue(elf: ElfFile, read: ReadBytes, hash: SymbolHash, name: string): number | undefined {
  const symbol = hash.find(name);
  const section = symbol === null ? undefined : elf.sections[symbol.section];
  return section === undefined ? undefined : valueAt(section, symbol!.value, read);
}

function versionIn(elf: ElfFile, read: ReadBytes, hash: SymbolHash): string | null {
  const numbers = VERSION.map((name) => hashedValue(elf, read, hash, name));
  return numbers.includes(undefined) ? null : numbers.join('.');
}

/** Of files without that table. */
async function allConstants(elf: ElfFile, read: ReadBytes): Promise<V8Constants> {
  const constants = new Map<string, number>();
  const symbols = await readSymbols(elf, 'dynsym');
  for (let row = 0; symbols !== null && row < symbols.count; row++) {
    if (!hasPrefix(symbols, row)) continue;
    const section = elf.sections[symbols.section(row)];
    if (section !== undefined)
      constants.set(symbols.name(row).slice(PREFIX.length), valueAt(section, symbols.value(row), read));
  }
  return constants;
}

function hasPrefix(symbols: ElfSymbols, row: number): boolean {
  const at = symbols.nameOffset(row);
  return PREFIX_BYTES.every((byte, index) => symbols.strings[at + index] === byte);
}

/** What is zero may be in memory that the file has no bytes of. */
function valueAt({ type, offset, address }: Section, value: number, read: ReadBytes): number {
  const bytes = type === SHT_NOBITS ? null : read(offset + value - address, VALUE_BYTES);
  if (bytes === null || bytes.length < VALUE_BYTES) return 0;
  return new DataView(bytes.buffer, bytes.byteOffset).getInt32(0, true);
}
