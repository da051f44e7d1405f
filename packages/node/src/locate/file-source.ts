import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { type ByteSource, CounterpointError } from '@counterpoint/core/base';

/** A file as a source of bytes. Holds a descriptor until it is closed. */
export interface FileSource extends ByteSource {
  readInto(target: Uint8Array<ArrayBuffer>, offset: number): Promise<number>;
  /** A second close does nothing. */
  close(): Promise<void>;
}

/** One read of the kernel gives at most this much (MAX_RW_COUNT, rounded down). */
const MAX_READ_BYTES = 1 << 30;

/**
 * Opens a regular file. Throws the error of the system call, or ERR_NOT_A_FILE: opening anything else could wait (a FIFO) or
 * do something (a device).
 */
export async function openFileSource(path: string): Promise<FileSource> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const facts = await handle.stat();
    if (!facts.isFile()) throw new CounterpointError('ERR_NOT_A_FILE', `${path} is not a regular file`);
    return new HandleSource(handle, facts.size);
  } catch (error) {
    await handle.close();
    throw error;
  }
}

class HandleSource implements FileSource {
  readonly size: number;
  private handle: FileHandle | null;

  constructor(handle: FileHandle, size: number) {
    this.handle = handle;
    this.size = size;
  }

  async read(offset: number, length: number): Promise<Uint8Array<ArrayBuffer>> {
    const wanted = Math.max(0, Math.min(length, this.size - offset));
    const target = new Uint8Array(wanted);
    const size = await this.readInto(target, offset);
    return size === wanted ? target : target.subarray(0, size);
  }

  async readInto(target: Uint8Array<ArrayBuffer>, offset: number): Promise<number> {
    if (this.handle === null) throw new CounterpointError('ERR_CLOSED', 'the file has been closed');
    let done = 0;
    while (done < target.length) {
      const length = Math.min(target.length - done, MAX_READ_BYTES);
      const { bytesRead } = await this.handle.read(target, done, length, offset + done);
      if (bytesRead === 0) break;
      done += bytesRead;
    }
    return done;
  }

  async close(): Promise<void> {
    const { handle } = this;
    this.handle = null;
    await handle?.close();
  }
}
