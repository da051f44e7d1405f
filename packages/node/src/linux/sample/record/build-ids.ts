import { closeSync, fstatSync, openSync, readFileSync, readSync, statSync } from 'node:fs';
import { PERF_RECORD_MISC_KERNEL, PERF_RECORD_MISC_USER } from '@counterpoint/core/abi';
import { type ByteSource, memorySource } from '@counterpoint/core/base';
import { buildIdOfNotes, openElf, readBuildId } from '@counterpoint/core/elf';
import type { BuildIdEntry } from '@counterpoint/core/perfdata';
import type { Mmap2Record, MmapRecord } from '@counterpoint/core/records';
import { openRegularFileSync, presentBytes } from '../../../host/files/index.ts';
import { readProc, readProcLink } from '../../kernel/target/index.ts';

const HOST_PID = -1;
const KERNEL_NAME = '[kernel.kallsyms]';
const VDSO_NAME = '[vdso]';
/**
 * Files of other mount namespaces are opened at once, because they go with their
 * process; no more than this at a time.
 */
const MOST_OPEN_FILES = 256;

/**
 * The files that the recording's maps name, and at the end their build ids: with them a reader elsewhere, or
 * after an upgrade, finds the very same binaries.
 */
export class BuildIdCollector {
  /** Paths in this mount namespace, with the inode that was mapped last. */
  readonly #paths = new Map<string, { inode: bigint; entry: Promise<BuildIdEntry | null> }>();
  readonly #modules = new Map<string, string>();
  readonly #foreign = new Map<string, Promise<BuildIdEntry | null>>();
  readonly #isForeign = new Map<number, boolean>();
  readonly #ownNamespace = readProcLink('self/ns/mnt');
  #openForeign = 0;
  #hasVdso = false;
  #hasKernel = false;
  /** Files whose inode was not the mapped one any more at the end. */
  readonly #replaced = new Map<string, { hasBuildId: boolean }>();

  addKernelMap({ path }: MmapRecord): void {
    if (path.startsWith(KERNEL_NAME)) {
      this.#hasKernel = true;
      return;
    }
    const name = /([^/[\]]+?)(?:\.ko(?:\.\w+)?|\])$/.exec(path)?.[1];
    if (name !== undefined) this.#modules.set(path, name.replaceAll('-', '_'));
  }

  /** A map that was made, by its record. */
  add({ pid, path, inode = 0n }: Pick<Mmap2Record, 'pid' | 'path' | 'inode'>): void {
    if (path === VDSO_NAME) this.#hasVdso = true;
    if (!isFile(path)) return;
    if (!this.#isInOtherNamespace(pid)) {
      // At once: whoever builds a program that runs replaces it.
      if (this.#paths.get(path)?.inode !== inode)
        this.#paths.set(path, { inode, entry: this.#read(path, path, inode) });
      return;
    }
    const key = `${path}\0${inode}`;
    if (this.#foreign.has(key) || this.#openForeign >= MOST_OPEN_FILES) return;
    this.#openForeign++;
    const entry = this.#read(`/proc/${pid}/root${path}`, path, inode).finally(() => {
      this.#openForeign--;
    });
    this.#foreign.set(key, entry);
  }

  #isInOtherNamespace(pid: number): boolean {
    let isForeign = this.#isForeign.get(pid);
    if (isForeign === undefined) {
      const namespace = readProcLink(`${pid}/ns/mnt`);
      isForeign = namespace !== null && namespace !== this.#ownNamespace;
      this.#isForeign.set(pid, isForeign);
    }
    return isForeign;
  }

  /** Read what was collected. A file that is gone or has no build id is left out. */
  async finish(): Promise<BuildIdEntry[]> {
    const entries: (BuildIdEntry | null)[] = [];
    if (this.#hasKernel) entries.push(kernelEntry('/sys/kernel/notes', KERNEL_NAME));
    for (const [path, name] of this.#modules)
      entries.push(kernelEntry(`/sys/module/${name}/notes/.note.gnu.build-id`, path));
    for (const [path, { inode, entry }] of this.#paths) {
      const found = await entry;
      if (isOtherFile(path, inode)) this.#replaced.set(path, { hasBuildId: found !== null });
      entries.push(found);
    }
    entries.push(...(await Promise.all(this.#foreign.values())));
    if (this.#hasVdso) entries.push(await vdsoEntry());
    return entries.filter((entry) => entry !== null);
  }

  /** What is to be said of files that were replaced. */
  notes(): string[] {
    return [...this.#replaced].map(([path, { hasBuildId }]) =>
      hasBuildId
        ? `${path} was replaced while it ran: names are those of what ran where that is kept, by its build id`
        : `${path} was replaced while it ran, so the recording has no build id for it`,
    );
  }

  async #read(file: string, path: string, inode: bigint): Promise<BuildIdEntry | null> {
    let fd: number;
    try {
      fd = openRegularFileSync(file, { recorded: true });
    } catch {
      return null;
    }
    try {
      const stat = fstatSync(fd, { bigint: true });
      if (inode !== 0n && stat.ino !== inode) return null;
      return entryOf(
        await buildIdOf(
          descriptorSource(fd, presentBytes({ size: Number(stat.size), blocks: Number(stat.blocks) })),
        ),
        path,
        PERF_RECORD_MISC_USER,
      );
    } catch {
      return null;
    } finally {
      closeSync(fd);
    }
  }
}

/**
 * Whether a map's name is that of a file: `//anon`, `[heap]`, `/memfd:x (deleted)`, `anon_inode:…` are none.
 */
function isFile(path: string): boolean {
  return (
    path.startsWith('/') &&
    !path.startsWith('//') &&
    !path.startsWith('/memfd:') &&
    !path.endsWith(' (deleted)')
  );
}

/** Where there is none any more, or nobody may look, nothing replaced it. */
function isOtherFile(path: string, inode: bigint): boolean {
  try {
    return inode !== 0n && statSync(path, { bigint: true }).ino !== inode;
  } catch {
    return false;
  }
}

function entryOf(buildId: string, path: string, misc: number): BuildIdEntry | null {
  return buildId === '' ? null : { pid: HOST_PID, misc, buildId, path };
}

function kernelEntry(notesFile: string, path: string): BuildIdEntry | null {
  try {
    const notes = new Uint8Array(readFileSync(notesFile));
    return entryOf(buildIdOfNotes(notes, true), path, PERF_RECORD_MISC_KERNEL);
  } catch {
    return null;
  }
}

async function buildIdOf(source: ByteSource): Promise<string> {
  return readBuildId(await openElf(source));
}

/** The kernel maps the same vdso into this process as into all 64-bit others. */
async function vdsoEntry(): Promise<BuildIdEntry | null> {
  const match = /^([0-9a-f]+)-([0-9a-f]+) .*\[vdso\]$/m.exec(readProc('self/maps') ?? '');
  if (match === null) return null;
  const start = BigInt(`0x${match[1]}`);
  const bytes = new Uint8Array(Number(BigInt(`0x${match[2]}`) - start));
  try {
    const fd = openSync('/proc/self/mem', 'r');
    try {
      readSync(fd, bytes, { position: start });
    } finally {
      closeSync(fd);
    }
    return entryOf(await buildIdOf(memorySource(bytes)), VDSO_NAME, PERF_RECORD_MISC_USER);
  } catch {
    return null;
  }
}

function descriptorSource(fd: number, size: number): ByteSource {
  return {
    size,
    async read(offset, length) {
      const bytes = new Uint8Array(Math.max(0, Math.min(length, size - offset)));
      return bytes.subarray(0, readSync(fd, bytes, { position: offset }));
    },
  };
}
