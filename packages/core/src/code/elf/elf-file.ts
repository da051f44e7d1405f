import { type ByteSource, DamageLog, FormatError, toFloat, toSignedFloat } from '../../base/index.ts';
import {
  EHDR_SIZE_32,
  EHDR_SIZE_64,
  EI_CLASS,
  EI_DATA,
  EI_NIDENT,
  ELF_MAGIC,
  ELFCLASS32,
  ELFCLASS64,
  ELFDATA2LSB,
  ELFDATA2MSB,
  PHDR_SIZE_32,
  PHDR_SIZE_64,
  PN_XNUM,
  SHDR_SIZE_32,
  SHDR_SIZE_64,
  SHF_COMPRESSED,
  SHN_XINDEX,
  SHT_NOBITS,
} from './elf-facts.ts';
import { ElfNames } from './strings.ts';

/**
 * A program header: which bytes of the file are loaded where. Addresses are signed,
 * so that kernel ones stay exact.
 */
export interface Segment {
  /** PT_LOAD and others: gABI, Program Header. */
  type: number;
  /** Bits PF_X 1, PF_W 2, PF_R 4. */
  flags: number;
  /** Where its bytes begin in the file. */
  offset: number;
  /** Virtual address that the file asks for; in a library or PIE, counted from where it is loaded. */
  address: number;
  /** Bytes in the file; 0 in debug files. */
  fileSize: number;
  /** Bytes in memory: what goes beyond `fileSize` is zero. */
  memorySize: number;
  /** Offset and address are equal modulo this, a power of two. */
  align: number;
}

/** A section header: what linkers and debuggers know the file's bytes by. Stripped files may have none. */
export interface Section {
  /** Place in `ElfFile.sections`, as `ElfSymbols.section` and `link` count. */
  index: number;
  /** `.text`, `.symtab`; empty where the names are damaged. */
  name: string;
  /** Where the name is in the section name table. */
  nameOffset: number;
  /** SHT_SYMTAB, SHT_DYNSYM and others: gABI, Sections. */
  type: number;
  /** SHF_EXECINSTR and others: the lower 32 bits. */
  flags: number;
  /** Virtual address of the first byte, as of a segment; 0 where it is not loaded. */
  address: number;
  /** Where its bytes begin in the file. */
  offset: number;
  /** In bytes: of memory where the section has none in the file (NOBITS). */
  size: number;
  /** Index of another section that belongs to this: of a symbol table, that of its names. */
  link: number;
  /** Means something else in each type of section (gABI, `sh_info`). */
  info: number;
  /** Bytes of one entry in a section that is a table, else 0. */
  entrySize: number;
}

/** Headers of an ELF file; section contents are read on request. */
export interface ElfFile {
  /** Where contents are read. Must stay open as long as they are. */
  source: ByteSource;
  /** Addresses have 64 bits: ELFCLASS64. */
  is64: boolean;
  /** Byte order of the machine that the file is for. */
  littleEndian: boolean;
  /** ET_EXEC, ET_DYN, ET_REL. */
  type: number;
  /** EM_X86_64, EM_AARCH64, ... */
  machine: number;
  /** In the order of the file. Empty in object files. */
  segments: Segment[];
  /** In the order of the file; the first one is empty and stands for none. */
  sections: Section[];
  /** What was wrong in the headers; reading went on. */
  damage: DamageLog;
}

/** More headers than any linker writes; beyond it a table is taken for damage. */
const MAX_HEADERS = 1 << 18;
/** A section larger than this is not read into memory. Chromium's debug symbol strings are a third of it. */
const MAX_SECTION_BYTES = 1 << 30;

/**
 * Reads the headers. Throws FormatError where `source` is not an ELF file; wrong
 * tables are counted and left empty.
 */
