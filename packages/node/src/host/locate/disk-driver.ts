import { readFile } from 'node:fs/promises';
import { homedir, release } from 'node:os';
import { CounterpointError, type Diagnostic, FormatError, memorySource } from '@counterpoint/core/base';
import { openElf, readBuildId } from '@counterpoint/core/elf';
import type { FileRequest, OpenedFile, SymbolDriver } from '@counterpoint/core/symbols';
import { Debuginfod, type DebuginfodEnvironment } from './debuginfod.ts';
import {
  binaryPaths,
  cachedPath,
  debugPaths,
  kernelCorePaths,
  kernelImagePaths,
  type Places,
  sharedDebugPaths,
  splitDebugPaths,
} from './file-paths.ts';
import { type FileSource, openFileSource } from './file-source.ts';
import { openJitFile } from './jit-file.ts';
import { kernelBuildId } from './kernel-build-id.ts';
import { openPerfMap } from './perf-map.ts';
import { type ProcessView, viewOfProcess } from './process-view.ts';
import { hostPaths, onThisMachine } from './recorded-path.ts';
import { readVdso } from './vdso.ts';

const NEWLINE = 0x0a;
const ZERO = 0x30;

export interface DiskDriverOptions extends Partial<Places> {
  /** Where perf maps are; `/tmp` of the recorded machine; empty where that is nowhere here. */
  tmpDir?: string;
  /** `/proc`. With `symfs` its processes are not those of the recording, unless this says so. */
  procDir?: string;
  /** Where the running kernel's build id is; `/sys/kernel/notes`. */
  kernelNotes?: string;
  /** A copy of the kernel's memory (/proc/kcore), for its code; empty: wherever there is one. */
  kernelCore?: string;
  /** Read perf maps and jitdumps whoever owns them (perf's --force). */
  anyOwner?: boolean;
  /** Steers debuginfod, `HOME`-relative paths excepted; this process's environment. */
  environment?: DebuginfodEnvironment;
}

/**
 * Answers core's requests from this machine: files, perf's build-id cache, debug
 * directories, debuginfod, /proc.
 */
export function diskDriver(options: DiskDriverOptions = {}): SymbolDriver {
  return new DiskDriver(options);
}

/** Where the debug file of a binary of this machine may be; `root` is that of the process it was seen in. */
export function debugFilePaths(
  binary: Pick<FileRequest, 'path' | 'buildId' | 'debugLink'>,
  root: string,
): string[] {
  return debugPaths(placesOf({}, process.env), { need: 'debug', pid: 0, required: false, ...binary }, root);
}

function placesOf(options: Partial<Places>, environment: DebuginfodEnvironment): Places {
  const { host = process } = options;
  return {
    buildIdDir:
      options.buildIdDir ?? environment.PERF_BUILDID_DIR ?? hostPaths(host).join(homedir(), '.debug'),
    debugDirs: options.debugDirs ?? ['/usr/lib/debug'],
    symfs: options.symfs ?? '',
    host,
  };
}

class DiskDriver implements SymbolDriver {
  readonly #places: Places;
  readonly #options: Required<
    Pick<DiskDriverOptions, 'tmpDir' | 'procDir' | 'kernelNotes' | 'kernelCore' | 'anyOwner'>
  >;
  readonly #debuginfod: Debuginfod;
  readonly #hasProcesses: boolean;

  constructor(options: DiskDriverOptions) {
    const environment = options.environment ?? process.env;
    this.#places = placesOf(options, environment);
    this.#options = {
      tmpDir: options.tmpDir ?? tmpDirOf(this.#places),
      procDir: options.procDir ?? '/proc',
      kernelNotes: options.kernelNotes ?? '/sys/kernel/notes',
      kernelCore: options.kernelCore ?? '',
      anyOwner: options.anyOwner ?? false,
    };
    this.#debuginfod = new Debuginfod(environment);
    this.#hasProcesses = options.procDir !== undefined || this.#places.symfs === '';
  }

