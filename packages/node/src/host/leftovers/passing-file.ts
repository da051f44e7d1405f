import { existsSync } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryDirectory } from './temporary-directory.ts';

/** A file that this process writes and reads once. Whoever has it open when it is disposed of keeps it. */
export interface PassingFile extends AsyncDisposable {
  readonly path: string;
}

/**
 * It has no name from the start, so that nothing stays of it whatever ends this process. Without /proc it has
 * one, in a temporary directory, until it is disposed of.
 */
export async function passingFile(purpose: string): Promise<PassingFile> {
  const folder = await temporaryDirectory(purpose);
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    const named = join(folder, 'file');
    const handle = await open(named, 'wx', 0o600);
    const path = `/proc/self/fd/${handle.fd}`;
    if (!existsSync(path)) {
      await handle.close();
      return { path: named, [Symbol.asyncDispose]: remove };
    }
    await remove();
    return { path, [Symbol.asyncDispose]: () => handle.close() };
  } catch (error) {
    await remove();
    throw error;
  }
}