export async function openElf(source: ByteSource): Promise<ElfFile> {
  const bytes = await source.read(0, EHDR_SIZE_64);
  if (bytes.length < EI_NIDENT || viewOf(bytes).getUint32(0, false) !== ELF_MAGIC)
    throw new FormatError('ERR_NOT_ELF', 0, 'an ELF file', bytes.length === 0 ? 'no bytes' : 'other bytes');
  const is64 = bytes[EI_CLASS] === ELFCLASS64;
  if (!is64 && bytes[EI_CLASS] !== ELFCLASS32)
    throw new FormatError('ERR_ELF_CLASS', EI_CLASS, 'class 1 or 2', String(bytes[EI_CLASS]));
  const littleEndian = bytes[EI_DATA] === ELFDATA2LSB;
  if (!littleEndian && bytes[EI_DATA] !== ELFDATA2MSB)
    throw new FormatError('ERR_ELF_DATA', EI_DATA, 'byte order 1 or 2', String(bytes[EI_DATA]));
  const headerSize = is64 ? EHDR_SIZE_64 : EHDR_SIZE_32;
  if (bytes.length < headerSize)
    throw new FormatError('ERR_ELF_CUT', bytes.length, `${headerSize} bytes of header`, 'the end');

  const view = viewOf(bytes);
  // After e_ident: type, machine, version, then entry, phoff and shoff in the class's width,
  // then flags and 16-bit counts.
  const counts = is64 ? 54 : 42;
  const elf: ElfFile = {
    source,
    is64,
    littleEndian,
    type: view.getUint16(16, littleEndian),
    machine: view.getUint16(18, littleEndian),
    segments: [],
    sections: [],
    damage: new DamageLog(),
  };
  const segmentsAt = is64 ? unsigned64(view, 32, littleEndian) : view.getUint32(28, littleEndian);
  const sectionsAt = is64 ? unsigned64(view, 40, littleEndian) : view.getUint32(32, littleEndian);
  const segmentSize = view.getUint16(counts, littleEndian);
  let segmentCount = view.getUint16(counts + 2, littleEndian);
  const sectionSize = view.getUint16(counts + 4, littleEndian);
  let sectionCount = view.getUint16(counts + 6, littleEndian);
  let namesIndex = view.getUint16(counts + 8, littleEndian);

  const minimum = is64 ? SHDR_SIZE_64 : SHDR_SIZE_32;
  if (sectionsAt !== 0 && sectionSize >= minimum) {
    // Section 0 holds the counts that do not fit in 16 bits (gABI, "Sections").
    const first = await source.read(sectionsAt, minimum);
    if (first.length === minimum) {
      const zero = readSection(viewOf(first), 0, 0, elf);
      if (sectionCount === 0) sectionCount = zero.size;
      if (namesIndex === SHN_XINDEX) namesIndex = zero.link;
      if (segmentCount === PN_XNUM && zero.info !== 0) segmentCount = zero.info;
    }
    const table = await readTable(elf, 'elf-sections-cut', sectionsAt, sectionCount, sectionSize);
    for (let index = 0; index < table.count; index++)
      elf.sections.push(readSection(table.view, index * sectionSize, index, elf));
    await nameSections(elf, namesIndex);
  } else if (sectionsAt !== 0) elf.damage.add('elf-section-size', sectionsAt);

  if (segmentCount > 0 && segmentSize >= (is64 ? PHDR_SIZE_64 : PHDR_SIZE_32)) {
    const table = await readTable(elf, 'elf-segments-cut', segmentsAt, segmentCount, segmentSize);
    for (let index = 0; index < table.count; index++)
      elf.segments.push(readSegment(table.view, index * segmentSize, is64, littleEndian));
  } else if (segmentCount > 0) elf.damage.add('elf-segment-size', segmentsAt);
  return elf;
}

/** The first section of that name, or null. */
export function findSection(elf: ElfFile, name: string): Section | null {
  return elf.sections.find((section) => section.name === name) ?? null;
}

/**
 * A section's bytes. Null where it has none in this file (NOBITS, as in debug files), is
 * compressed (SHF_COMPRESSED: only DWARF sections are), is absurdly large, or lies outside the
 * file; the last two are counted.
 */
export async function readSectionBytes(
  elf: ElfFile,
  section: Section,
): Promise<Uint8Array<ArrayBuffer> | null> {
  return (section.flags & SHF_COMPRESSED) !== 0 ? null : readRawSection(elf, section);
}