  async open(request: FileRequest, diagnostics: Diagnostic[]): Promise<OpenedFile | null> {
    switch (request.need) {
      case 'binary':
        return this.#openBinary(request, diagnostics);
      case 'debug':
        return this.#openDebug(request, diagnostics);
      case 'shared-debug': {
        const paths = sharedDebugPaths(this.#places, request, this.#rootOf(request.pid));
        return this.#openBest(paths, request, 'debuginfo', diagnostics);
      }
      case 'split-debug':
        return this.#openFirst(splitDebugPaths(this.#places, request, this.#rootOf(request.pid)));
      case 'kallsyms':
        return this.#openKallsyms(request.buildId);
      case 'modules':
        return this.#openProcFile('modules');
      case 'jitdump':
        return this.#openJitdump(request, diagnostics);
      case 'kcore':
        return this.#openKernelCore(request.buildId);
      case 'vdso':
        return this.#openVdso(request.buildId);
      case 'script':
      case 'source-map':
        return this.#openFirst(binaryPaths(this.#places, request, this.#rootOf(request.pid)));
      case 'perf-map': {
        const view = this.#viewOf(request.pid);
        return openPerfMap(request, view, this.#options, diagnostics);
      }
    }
  }

  async #openJitdump(request: FileRequest, diagnostics: Diagnostic[]): Promise<OpenedFile | null> {
    const view = this.#viewOf(request.pid);
    const { anyOwner } = this.#options;
    const { startMs = null } = request;
    for (const path of binaryPaths(this.#places, request, this.#rootOf(request.pid))) {
      const file = await openJitFile(path, 'jitdump', { view, anyOwner, startMs }, diagnostics);
      if (file !== null) return file;
    }
    return null;
  }

  async #openBinary(request: FileRequest, diagnostics: Diagnostic[]): Promise<OpenedFile | null> {
    const isKernel = request.pid < 0 && request.path === 'vmlinux';
    const paths = isKernel
      ? kernelImagePaths(this.#places, request.buildId, release())
      : binaryPaths(this.#places, request, this.#rootOf(request.pid));
    return this.#openBest(paths, request, 'executable', diagnostics);
  }

  async #openDebug(request: FileRequest, diagnostics: Diagnostic[]): Promise<OpenedFile | null> {
    const paths = debugPaths(this.#places, request, this.#rootOf(request.pid));
    return this.#openBest(paths, request, 'debuginfo', diagnostics);
  }

  /**
   * The first with the build id wanted; else a download; else the first that is
   * there, for the asker to judge.
   */
  async #openBest(
    paths: string[],
    request: FileRequest,
    type: 'executable' | 'debuginfo',
    diagnostics: Diagnostic[],
  ): Promise<OpenedFile | null> {
    let other: OpenedFile | null = null;
    for (const path of paths) {
      const file = await openNamed(path, diagnostics);
      if (file === null) continue;
      if (request.buildId === '' || (await buildIdOf(file)) === request.buildId) {
        await other?.close?.();
        return file;
      }
      if (other === null) other = file;
      else await file.close();
    }
    if (request.required) {
      const path = await this.#debuginfod.find(request.buildId, type, diagnostics);
      const file = path === null ? null : await openNamed(path);
      if (file !== null) {
        await other?.close?.();
        return file;
      }
    }
    return other;
  }

  /**
   * The running kernel's own, where it is the one wanted and shows its addresses; else
   * perf's copy of the one wanted.
   */
  async #openKallsyms(buildId: string): Promise<OpenedFile | null> {
    const isRunning = buildId === '' || buildId === kernelBuildId(this.#options.kernelNotes);
    const own = isRunning ? await this.#openProcFile('kallsyms') : null;
    if (own !== null && !(await isRestricted(own))) return own;
    for (const path of cachedPath(this.#places, buildId, 'kallsyms')) {
      const file = await openNamed(path);
      if (file !== null) return file;
    }
    return own;
  }

  /**
   * The kernel's code as it ran, patched: what the caller named, perf's copy of the build wanted (`perf
   * buildid-cache --kcore`), or the running kernel's memory, where that is the one wanted.
   */
  async #openKernelCore(buildId: string): Promise<OpenedFile | null> {
    const { kernelCore, kernelNotes, procDir } = this.#options;
    if (kernelCore !== '') return openFileSource(kernelCore);
    const copies = await kernelCorePaths(this.#places, buildId);
    const file = await this.#openFirst(copies);
    if (file !== null) return file;
    const isRunning = buildId !== '' && buildId === kernelBuildId(kernelNotes);
    return isRunning ? await openFileSource(`${procDir}/kcore`).catch(() => null) : null;
  }

  async #openFirst(paths: readonly string[]): Promise<OpenedFile | null> {
    for (const path of paths) {
      const file = await openNamed(path);
      if (file !== null) return file;
    }
    return null;
  }

  async #openVdso(buildId: string): Promise<OpenedFile | null> {
    const bytes = await readVdso(`${this.#options.procDir}/self`).catch(() => null);
    const own = bytes === null ? null : memorySource(bytes);
    if (own !== null && (buildId === '' || (await buildIdOf(own)) === buildId)) return own;
    for (const path of cachedPath(this.#places, buildId, 'vdso')) {
      const file = await openNamed(path);
      if (file !== null) return file;
    }
    return own;
  }

  /** Files of /proc have no size until they are read. */
  async #openProcFile(name: string): Promise<OpenedFile | null> {
    try {
      const bytes = await readFile(`${this.#options.procDir}/${name}`);
      return memorySource(new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    } catch {
      return null;
    }
  }

  #viewOf(pid: number): ProcessView | null {
    return this.#hasProcesses ? viewOfProcess(pid, this.#options.procDir) : null;
  }

  #rootOf(pid: number): string {
    return this.#viewOf(pid)?.root ?? '';
  }
}

function tmpDirOf({ symfs, host }: Places): string {
  return onThisMachine('/tmp', symfs, host) ?? '';
}

/**
 * A path that a recording names, or that is made of a name in one. What is there, and is no file, is told.
 */
async function openNamed(path: string, diagnostics: Diagnostic[] = []): Promise<FileSource | null> {
  try {
    return await openFileSource(path, { recorded: true });
  } catch (error) {
    if (error instanceof CounterpointError && error.code === 'ERR_NOT_A_FILE')
      diagnostics.push({
        code: 'not-a-file',
        path,
        detail: `${error.message}, so it was not opened`,
        remedy: '',
      });
    return null;
  }
}

async function buildIdOf(file: OpenedFile): Promise<string> {
  try {
    return await readBuildId(await openElf(file));
  } catch (error) {
    if (error instanceof FormatError) return '';
    throw error;
  }
}

/** True where every address is 0, as the kernel shows them to those who may not see them (kptr_restrict). */
async function isRestricted(file: OpenedFile): Promise<boolean> {
  const bytes = await file.read(0, file.size);
  // Per-CPU symbols come first and have small addresses for everyone, so all lines count.
  for (let line = 0; line < bytes.length; line = bytes.indexOf(NEWLINE, line) + 1) {
    if (bytes[line] !== ZERO) return false;
    if (bytes.indexOf(NEWLINE, line) === -1) break;
  }
  return true;
}
