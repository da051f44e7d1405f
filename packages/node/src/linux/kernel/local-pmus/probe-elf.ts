import { closeSync, fstatSync, readSync } from 'node:fs';
import { EI_CLASS, ELF_MAGIC, ELFCLASS64, ElfSymbols, PF_X, PT_LOAD } from '@counterpoint/core/elf';
import { openRegularFileSync, presentBytes } from '../../../host/files/index.ts';

/** Where code of the file is loaded. */
export interface CodeSegment {
  readonly offset: number;
  readonly address: number;
  readonly sizeBytes: number;
}

/** What a probe needs of an ELF file of this machine, read at once: event names are read without waiting. */
export class ProbeElf {
  readonly segments: readonly CodeSegment[];
  readonly sections: readonly ProbeSection[];
  readonly #file: WholeFile;
  readonly #is64: boolean;
  readonly #names: string;

  /** `null` for what is no ELF file. */
  static open(path: string): ProbeElf | null {
    const file = new WholeFile(openRegularFileSync(path));
    try {
      const header = file.read(0, 64);
      if (header.byteLength >= 64 && header.getUint32(0, false) === ELF_MAGIC)
        return new ProbeElf(file, header);
    } catch (error) {
      file.close();
      throw error;
    }
    file.close();
    return null;
  }

  private constructor(file: WholeFile, header: DataView) {
    this.#file = file;
    this.#is64 = header.getUint8(EI_CLASS) === ELFCLASS64;
    this.segments = readCodeSegments(file, header, this.#is64);
    this.sections = readSections(file, header, this.#is64);
    const names = this.sections[header.getUint16(this.#is64 ? 62 : 50, true)];
    this.#names = names === undefined ? '' : new TextDecoder('latin1').decode(this.bytesOf(names));
  }

  sectionNamed(name: string): ProbeSection | null {
    return this.sections.find(({ nameAt }) => this.#names.startsWith(`${name}\0`, nameAt)) ?? null;
  }

  bytesOf({ offset, sizeBytes }: ProbeSection): Uint8Array<ArrayBuffer> {
    const { buffer, byteLength } = this.#file.read(offset, sizeBytes);
    return new Uint8Array(buffer, 0, byteLength);
  }

  /** SHT_SYMTAB or SHT_DYNSYM; a table names the section of its strings. Null where there is none. */
  symbols(type: number): ElfSymbols | null {
    const section = this.sections.find((one) => one.type === type);
    const strings = section === undefined ? undefined : this.sections[section.link];
    return section === undefined || strings === undefined
      ? null
      : new ElfSymbols(this.bytesOf(section), this.bytesOf(strings), this.#is64, true);
  }

  /** The whole file, in pieces. */
  *pieces(sizeBytes: number): Generator<Uint8Array<ArrayBuffer>> {
    for (let offset = 0; ; offset += sizeBytes) {
      const { buffer, byteLength } = this.#file.read(offset, sizeBytes);
      if (byteLength === 0) return;
      yield new Uint8Array(buffer, 0, byteLength);
    }
  }

  close(): void {
    this.#file.close();
  }
}

class WholeFile {
  readonly #descriptor: number;
  readonly #sizeBytes: number;

  constructor(descriptor: number) {
    this.#descriptor = descriptor;
    this.#sizeBytes = presentBytes(fstatSync(descriptor));
  }

  close(): void {
    closeSync(this.#descriptor);
  }

  /** Fewer bytes only at the end of the file, whatever the headers say. */
  read(offset: number, sizeBytes: number): DataView<ArrayBuffer> {
    const bytes = new Uint8Array(Math.max(0, Math.min(sizeBytes, this.#sizeBytes - offset)));
    let done = 0;
    while (done < bytes.length) {
      const count = readSync(this.#descriptor, bytes, done, bytes.length - done, offset + done);
      if (count === 0) break;
      done += count;
    }
    return new DataView(bytes.buffer, 0, done);
  }
}

/** A 64-bit field of a header; what is too large to be exact is outside of any file. */
function word(view: DataView, at: number, is64: boolean): number {
  return is64 ? Number(view.getBigUint64(at, true)) : view.getUint32(at, true);
}

/** Entries of a table of headers: `offset`, then the size of an entry and their count. */
function* tableEntries(
  file: WholeFile,
  offset: number,
  entryBytes: number,
  count: number,
  leastBytes: number,
): Generator<DataView<ArrayBuffer>> {
  if (entryBytes < leastBytes) return;
  const table = file.read(offset, entryBytes * count);
  for (let at = 0; at + entryBytes <= table.byteLength; at += entryBytes)
    yield new DataView(table.buffer, at, entryBytes);
}

/**
 *     Elf64_Phdr  type u32, flags u32 | offset u64 | address u64 | physical u64 | file size u64 | …
 *     Elf32_Phdr  type u32 | offset u32 | address u32 | physical u32 | file size u32 | memory size u32 | flags u32 | …
 */
function readCodeSegments(file: WholeFile, header: DataView, is64: boolean): CodeSegment[] {
  const counts = is64 ? 54 : 42;
  const [size, count] = [header.getUint16(counts, true), header.getUint16(counts + 2, true)];
  const segments: CodeSegment[] = [];
  for (const entry of tableEntries(file, word(header, is64 ? 32 : 28, is64), size, count, is64 ? 56 : 32)) {
    const flags = entry.getUint32(is64 ? 4 : 24, true);
    if (entry.getUint32(0, true) !== PT_LOAD || (flags & PF_X) === 0) continue;
    segments.push({
      offset: word(entry, is64 ? 8 : 4, is64),
      address: word(entry, is64 ? 16 : 8, is64),
      sizeBytes: word(entry, is64 ? 32 : 16, is64),
    });
  }
  return segments;
}

export interface ProbeSection {
  readonly nameAt: number;
  readonly type: number;
  readonly offset: number;
  readonly sizeBytes: number;
  readonly link: number;
}

/**
 *     Elf64_Shdr  name u32, type u32 | flags u64 | address u64 | offset u64 | size u64 | link u32, …
 *     Elf32_Shdr  name u32 | type u32 | flags u32 | address u32 | offset u32 | size u32 | link u32 | …
 */
function readSections(file: WholeFile, header: DataView, is64: boolean): ProbeSection[] {
  const counts = is64 ? 58 : 46;
  const [size, count] = [header.getUint16(counts, true), header.getUint16(counts + 2, true)];
  const entries = tableEntries(file, word(header, is64 ? 40 : 32, is64), size, count, is64 ? 64 : 40);
  return [...entries].map((entry) => ({
    nameAt: entry.getUint32(0, true),
    type: entry.getUint32(4, true),
    offset: word(entry, is64 ? 24 : 16, is64),
    sizeBytes: word(entry, is64 ? 32 : 20, is64),
    link: entry.getUint32(is64 ? 40 : 24, true),
  }));
}

/**
 * The kernel wants the place in the file; symbols say where it is loaded:
 *
 *   segment   file  [ offset … offset + sizeBytes )   ->   memory  [ address … )
 */
export function offsetInFile(segments: readonly CodeSegment[], address: number): number | null {
  for (const { offset, address: start, sizeBytes } of segments) {
    const inside = address - start;
    if (inside >= 0 && inside < sizeBytes) return offset + inside;
  }
  return null;
}
