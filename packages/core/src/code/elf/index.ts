export { buildIdOfNotes, readBuildId } from './build-id.ts';
export { crc32, crc32OfSource } from './crc32.ts';
export {
  type DebugSections,
  findSources,
  hasDebugInfo,
  readDebugSections,
  readSharedLink,
  type SourceFrame,
  SplitPackage,
  splitUnit,
  type Unit,
  type UnitFile,
  unitFile,
} from './debug-info/index.ts';
export { type DebugLink, readDebugLink } from './debuglink.ts';
export { readDebugSection } from './dwarf/debug-section.ts';
export { DwarfCursor } from './dwarf/dwarf-cursor.ts';
export type { LineFile, LineHeader } from './dwarf/line-header.ts';
export type { LineRows } from './dwarf/line-rows.ts';
export { type LineTable, readLines } from './dwarf/line-table.ts';
export type { SourceFiles } from './dwarf/source-files.ts';
export * from './elf-facts.ts';
export {
  type ElfFile,
  findSection,
  openElf,
  readSectionBytes,
  type Section,
  type Segment,
} from './elf-file.ts';
export { type PltEntry, readPlt } from './plt.ts';
export { ElfSymbols, readSymbols } from './symbol-table.ts';
export { symbolsOnly } from './symbols-only.ts';
export { decompressXz } from './xz/xz.ts';
export { inflateZlib } from './zlib/inflate.ts';
