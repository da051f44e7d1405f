import { constants } from 'node:fs';
import { lstat, open, readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { type ByteSource, CounterpointError } from '@counterpoint/core/base';
import {
  type DirectorySource,
  directorySource,
  isRecordingFile,
  type RecordingFile,
  type UnreadableFile,
} from '@counterpoint/core/perfdata';

/** perf's own copy of the kernel's memory, beside the recording (`perf record --kcore`). */
const KERNEL_CORE = join('kcore_dir', 'kcore');

/** The recording that a directory holds: `data`, and a file per ring with `perf record --threads`. */
export async function openRecordingDirectory(path: string): Promise<DirectorySource> {
  const files: RecordingFile[] = [];
  const unreadable: UnreadableFile[] = [];
  for (const name of (await readdir(path)).filter(isRecordingFile)) {
    const found = await partOf(join(path, name));
    if (typeof found !== 'string') files.push({ name, bytes: found });
    else if (name === 'data') throw noHeader(path, found);
    else unreadable.push({ name, code: found });
  }
  if (!files.some(({ name }) => name === 'data')) throw noHeader(path, 'it has no file `data`');
  return directorySource(files, unreadable);
}

/** Whether `path` is the file `data` of a directory that has a file per ring. */
export async function isBesideRings(path: string): Promise<boolean> {
  if (basename(path) !== 'data') return false;
  const names = await readdir(dirname(path)).catch(() => []);
  return names.some((name) => name !== 'data' && isRecordingFile(name));
}

/** The copy of the kernel's memory in a directory; null if there is none. */
export async function kernelCoreOf(path: string): Promise<string | null> {
  const kcore = join(path, KERNEL_CORE);
  const facts = await lstat(kcore).catch(() => null);
  return facts?.isFile() === true ? kcore : null;
}

function noHeader(path: string, why: string): CounterpointError {
  return new CounterpointError(
    'ERR_DIRECTORY',
    `${path} is a directory without a recording: ${why}`,
    'Name a perf.data file, or a directory that `perf record --threads` or `--kcore` made.',
  );
}

/**
 * A file of the directory as a source, or why there is none, as a code. Links are not
 * followed: they lead out of it.
 */
async function partOf(path: string): Promise<ByteSource | string> {
  const facts = await lstat(path).catch(() => null);
  if (facts === null) return 'file-missing';
  if (facts.isSymbolicLink()) return 'link-not-followed';
  if (!facts.isFile()) return 'not-a-file';
  const part = new FilePart(path, facts);
  try {
    await part.read(0, 1);
    return part;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EACCES' ? 'no-access' : 'file-changed';
  }
}

/**
 * Opened at each read, which is of megabytes: a machine of many CPUs makes more files
 * than a process may hold open.
 */
class FilePart implements ByteSource {
  readonly size: number;
  readonly #path: string;
  readonly #device: number;
  readonly #inode: number;

  constructor(path: string, { size, dev, ino }: { size: number; dev: number; ino: number }) {
    this.#path = path;
    this.size = size;
    this.#device = dev;
    this.#inode = ino;
  }

  async read(offset: number, length: number): Promise<Uint8Array<ArrayBuffer>> {
    const { O_RDONLY, O_NONBLOCK, O_NOFOLLOW } = constants;
    const handle = await open(this.#path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW);
    try {
      const { dev, ino } = await handle.stat();
      if (dev !== this.#device || ino !== this.#inode) {
        throw new CounterpointError(
          'ERR_FILE_CHANGED',
          `${this.#path} is a different file than when the recording was opened`,
          'Read the recording again when no program writes to it.',
        );
      }
      const target = new Uint8Array(Math.max(0, Math.min(length, this.size - offset)));
      let done = 0;
      while (done < target.length) {
        const { bytesRead } = await handle.read(target, done, target.length - done, offset + done);
        if (bytesRead === 0) break;
        done += bytesRead;
      }
      return done === target.length ? target : target.subarray(0, done);
    } finally {
      await handle.close();
    }
  }
}
