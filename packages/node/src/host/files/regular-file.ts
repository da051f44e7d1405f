import type { Stats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { CounterpointError } from '@counterpoint/core/base';
import { NamedFile } from './named-file.ts';

const NAME_A_FILE = 'Name a file on a disk. What a pipe or the kernel gives, save to a file first.';

export interface RegularFileOptions {
  /** The name comes out of a recording: files of the kernel (`/proc`, `/sys`) are refused, too. */
  recorded?: boolean;
}

/**
 * Opens a regular file for reading. Throws the error of the system call, or ERR_NOT_A_FILE before
 * anything is opened: opening a pipe could wait, and opening a device does something
 * (`/dev/watchdog` restarts the machine).
 */
export async function openRegularFile(path: string, options: RegularFileOptions = {}): Promise<FileHandle> {
  using file = new NamedFile(path);
  requireRegular(file, options);
  return await file.open();
}

/** As `openRegularFile`, at once. Gives a descriptor. */
export function openRegularFileSync(path: string, options: RegularFileOptions = {}): number {
  using file = new NamedFile(path);
  requireRegular(file, options);
  return file.openSync();
}

export function requireRegular(file: NamedFile, { recorded = false }: RegularFileOptions = {}): void {
  const { path, facts } = file;
  if (!facts.isFile())
    throw new CounterpointError(
      'ERR_NOT_A_FILE',
      `${path} is ${kindOf(facts)}, not a regular file`,
      NAME_A_FILE,
    );
  if (recorded && file.isOfKernel)
    throw new CounterpointError(
      'ERR_NOT_A_FILE',
      `${path} is made by the kernel, not a regular file`,
      NAME_A_FILE,
    );
}

/** What it is, in words. */
export function kindOf(facts: Stats): string {
  if (facts.isFile()) return 'a regular file';
  if (facts.isDirectory()) return 'a directory';
  if (facts.isFIFO()) return 'a named pipe';
  if (facts.isSocket()) return 'a socket';
  if (facts.isSymbolicLink()) return 'a link';
  return 'a device';
}
