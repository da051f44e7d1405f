import {
  EHDR_SIZE_32,
  EHDR_SIZE_64,
  PHDR_SIZE_32,
  PHDR_SIZE_64,
  SHDR_SIZE_32,
  SHDR_SIZE_64,
  SHF_EXECINSTR,
  SHT_DYNSYM,
  SHT_NOBITS,
  SHT_NOTE,
  SHT_SYMTAB,
} from './elf-facts.ts';
import { type ElfFile, readRawSection, type Section, viewOf } from './elf-file.ts';

/** What names and lines are made of. Code, data and frame information are left out. */
const KEPT_NAMES = /^\.(?:debug_|zdebug_|gnu_debug|symtab|strtab|dynsym|dynstr|shstrtab)/;
const KEPT_TYPES: ReadonlySet<number> = new Set([SHT_SYMTAB, SHT_DYNSYM, SHT_NOTE]);
const SHT_NULL = 0;
const ALIGNMENT = 8;

/**
 * A debug file of a binary, as `objcopy --only-keep-debug` makes one: symbol tables, debug
 * information and notes at new places; all other sections and all segments are there without
 * bytes. Pieces follow one another.
 *
 *     | file header | segments | kept sections, each at a multiple of 8 | section headers |
 *
 * Null where the file has no sections to find symbols by, or one cannot be read.
 */
export async function symbolsOnly(elf: ElfFile): Promise<Uint8Array<ArrayBuffer>[] | null> {
  if (elf.sections.length === 0) return null;
  const headerSize = elf.is64 ? EHDR_SIZE_64 : EHDR_SIZE_32;
  const header = new Uint8Array(await elf.source.read(0, headerSize));
  if (header.length < headerSize) return null;
  const segments = await segmentTable(elf, header);
  if (segments === null) return null;
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  const push = (bytes: Uint8Array<ArrayBuffer>) => {
    pieces.push(bytes);
    size += bytes.length;
    const padding = (ALIGNMENT - (size % ALIGNMENT)) % ALIGNMENT;
    if (padding > 0) pieces.push(new Uint8Array(padding));
    size += padding;
  };
  push(header);
  push(segments);
  const offsets: number[] = [];
  for (const section of elf.sections) {
    offsets.push(size);
    if (!isKept(section) || section.size === 0) continue;
    const bytes = await readRawSection(elf, section);
    if (bytes === null) return null;
    push(bytes);
  }
  const sectionsAt = size;
  const table = await sectionTable(elf, header, offsets);
  if (table === null) return null;
  push(table);
  // Where the tables are: e_phoff and e_shoff.
  const view = viewOf(header);
  if (elf.is64) {
    view.setBigUint64(32, BigInt(segments.length === 0 ? 0 : headerSize), elf.littleEndian);
    view.setBigUint64(40, BigInt(sectionsAt), elf.littleEndian);
  } else {
    view.setUint32(28, segments.length === 0 ? 0 : headerSize, elf.littleEndian);
    view.setUint32(32, sectionsAt, elf.littleEndian);
  }
  return pieces;
}

function isKept({ name, type, flags }: Section): boolean {
  if (type === SHT_NULL || type === SHT_NOBITS || (flags & SHF_EXECINSTR) !== 0) return false;
  return KEPT_TYPES.has(type) || KEPT_NAMES.test(name);
}

/** The program headers, which then have no bytes in the file. */
async function segmentTable(
  elf: ElfFile,
  header: Uint8Array<ArrayBuffer>,
): Promise<Uint8Array<ArrayBuffer> | null> {
  const view = viewOf(header);
  const { is64, littleEndian } = elf;
  const entrySize = view.getUint16(is64 ? 54 : 42, littleEndian);
  const count = elf.segments.length;
  if (count === 0) return new Uint8Array(0);
  if (entrySize < (is64 ? PHDR_SIZE_64 : PHDR_SIZE_32)) return null;
  const offset = is64 ? Number(view.getBigUint64(32, littleEndian)) : view.getUint32(28, littleEndian);
  const bytes = new Uint8Array(await elf.source.read(offset, count * entrySize));
  if (bytes.length < count * entrySize) return null;
  const table = viewOf(bytes);
  for (let at = 0; at < bytes.length; at += entrySize)
    if (is64) table.setBigUint64(at + 32, 0n, littleEndian);
    else table.setUint32(at + 16, 0, littleEndian);
  return bytes;
}

/** The section headers, with the new places; what is not kept is marked as having no bytes. */
async function sectionTable(
  elf: ElfFile,
  header: Uint8Array<ArrayBuffer>,
  offsets: readonly number[],
): Promise<Uint8Array<ArrayBuffer> | null> {
  const view = viewOf(header);
  const { is64, littleEndian } = elf;
  const entrySize = view.getUint16(is64 ? 58 : 46, littleEndian);
  if (entrySize < (is64 ? SHDR_SIZE_64 : SHDR_SIZE_32)) return null;
  const offset = is64 ? Number(view.getBigUint64(40, littleEndian)) : view.getUint32(32, littleEndian);
  const bytes = new Uint8Array(await elf.source.read(offset, elf.sections.length * entrySize));
  if (bytes.length < elf.sections.length * entrySize) return null;
  const table = viewOf(bytes);
  for (const section of elf.sections) {
    const at = section.index * entrySize;
    if (section.type === SHT_NULL) continue;
    if (!isKept(section)) table.setUint32(at + 4, SHT_NOBITS, littleEndian);
    if (is64) table.setBigUint64(at + 24, BigInt(offsets[section.index]!), littleEndian);
    else table.setUint32(at + 16, offsets[section.index]!, littleEndian);
  }
  return bytes;
}
