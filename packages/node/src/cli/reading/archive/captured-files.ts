import type { ArchivedFile } from '@counterpoint/core/archive';
import { type ByteSource, type Diagnostic, FormatError } from '@counterpoint/core/base';
import { openElf, readBuildId } from '@counterpoint/core/elf';
import type { FileRequest, OpenedFile, SymbolDriver } from '@counterpoint/core/symbols';

/** What a copy of the kernel's memory has is gigabytes of this machine. */
const NEVER: ReadonlySet<FileRequest['need']> = new Set(['kcore']);
const WITH_BUILD_ID: ReadonlySet<FileRequest['need']> = new Set(['binary', 'debug', 'shared-debug', 'vdso']);

/** Answers as another driver does, and remembers what was answered. */
export class CapturedFiles implements SymbolDriver {
  readonly #inner: SymbolDriver;
  readonly #sizes = new Map<string, { request: FileRequest; size: number }>();

  constructor(inner: SymbolDriver) {
    this.#inner = inner;
  }

  async open(request: FileRequest, diagnostics: Diagnostic[]): Promise<OpenedFile | null> {
    const file = await this.#inner.open(request, diagnostics);
    if (file === null || NEVER.has(request.need)) return file;
    const { need, path, buildId, pid } = request;
    const key = [need, path, buildId, need === 'perf-map' ? pid : 0].join('\0');
    // Another file may be there by now: whoever asked finds out, and does without it.
    if (!this.#sizes.has(key) && (await isWanted(request, file)))
      this.#sizes.set(key, { request, size: file.size });
    return file;
  }

  /** All, each opened again when it is read: a process may not hold that many open. */
  list(): ArchivedFile[] {
    const turn = new OneOpen(this.#inner);
    return [...this.#sizes.values()].map(({ request, size }) => ({
      request,
      bytes: { size, read: (at, length) => turn.read(request, at, length) },
    }));
  }
}

async function isWanted({ need, buildId }: FileRequest, file: ByteSource): Promise<boolean> {
  if (buildId === '' || !WITH_BUILD_ID.has(need)) return true;
  try {
    return (await readBuildId(await openElf(file))) === buildId;
  } catch (error) {
    if (error instanceof FormatError) return false;
    throw error;
  }
}

class OneOpen {
  readonly #inner: SymbolDriver;
  #request: FileRequest | null = null;
  #file: OpenedFile | null = null;

  constructor(inner: SymbolDriver) {
    this.#inner = inner;
  }

  async read(request: FileRequest, at: number, length: number): Promise<Uint8Array<ArrayBuffer>> {
    if (this.#request !== request) {
      await this.#file?.close?.();
      this.#request = request;
      this.#file = await this.#inner.open(request, []);
    }
    const bytes = (await this.#file?.read(at, length)) ?? new Uint8Array();
    if (bytes.length < length) await this.close();
    return bytes;
  }

  async close(): Promise<void> {
    await this.#file?.close?.();
    this.#file = null;
    this.#request = null;
  }
}
