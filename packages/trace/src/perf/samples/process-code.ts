/**
 * Which code each process has in memory now, from the records so far: files by their mappings,
 * vdso, and what was compiled at run time where a jitdump tells. Files are asked for when an
 * address in them is first decoded.
 */
import { type ByteSource, type Diagnostic, FormatError } from '@counterpoint/core/base';
import { type JitDump, parseJitDump } from '@counterpoint/core/jit';
import { isJitDump, type Machine, type Mapping } from '@counterpoint/core/machine';
import type { FileRequest, OpenedFile, SymbolDriver } from '@counterpoint/core/symbols';
import { addJitCode, CodeImage, type CodeSource, kernelCoreParts } from '../../code/image/index.ts';

interface ProcessImage {
  image: CodeImage;
  generation: number;
  kernelGeneration: number;
}

/** Memory that holds no file: nobody has what was there. */
const NO_FILE =
  /^(?:\/\/anon|\/dev\/zero|\/anon_hugepage|\[anon|\[stack|\[heap\]|\/SYSV|\[uprobes\]|\[vvar|\[vsyscall\])/;

const MOST_DUMP_BYTES = 1 << 30;

export class ProcessCode {
  readonly diagnostics: Diagnostic[] = [];
  readonly #machine: Machine;
  readonly #driver: SymbolDriver;
  /** Build ids by path, from the file's table. */
  readonly #buildIdOf: (path: string) => string;
  readonly #images = new Map<number, ProcessImage>();
  readonly #files = new Map<string, Promise<OpenedFile | null>>();
  readonly #opened: OpenedFile[] = [];
  readonly #reported = new Set<string>();
  #kernelParts: CodeSource[] = [];
  readonly #dumps = new Map<number, JitDump>();
  #wantedDumps: FileRequest[] = [];
  readonly #askedDumps = new Set<string>();

  /** Files without a build id are taken by their path alone. */
  readonly #acceptUnverified: boolean;

  constructor(
    machine: Machine,
    driver: SymbolDriver,
    buildIdOf: (path: string) => string,
    acceptUnverified: boolean,
  ) {
    this.#machine = machine;
    this.#driver = driver;
    this.#buildIdOf = buildIdOf;
    this.#acceptUnverified = acceptUnverified;
  }

  /**
   * The kernel's code, for all processes: from a copy of its memory, as nothing else
   * has what it was patched to.
   */
  async openKernel(buildId: string): Promise<void> {
    const request: FileRequest = { need: 'kcore', path: '/proc/kcore', buildId, pid: -1, required: true };
    const file = await this.#driver.open(request, this.diagnostics);
    if (file === null) {
      this.#report(request, 'kernel');
      return;
    }
    this.#opened.push(file);
    try {
      this.#kernelParts = await kernelCoreParts(keptParts(file), { name: '[kernel]' });
      this.#images.clear();
    } catch (error) {
      if (!(error instanceof FormatError)) throw error;
      this.#report(request, 'kernel-core');
    }
  }

  /** Code that was compiled at run time, of a process that has mapped its dump: read whole, once. */
  async openDumps(): Promise<void> {
    for (const request of this.#wantedDumps.splice(0)) {
      const file = await this.#driver.open(request, this.diagnostics);
      if (file === null) {
        this.#report(request, 'jitdump');
        continue;
      }
      try {
        const dump = parseJitDump(await file.read(0, Math.min(file.size, MOST_DUMP_BYTES)));
        this.#dumps.set(request.pid, dump);
        this.#images.delete(request.pid);
        if (replacesCode(dump)) this.#report(request, 'jitdump-times');
      } catch (error) {
        if (!(error instanceof FormatError)) throw error;
        this.#report(request, 'jitdump-damaged');
      } finally {
        await file.close?.();
      }
    }
  }

  get wantsDumps(): boolean {
    return this.#wantedDumps.length > 0;
  }

  /** The code of a process as it is now; the same object until its mappings change. */
  imageOf(pid: number): CodeImage {
    const { maps } = this.#machine.process(pid);
    const { kernel } = this.#machine;
    const known = this.#images.get(pid);
    if (known?.generation === maps.generation && known.kernelGeneration === kernel.generation)
      return known.image;
    const image = new CodeImage();
    for (const part of this.#kernelParts) image.addSource(part);
    for (const mapping of maps.all()) this.#addMapping(image, mapping);
    const dump = this.#dumps.get(pid);
    // The dump is whole by now: what stands at a place is what was put there last.
    if (dump !== undefined) addJitCode(image, dump);
    this.#images.set(pid, {
      image,
      generation: maps.generation,
      kernelGeneration: kernel.generation,
    });
    return image;
  }

  /** The process has ended. */
  forget(pid: number): void {
    this.#images.delete(pid);
  }

  /** Read what `image` was asked for and had not. */
  async load(image: CodeImage): Promise<void> {
    const { missing } = await image.load((request) => this.#open(request));
    for (const { request, code } of missing) this.#report(request, code);
  }

  async close(): Promise<void> {
    for (const file of this.#opened.splice(0)) await file.close?.();
  }

  #addMapping(image: CodeImage, mapping: Mapping): void {
    const { path, start, end, pageOffset, pid } = mapping;
    if (NO_FILE.test(path) || path === '') return;
    // Its mapping is a mark for readers of the recording; the code is elsewhere.
    if (isJitDump(path)) {
      this.#wantDump(path, pid);
      return;
    }
    const isVdso = path === '[vdso]';
    image.addFile({
      name: path,
      address: BigInt.asUintN(64, BigInt(start)),
      sizeBytes: end - start,
      offset: isVdso ? 0 : pageOffset,
      request: {
        need: isVdso ? 'vdso' : 'binary',
        path,
        buildId: mapping.buildId || this.#buildIdOf(path),
        pid,
        required: true,
      },
    });
  }

  #wantDump(path: string, pid: number): void {
    if (this.#askedDumps.has(`${pid} ${path}`)) return;
    this.#askedDumps.add(`${pid} ${path}`);
    this.#wantedDumps.push({ need: 'jitdump', path, buildId: '', pid, required: true });
  }

  /** Each file is opened once, however many mappings of how many processes ask for it. */
  #open(request: FileRequest): Promise<OpenedFile | null> {
    const key = `${request.need} ${request.buildId} ${request.buildId === '' ? request.pid : ''} ${request.path}`;
    let file = this.#files.get(key);
    if (file === undefined) {
      file = this.#openFirst(request);
      this.#files.set(key, file);
    }
    return file;
  }

  async #openFirst(request: FileRequest): Promise<OpenedFile | null> {
    if (request.buildId === '' && !this.#acceptUnverified) {
      this.#report(request, 'unverified');
      return null;
    }
    const file = await this.#driver.open(request, this.diagnostics);
    if (file === null) return null;
    this.#opened.push(file);
    return keptParts(file);
  }

  #report(request: FileRequest, code: string): void {
    if (this.#reported.has(request.path)) return;
    this.#reported.add(request.path);
    this.diagnostics.push({ path: request.path, ...MISSING[code]! });
  }
}

/** Was other code put where some was before? */
function replacesCode({ records }: JitDump): boolean {
  const loads = records
    .flatMap((record) => (record.kind === 'load' && record.sizeBytes > 0 ? [record] : []))
    .sort((a, b) => (a.address < b.address ? -1 : a.address > b.address ? 1 : 0));
  return loads.some(
    (load, index) =>
      index > 0 && loads[index - 1]!.address + BigInt(loads[index - 1]!.sizeBytes) > load.address,
  );
}

const MISSING: Readonly<Record<string, Omit<Diagnostic, 'path'>>> = {
  'not-found': {
    code: 'code-not-found',
    detail: 'the trace ran code of this file, which is missing here, so what it did there is not known',
    remedy: 'Decode on the recorded machine, or put the file into the build-id cache (~/.debug).',
  },
  'build-id-mismatch': {
    code: 'code-changed',
    detail: 'the file here is of another build than the one the trace ran',
    remedy: 'Put the recorded build into the build-id cache (~/.debug), or record again.',
  },
  unverified: {
    code: 'code-unverified',
    detail: 'the recording is of another machine and does not say which build of this file ran there',
    remedy: 'Decode on the recorded machine, or record with build ids (perf record --buildid-all).',
  },
  kernel: {
    code: 'kernel-code-not-found',
    detail:
      "the trace ran the kernel's code, but there is no copy of its memory, so what it did there is not known",
    remedy:
      'Record with `perf record --kcore`, or keep a copy on that machine (`perf buildid-cache --kcore /proc/kcore`), as root.',
  },
  'kernel-core': {
    code: 'kernel-code-damaged',
    detail: "this is not a copy of a kernel's memory: it is not an ELF core file",
    remedy: 'Copy /proc/kcore again (`perf buildid-cache --kcore /proc/kcore`), as root.',
  },
  jitdump: {
    code: 'code-not-found',
    detail: 'the trace may have run code that was compiled at run time, and its dump is not here',
    remedy: 'Decode on the recorded machine, before the dump is removed.',
  },
  'jitdump-damaged': {
    code: 'code-damaged',
    detail: 'this is not a jitdump, so the code that was compiled at run time is not known',
    remedy: 'Make the runtime write the dump again, and record again.',
  },
  'jitdump-times': {
    code: 'code-replaced',
    detail:
      'code compiled at run time was replaced by other code at the same addresses: the last code is used for the whole time',
    remedy: 'Execution before a replacement may be decoded wrongly there; errors are counted.',
  },
  cut: {
    code: 'code-cut',
    detail: 'the file here is shorter than what was mapped of it',
    remedy: 'Decode with the file that was recorded.',
  },
};

/** What was read of a file once is kept: images are made anew with each mapping. */
function keptParts(file: ByteSource): ByteSource {
  const parts = new Map<string, Promise<Uint8Array<ArrayBuffer>>>();
  return {
    size: file.size,
    read(offset, length) {
      const key = `${offset} ${length}`;
      let part = parts.get(key);
      if (part === undefined) {
        part = file.read(offset, length);
        parts.set(key, part);
      }
      return part;
    },
  };
}
