import { type Diagnostic, FormatError } from '../../base/index.ts';
import { openElf, readBuildId } from '../../code/elf/index.ts';
import type { OpenedFile, SymbolDriver } from '../../code/symbols/index.ts';
import type { Profile } from '../tables/index.ts';
import type { Binaries } from './binaries.ts';

const PAGE_BYTES = 1 << 16;
/** Pages of one file that are kept: 16 MiB. */
const MOST_PAGES = 256;
const ELF_CLASS_64 = 2;

/** The bytes of code of one binary, by their place in its file. */
export interface CodeFile {
  readonly is64Bit: boolean;
  /** Fewer where the file ends before. */
  read(offset: number, length: number): Promise<Uint8Array>;
}

/**
 * The code of a profile's programs and libraries, as their files have it. A file of another build than the
 * recorded one has none.
 */
export class BinaryCode {
  readonly diagnostics: Diagnostic[] = [];
  readonly #profile: Profile;
  readonly #binaries: Binaries;
  readonly #driver: SymbolDriver;
  readonly #acceptUnverified: () => boolean;
  readonly #files = new Map<number, Promise<CodeFile | null>>();
  readonly #opened: OpenedFile[] = [];

  constructor(profile: Profile, binaries: Binaries, driver: SymbolDriver, acceptUnverified: () => boolean) {
    this.#profile = profile;
    this.#binaries = binaries;
    this.#driver = driver;
    this.#acceptUnverified = acceptUnverified;
  }

  /** null: there is no such file, or it is another one. */
  of(binary: number): Promise<CodeFile | null> {
    let file = this.#files.get(binary);
    if (file === undefined) this.#files.set(binary, (file = this.#open(binary)));
    return file;
  }

  async close(): Promise<void> {
    for (const file of this.#opened.splice(0)) await file.close?.();
  }

  async #open(binary: number): Promise<CodeFile | null> {
    const { path, buildId, kind } = this.#profile.binaries[binary]!;
    if (kind !== 'user' && kind !== 'vdso') return null;
    if (buildId === '' && !this.#acceptUnverified()) return null;
    const { pid } = this.#binaries.known[binary]!;
    const need = kind === 'vdso' ? 'vdso' : 'binary';
    const file = await this.#driver.open({ need, path, buildId, pid, required: true }, this.diagnostics);
    if (file === null) return null;
    this.#opened.push(file);
    try {
      const elf = await openElf(file);
      if (buildId !== '' && (await readBuildId(elf)) !== buildId) return null;
    } catch (error) {
      if (error instanceof FormatError) return null;
      throw error;
    }
    const [elfClass] = await file.read(4, 1);
    return new PagedCode(file, elfClass === ELF_CLASS_64);
  }
}

/** Branches come back to the same code: its pages stay. */
class PagedCode implements CodeFile {
  readonly is64Bit: boolean;
  readonly #file: OpenedFile;
  readonly #pages = new Map<number, Promise<Uint8Array>>();

  constructor(file: OpenedFile, is64Bit: boolean) {
    this.#file = file;
    this.is64Bit = is64Bit;
  }

  async read(offset: number, length: number): Promise<Uint8Array> {
    const end = Math.min(offset + length, this.#file.size);
    if (!(offset >= 0) || offset >= end) return new Uint8Array();
    const first = await this.#page(Math.floor(offset / PAGE_BYTES));
    const at = offset % PAGE_BYTES;
    if (at + (end - offset) <= first.length) return first.subarray(at, at + (end - offset));
    const bytes = new Uint8Array(end - offset);
    for (let done = 0; done < bytes.length; ) {
      const place = offset + done;
      const page = await this.#page(Math.floor(place / PAGE_BYTES));
      const part = page.subarray(place % PAGE_BYTES, (place % PAGE_BYTES) + bytes.length - done);
      if (part.length === 0) return bytes.subarray(0, done);
      bytes.set(part, done);
      done += part.length;
    }
    return bytes;
  }

  #page(number: number): Promise<Uint8Array> {
    let page = this.#pages.get(number);
    if (page === undefined) {
      if (this.#pages.size >= MOST_PAGES) this.#pages.clear();
      const start = number * PAGE_BYTES;
      page = this.#file.read(start, Math.min(PAGE_BYTES, this.#file.size - start));
      this.#pages.set(number, page);
    }
    return page;
  }
}
