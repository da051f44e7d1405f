import { type ElfFile, findSection, readSectionBytes, viewOf } from './elf-file.ts';
import { stringAt } from './strings.ts';

/** Name of the separate debug file and the CRC-32 of its whole contents. */
export interface DebugLink {
  /** A file name without folders, such as `ls.debug`. */
  name: string;
  /** CRC-32 of the debug file: compare `crc32OfSource`. */
  crc: number;
}

/**
 * `.gnu_debuglink`: a file name, NUL, padding to 4, CRC-32 in the file's byte
 * order. Null if there is none.
 */
export async function readDebugLink(elf: ElfFile): Promise<DebugLink | null> {
  const section = findSection(elf, '.gnu_debuglink');
  const bytes = section === null ? null : await readSectionBytes(elf, section);
  if (bytes === null || bytes.length < 8) return null;
  const name = stringAt(bytes, 0);
  // A path would reach outside the debug directories; the format has plain names only.
  if (name === '' || name.includes('/')) return null;
  return { name, crc: viewOf(bytes).getUint32(bytes.length - 4, elf.littleEndian) };
}
