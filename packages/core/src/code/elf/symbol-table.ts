import { TWO_32 } from '../../base/index.ts';
import { SHT_DYNSYM, SHT_SYMTAB, SYM_SIZE_32, SYM_SIZE_64 } from './elf-facts.ts';
import { type ElfFile, readSectionBytes, viewOf } from './elf-file.ts';
import { ElfNames } from './strings.ts';

const HOST_IS_LITTLE = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1;

/**
 * A symbol table in file order, entry 0 included, read where it lies: a large binary has a hundred thousand
 * symbols and most are looked at once. Values are signed, so that kernel addresses stay exact.
 *
 *     Elf64_Sym  name u32 | info u8, other u8, section u16 | value u64 | size u64
 *     Elf32_Sym  name u32 | value u32 | size u32 | info u8, other u8, section u16
 */
export class ElfSymbols {
  /** Number of entries; entry 0 stands for no symbol. */
  readonly count: number;
  readonly #names: ElfNames;
  /** The table as words in the host's byte order. */
  readonly #words: Uint32Array;
  readonly #is64: boolean;
  readonly #littleEndian: boolean;
  readonly #stride: number;

  constructor(
    bytes: Uint8Array<ArrayBuffer>,
    strings: Uint8Array<ArrayBuffer>,
    is64: boolean,
    littleEndian: boolean,
  ) {
    this.count = Math.floor(bytes.length / (is64 ? SYM_SIZE_64 : SYM_SIZE_32));
    this.#names = new ElfNames(strings);
    this.#is64 = is64;
    this.#littleEndian = littleEndian;
    this.#stride = is64 ? 6 : 4;
    this.#words = wordsOf(bytes, this.count * this.#stride, littleEndian);
  }

  /** Empty where the symbol has none. Names longer than 64 KiB are cut. */
  name(row: number): string {
    return this.#names.at(this.nameOffset(row));
  }

  /** The string table that names point into. */
  get strings(): Uint8Array<ArrayBuffer> {
    return this.#names.bytes;
  }

  /** 0 where the symbol has no name. */
  nameOffset(row: number): number {
    return this.#words[row * this.#stride]!;
  }

  /** Binding << 4 | type. */
  info(row: number): number {
    return this.#littleEndian ? this.#facts(row) & 0xff : this.#facts(row) >>> 24;
  }

  /** STV_... */
  visibility(row: number): number {
    return (this.#facts(row) >>> (this.#littleEndian ? 8 : 16)) & 3;
  }

  /** As stored: SHN_XINDEX is not followed. */
  section(row: number): number {
    return this.#littleEndian ? this.#facts(row) >>> 16 : this.#facts(row) & 0xffff;
  }

  /** Address in the ELF file as a signed float64; in object files, offset in the section. */
  value(row: number): number {
    if (!this.#is64) return this.#words[row * 4 + 1]!;
    const at = row * 6 + 2;
    return (
      (this.#words[this.#littleEndian ? at + 1 : at]! | 0) * TWO_32 +
      this.#words[this.#littleEndian ? at : at + 1]!
    );
  }

  /** Bytes of the function or object; 0 where the linker does not know it. */
  size(row: number): number {
    if (!this.#is64) return this.#words[row * 4 + 2]!;
    const at = row * 6 + 4;
    return (
      this.#words[this.#littleEndian ? at + 1 : at]! * TWO_32 + this.#words[this.#littleEndian ? at : at + 1]!
    );
  }

  /** The word of info, other and section, their order in it being that of the file's bytes. */
  #facts(row: number): number {
    return this.#words[this.#is64 ? row * 6 + 1 : row * 4 + 3]!;
  }
}

/** `.symtab` or `.dynsym`, found by type. Null where the file has none, or none with bytes. */
export async function readSymbols(elf: ElfFile, table: 'symtab' | 'dynsym'): Promise<ElfSymbols | null> {
  const type = table === 'symtab' ? SHT_SYMTAB : SHT_DYNSYM;
  const section = elf.sections.find((one) => one.type === type);
  const stringSection = section === undefined ? undefined : elf.sections[section.link];
  if (section === undefined || stringSection === undefined) return null;
  const bytes = await readSectionBytes(elf, section);
  const strings = await readSectionBytes(elf, stringSection);
  if (bytes === null || strings === null) return null;
  return new ElfSymbols(bytes, strings, elf.is64, elf.littleEndian);
}

function wordsOf(bytes: Uint8Array<ArrayBuffer>, count: number, littleEndian: boolean): Uint32Array {
  if (littleEndian === HOST_IS_LITTLE && bytes.byteOffset % 4 === 0)
    return new Uint32Array(bytes.buffer, bytes.byteOffset, count);
  const view = viewOf(bytes);
  const words = new Uint32Array(count);
  for (let index = 0; index < count; index++) words[index] = view.getUint32(index * 4, littleEndian);
  return words;
}
