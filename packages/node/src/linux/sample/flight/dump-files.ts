import { accessSync, constants, existsSync, mkdirSync, unlinkSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { WriteError } from '../../../host/files/index.ts';

export interface DumpFilesOptions {
  directory: string;
  prefix: string;
  maxFiles: number;
  maxFileBytes: number;
  /** What their names end with. */
  extension: string;
}

/**
 * The files of one recorder: their names, and which of them have to go. Files of other recorders, and of
 * earlier runs, are left alone.
 */
export class DumpFiles {
  readonly #options: DumpFilesOptions;
  /** Oldest first. */
  readonly #kept: { path: string; bytes: number }[] = [];

  constructor(options: DumpFilesOptions) {
    this.#options = options;
    try {
      makeDirectory(resolve(options.directory));
      // Now, and not when there is something to write.
      accessSync(options.directory, constants.W_OK | constants.X_OK);
    } catch (error) {
      throw new WriteError(options.directory, error);
    }
  }

  /** `flight-20261123-180259.417-3.data`: in order of time by name, too. */
  pathOf(number: number, at: Date): string {
    const [date = '', time = ''] = localIso(at).split('T');
    const stamp = `${date.replaceAll('-', '')}-${time.replaceAll(':', '')}`;
    return join(
      this.#options.directory,
      `${this.#options.prefix}-${stamp}-${number}.${this.#options.extension}`,
    );
  }

  /** A file is complete. Returns those that were removed for it. */
  add(path: string, bytes: number): string[] {
    this.#kept.push({ path, bytes });
    const removed: string[] = [];
    while (this.#kept.length > 1 && this.#isTooMuch()) {
      const oldest = this.#kept.shift()!;
      removeFile(oldest.path);
      removed.push(oldest.path);
    }
    return removed;
  }

  #isTooMuch(): boolean {
    const bytes = this.#kept.reduce((sum, one) => sum + one.bytes, 0);
    return this.#kept.length > this.#options.maxFiles || bytes > this.#options.maxFileBytes;
  }
}

/**
 * With those above it. Not by mkdir's `recursive`: that never ends where the one above is there and the
 * kernel says ENOENT, as in /proc.
 */
function makeDirectory(path: string): void {
  if (existsSync(path)) return;
  if (dirname(path) !== path) makeDirectory(dirname(path));
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // Another one made it meanwhile.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** Somebody else may have taken it away: then it is gone, too. */
export function removeFile(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

/** `2026-11-23T18:02:59.417` in this machine's time zone. */
function localIso(at: Date): string {
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, -1);
}
