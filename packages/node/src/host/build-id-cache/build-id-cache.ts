import {
  chmodSync,
  constants,
  copyFileSync,
  type Dirent,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, posix } from 'node:path';
import { isBuildId } from '../locate/index.ts';

/** What perf calls a file by what it is. */
export type FileSort = 'elf' | 'debug' | 'kallsyms' | 'vdso';

export const KERNEL_PATH = '[kernel.kallsyms]';
export const VDSO_PATH = '[vdso]';
const SPECIAL: ReadonlySet<string> = new Set([KERNEL_PATH, VDSO_PATH]);

/** A larger file is linked, as perf links all: a rebuild then has to make a new file, as linkers do. */
const MOST_COPIED_BYTES = 64 * 2 ** 20;

/** A binary in the cache. */
export interface CachedBinary {
  readonly buildId: string;
  /** Where it was. */
  readonly path: string;
}

/** perf's place: `$PERF_BUILDID_DIR`, or `~/.debug`. */
export function cacheFolder(environment: NodeJS.ProcessEnv = process.env): string {
  return environment['PERF_BUILDID_DIR'] || join(homedir(), '.debug');
}

/** perf's cache of binaries, in its layout. */
export class BuildIdCache {
  readonly folder: string;

  constructor(folder: string = cacheFolder()) {
    this.folder = folder;
  }

  /** Every binary, by build id. A link that leads out of the cache, or nowhere, is none. */
  list(): CachedBinary[] {
    const found: CachedBinary[] = [];
    const links = join(this.folder, '.build-id');
    for (const prefix of namesIn(links)) {
      if (!/^[0-9a-f]{2}$/.test(prefix)) continue;
      for (const rest of namesIn(join(links, prefix))) {
        const path = this.#pathOf(prefix + rest);
        if (path !== null && this.has(prefix + rest)) found.push({ buildId: prefix + rest, path });
      }
    }
    return found.sort((a, b) => (a.buildId < b.buildId ? -1 : 1));
  }

  /** True where a file of that sort (any, without one) is there. */
  has(buildId: string, sort?: FileSort): boolean {
    if (!isBuildId(buildId)) return false;
    const link = this.#link(buildId);
    const sorts: readonly FileSort[] = sort === undefined ? ['elf', 'debug', 'kallsyms', 'vdso'] : [sort];
    return sorts.some((one) => statSync(join(link, one), { throwIfNoEntry: false })?.isFile() === true);
  }

  /** It was used: `trim` takes others first. */
  touch(buildId: string): void {
    const now = new Date();
    try {
      utimesSync(this.#link(buildId), now, now);
    } catch {
      // Of another user, or gone.
    }
  }

  /**
   * Puts a file, or bytes, into the cache; false where that build id has one of the sort already.
   * Throws the error of the system call.
   */
  add({ buildId, path }: CachedBinary, from: string | Uint8Array, sort: FileSort = 'elf'): boolean {
    if (this.has(buildId, sort)) {
      this.touch(buildId);
      return false;
    }
    const inside = insidePath(path);
    const folder = join(this.folder, inside, buildId);
    mkdirSync(folder, { recursive: true });
    const part = join(folder, `${sort}.${process.pid}.part`);
    rmSync(part, { force: true });
    try {
      if (typeof from === 'string') takeFile(from, part);
      else writeFileSync(part, from, { flag: 'wx' });
      renameSync(part, join(folder, sort));
    } finally {
      rmSync(part, { force: true });
    }
    const link = this.#link(buildId);
    mkdirSync(dirname(link), { recursive: true });
    if (lstatSync(link, { throwIfNoEntry: false }) !== undefined && !this.#isOwnLink(link, inside, buildId))
      unlinkSync(link);
    try {
      symlinkSync(posix.join('../..', inside, buildId), link);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    return true;
  }

  /** Takes a binary out; false where it is not there. */
  remove(buildId: string): boolean {
    if (!isBuildId(buildId)) return false;
    const link = this.#link(buildId);
    const path = this.#pathOf(buildId);
    if (path === null) return false;
    const folder = join(this.folder, insidePath(path), buildId);
    rmSync(folder, { recursive: true, force: true });
    rmSync(link, { force: true });
    this.#removeEmpty(dirname(folder));
    this.#removeEmpty(dirname(link));
    return true;
  }

  /** Bytes of all files, and of each binary with the time of its last use. */
  sizes(): (CachedBinary & { bytes: number; usedMs: number })[] {
    return this.list().map((binary) => {
      const link = this.#link(binary.buildId);
      const bytes = namesIn(link).reduce((sum, name) => sum + sizeOf(join(link, name)), 0);
      return { ...binary, bytes, usedMs: statSync(link, { throwIfNoEntry: false })?.mtimeMs ?? 0 };
    });
  }

  /** Remove the least recently used files, until the rest has at most this many bytes. */
  trim(mostBytes: number): CachedBinary[] {
    const binaries = this.sizes().sort((a, b) => a.usedMs - b.usedMs);
    let bytes = binaries.reduce((sum, binary) => sum + binary.bytes, 0);
    const removed: CachedBinary[] = [];
    for (const binary of binaries) {
      if (bytes <= mostBytes) break;
      this.remove(binary.buildId);
      bytes -= binary.bytes;
      removed.push(binary);
    }
    return removed;
  }

  #link(buildId: string): string {
    return join(this.folder, '.build-id', buildId.slice(0, 2), buildId.slice(2));
  }

  /** The recorded path, which the link says; null where there is no link, or it leads elsewhere. */
  #pathOf(buildId: string): string | null {
    let target: string;
    try {
      target = readlinkSync(this.#link(buildId));
    } catch {
      return null;
    }
    const match = /^\.\.\/\.\.(\/.*)\/([0-9a-f]+)$/s.exec(target);
    if (match === null || match[2] !== buildId || posix.normalize(match[1]!) !== match[1]) return null;
    const name = match[1]!.slice(1);
    return SPECIAL.has(name) ? name : match[1]!;
  }

  #isOwnLink(link: string, inside: string, buildId: string): boolean {
    try {
      return readlinkSync(link) === posix.join('../..', inside, buildId);
    } catch {
      return false;
    }
  }

  /** A folder that has nothing left, and those above it, up to the cache itself. */
  #removeEmpty(folder: string): void {
    for (let at = folder; at.startsWith(`${this.folder}/`); at = dirname(at)) {
      try {
        rmdirSync(at);
      } catch {
        return;
      }
    }
  }
}

/** A path as a part of another: absolute, without `..`. perf's special names have no slash. */
function insidePath(path: string): string {
  return SPECIAL.has(path) ? path : posix.normalize(`/${path}`);
}

/** Small files are copied, so that one that is rebuilt in its place stays what it was. */
function takeFile(from: string, to: string): void {
  const { size, mode } = statSync(from);
  if (size > MOST_COPIED_BYTES) {
    try {
      linkSync(from, to);
      return;
    } catch {
      // Another file system, or a file that may not be linked.
    }
  }
  copyFileSync(from, to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
  chmodSync(to, (mode & 0o555) | 0o600);
}

function sizeOf(path: string): number {
  return lstatSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true }).map(({ name }: Dirent) => name);
  } catch {
    return [];
  }
}