/** As `readSectionBytes`, but compressed sections as they are in the file. */
export async function readRawSection(
  elf: ElfFile,
  section: Section,
): Promise<Uint8Array<ArrayBuffer> | null> {
  if (section.type === SHT_NOBITS || section.size === 0) return null;
  if (section.offset + section.size > elf.source.size || section.size > MAX_SECTION_BYTES) {
    elf.damage.add('elf-section-outside', section.offset);
    return null;
  }
  const bytes = await elf.source.read(section.offset, section.size);
  if (bytes.length === section.size) return bytes;
  elf.damage.add('elf-section-outside', section.offset);
  return null;
}

export function viewOf(bytes: Uint8Array<ArrayBuffer>): DataView<ArrayBuffer> {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

export function unsigned64(view: DataView, offset: number, littleEndian: boolean): number {
  const first = view.getUint32(offset, littleEndian);
  const second = view.getUint32(offset + 4, littleEndian);
  return littleEndian ? toFloat(first, second) : toFloat(second, first);
}

export function signed64(view: DataView, offset: number, littleEndian: boolean): number {
  const first = view.getUint32(offset, littleEndian);
  const second = view.getUint32(offset + 4, littleEndian);
  return littleEndian ? toSignedFloat(first, second) : toSignedFloat(second, first);
}

/** As many whole entries of a table as the file really has. */
async function readTable(
  elf: ElfFile,
  damage: string,
  offset: number,
  count: number,
  entrySize: number,
): Promise<{ count: number; view: DataView<ArrayBuffer> }> {
  const present = Math.max(0, Math.floor((elf.source.size - offset) / entrySize));
  const wanted = Math.min(count, present, MAX_HEADERS);
  const bytes = wanted === 0 ? new Uint8Array(0) : await elf.source.read(offset, wanted * entrySize);
  const read = Math.floor(bytes.length / entrySize);
  if (read < count) elf.damage.add(damage, offset);
  return { count: read, view: viewOf(bytes) };
}

function readSection(view: DataView, at: number, index: number, elf: ElfFile): Section {
  const little = elf.littleEndian;
  const nameOffset = view.getUint32(at, little);
  const type = view.getUint32(at + 4, little);
  if (elf.is64)
    return {
      index,
      name: '',
      nameOffset,
      type,
      flags: view.getUint32(at + (little ? 8 : 12), little),
      address: signed64(view, at + 16, little),
      offset: unsigned64(view, at + 24, little),
      size: unsigned64(view, at + 32, little),
      link: view.getUint32(at + 40, little),
      info: view.getUint32(at + 44, little),
      entrySize: unsigned64(view, at + 56, little),
    };
  return {
    index,
    name: '',
    nameOffset,
    type,
    flags: view.getUint32(at + 8, little),
    address: view.getUint32(at + 12, little),
    offset: view.getUint32(at + 16, little),
    size: view.getUint32(at + 20, little),
    link: view.getUint32(at + 24, little),
    info: view.getUint32(at + 28, little),
    entrySize: view.getUint32(at + 36, little),
  };
}

async function nameSections(elf: ElfFile, namesIndex: number): Promise<void> {
  const names = elf.sections[namesIndex];
  const strings = names === undefined ? null : await readSectionBytes(elf, names);
  if (strings === null && elf.sections.length > 0) elf.damage.add('elf-section-names', 0);
  if (strings === null) return;
  const table = new ElfNames(strings);
  for (const section of elf.sections) section.name = table.at(section.nameOffset);
}

function readSegment(view: DataView, at: number, is64: boolean, little: boolean): Segment {
  if (is64)
    return {
      type: view.getUint32(at, little),
      flags: view.getUint32(at + 4, little),
      offset: unsigned64(view, at + 8, little),
      address: signed64(view, at + 16, little),
      fileSize: unsigned64(view, at + 32, little),
      memorySize: unsigned64(view, at + 40, little),
      align: unsigned64(view, at + 48, little),
    };
  return {
    type: view.getUint32(at, little),
    flags: view.getUint32(at + 24, little),
    offset: view.getUint32(at + 4, little),
    address: view.getUint32(at + 8, little),
    fileSize: view.getUint32(at + 16, little),
    memorySize: view.getUint32(at + 20, little),
    align: view.getUint32(at + 28, little),
  };
}
