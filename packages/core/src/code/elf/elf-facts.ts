/**
 * ELF facts (System V gABI chapters 4 and 5; processor supplements for relocations). Imports nothing.
 */

/** The first four bytes of an ELF file, read big endian: 0x7f `ELF`. */
export const ELF_MAGIC = 0x7f454c46; // 0x7f 'E' 'L' 'F', read big endian
/** Offset of the byte that says the width: `ELFCLASS64`, or 1 for 32 bits. */
export const EI_CLASS = 4;
export const EI_DATA = 5;
export const EI_NIDENT = 16;
export const ELFCLASS32 = 1;
/** The byte at `EI_CLASS` of a file with addresses of 64 bits. */
export const ELFCLASS64 = 2;
export const ELFDATA2LSB = 1;
export const ELFDATA2MSB = 2;

export const EHDR_SIZE_32 = 52;
export const EHDR_SIZE_64 = 64;
export const PHDR_SIZE_32 = 32;
export const PHDR_SIZE_64 = 56;
export const SHDR_SIZE_32 = 40;
export const SHDR_SIZE_64 = 64;
export const SYM_SIZE_32 = 16;
export const SYM_SIZE_64 = 24;
export const RELA_SIZE_64 = 24;

export const ET_REL = 1;
export const ET_EXEC = 2;
export const ET_DYN = 3;

/** `e_machine` of x86 with 32 bits. */
export const EM_386 = 3;
/** `e_machine` of Arm with 32 bits. */
export const EM_ARM = 40;
/** `e_machine` of x86-64. */
export const EM_X86_64 = 62;
/** `e_machine` of Arm with 64 bits. */
export const EM_AARCH64 = 183;
/** `e_machine` of RISC-V, 32 or 64 bits. */
export const EM_RISCV = 243;

/** Names for people of the processors they meet, by `e_machine`. */
export const MACHINE_NAMES: Readonly<Record<number, string>> = {
  [EM_386]: 'x86 (32 bits)',
  20: 'PowerPC',
  21: 'PowerPC (64 bits)',
  22: 'S/390',
  [EM_ARM]: 'ARM (32 bits)',
  [EM_X86_64]: 'x86-64',
  [EM_AARCH64]: 'AArch64',
  [EM_RISCV]: 'RISC-V',
  258: 'LoongArch',
};

/** `Segment.type` of bytes that are loaded into memory. */
export const PT_LOAD = 1;
export const PT_NOTE = 4;
/** Flag of a segment: its memory is executed. */
export const PF_X = 1;
/** `e_phnum` that means: the count is in section 0's `sh_info`. */
export const PN_XNUM = 0xffff;

/** `Section.type` of the full symbol table (`.symtab`); stripped files have none. */
export const SHT_SYMTAB = 2;
export const SHT_RELA = 4;
export const SHT_NOTE = 7;
export const SHT_NOBITS = 8;
/** `Section.type` of the symbols of dynamic linking (`.dynsym`). */
export const SHT_DYNSYM = 11;
/** Flag of a section: it has instructions. */
export const SHF_EXECINSTR = 4;
export const SHF_COMPRESSED = 0x800;

/** `ElfSymbols.section` of a symbol that another file defines. */
export const SHN_UNDEF = 0;
export const SHN_ABS = 0xfff1;
/** The real index is in a `SHT_SYMTAB_SHNDX` section; also `e_shstrndx` that means section 0's `sh_link`. */
export const SHN_XINDEX = 0xffff;

export const STB_LOCAL = 0;
export const STB_GLOBAL = 1;
export const STB_WEAK = 2;

/** Low four bits of `ElfSymbols.info`: no type, as labels of assembly have. */
export const STT_NOTYPE = 0;
export const STT_OBJECT = 1;
/** Low four bits of `ElfSymbols.info`: a function. */
export const STT_FUNC = 2;
/** Low four bits of `ElfSymbols.info`: an indirect function; its value is that of its resolver. */
export const STT_GNU_IFUNC = 10;

export const STV_INTERNAL = 1;
export const STV_HIDDEN = 2;

/** Note of type 3 with the name `GNU\0`: the build id. */
export const NT_GNU_BUILD_ID = 3;

export const R_X86_64_GLOB_DAT = 6;
export const R_X86_64_JUMP_SLOT = 7;
export const R_X86_64_IRELATIVE = 37;
export const R_AARCH64_GLOB_DAT = 1025;
export const R_AARCH64_JUMP_SLOT = 1026;
export const R_AARCH64_IRELATIVE = 1032;
