import { hexOf } from '../build-id.ts';
import { type ElfFile, findSection, readSectionBytes } from '../elf-file.ts';
import { stringAt } from '../strings.ts';

/** The file that has debug information of several binaries, as dwz makes it. */
export interface SharedLink {
  /** A path, or a name beside the file that names it. */
  readonly name: string;
  /** Lower-case hex. */
  readonly buildId: string;
}

/** `.gnu_debugaltlink`: a path, NUL, a build id. Null if there is none. */
export async function readSharedLink(elf: ElfFile): Promise<SharedLink | null> {
  const section = findSection(elf, '.gnu_debugaltlink');
  const bytes = section === null ? null : await readSectionBytes(elf, section);
  const nul = bytes?.indexOf(0) ?? -1;
  if (bytes === null || nul <= 0 || bytes.length - nul - 1 > 64) return null;
  return { name: stringAt(bytes, 0), buildId: hexOf(bytes.subarray(nul + 1)) };
}
