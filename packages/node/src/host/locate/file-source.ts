import type { FileHandle } from 'node:fs/promises';
import { type ByteSource, CounterpointError } from '@counterpoint/core/base';
import { openRegularFile, presentBytes, type RegularFileOptions } from '../files/index.ts';

/** A file as a source of bytes. Holds a descriptor until it is closed. */
export interface FileSource extends ByteSource {
  readInto(target: Uint8Array<ArrayBuffer>, offset: number): Promise<number>;
  /** How it was opened; absent where only a descriptor was given. */
  readonly path?: string;
  /** A second close does nothing. */
  close(): Promise<void>;
}

/** One read of the kernel gives at most this much (MAX_RW_COUNT, rounded down). */
const MAX_READ_BYTES = 1 << 30;

/**
 * Opens a regular file. Throws the error of the system call, or ERR_NOT_A_FILE before anything is opened.
 * With `recorded` the path comes out of a recording, and may name nothing that the kernel makes up.
 */
export async function openFileSource(path: string, options: RegularFileOptions = {}): Promise<FileSource> {
  return Object.assign(await fileSource(await openRegularFile(path, options), options), { path });
}

/**
 * A regular file that is open. It is closed with the source, or at once where this fails. What can only be
 * holes is left out: a file of 8 KB may say that it has 90 GB. One that takes no blocks may be on a network
 * file system that does not count them, and is read to its end unless a recording names it (`recorded`).
 */
export async function fileSource(
  handle: FileHandle,
  { recorded = false }: RegularFileOptions = {},
): Promise<FileSource> {
  try {
    const facts = await handle.stat();
    const isCounted = recorded || facts.blocks > 0;
    return new HandleSource(handle, isCounted ? presentBytes(facts) : facts.size);
  } catch (error) {
    await handle.close();
    throw error;
  }
}

class HandleSource implements FileSource {
  readonly size: number;
  #handle: FileHandle | null;

  constructor(handle: FileHandle, size: number) {
    this.#handle = handle;
    this.size = size;
  }

  async read(offset: number, length: number): Promise<Uint8Array<ArrayBuffer>> {
    const wanted = Math.max(0, Math.min(length, this.size - offset));
    const target = new Uint8Array(wanted);
    const size = await this.readInto(target, offset);
    return size === wanted ? target : target.subarray(0, size);
  }

  async readInto(target: Uint8Array<ArrayBuffer>, offset: number): Promise<number> {
    if (this.#handle === null)
      throw new CounterpointError('ERR_CLOSED', 'the file has been closed', 'Open it again.');
    let done = 0;
    while (done < target.length) {
      const length = Math.min(target.length - done, MAX_READ_BYTES);
      const { bytesRead } = await this.#handle.read(target, done, length, offset + done);
      if (bytesRead === 0) break;
      done += bytesRead;
    }
    return done;
  }

  async close(): Promise<void> {
    const handle = this.#handle;
    this.#handle = null;
    await handle?.close();
  }
}
