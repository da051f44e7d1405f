/** ELF files: symbol tables, build ids, debug links, source lines. */
export {
  type ElfFile,
  ElfSymbols,
  EM_386,
  EM_AARCH64,
  EM_ARM,
  EM_RISCV,
  EM_X86_64,
  findSection,
  type LineTable,
  MACHINE_NAMES,
  openElf,
  readBuildId,
  readLines,
  readSectionBytes,
  readSymbols,
  type Section,
  type Segment,
} from '../code/elf/index.ts';

// For the packages of this repository alone: no promise, and not in the published types.

/** @internal */
export {
  buildIdOfNotes,
  crc32OfSource,
  EI_CLASS,
  ELF_MAGIC,
  ELFCLASS64,
  PF_X,
  PT_LOAD,
  readDebugLink,
  readPlt,
  SHF_EXECINSTR,
  SHN_UNDEF,
  SHT_DYNSYM,
  SHT_SYMTAB,
  STT_FUNC,
  STT_GNU_IFUNC,
  STT_NOTYPE,
  symbolsOnly,
} from '../code/elf/index.ts';
