import { closeSync, fstatSync, readSync, statSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import {
  EI_CLASS,
  ELF_MAGIC,
  ELFCLASS64,
  ElfSymbols,
  PF_X,
  PT_LOAD,
  SHN_UNDEF,
  SHT_DYNSYM,
  SHT_SYMTAB,
  STT_FUNC,
  STT_GNU_IFUNC,
  STT_NOTYPE,
} from '@counterpoint/core/elf';
import type { ProbeFile, Unavailable } from '@counterpoint/core/events';
import { demangle } from '@counterpoint/core/symbols';
import { openRegularFileSync, presentBytes } from '../files/index.ts';

/**
 * The functions of files by name. Event names are read without waiting, so this reads files at once, and
 * only what a probe needs: program headers and the two symbol tables. Files are programs of this
 * machine, in its own byte order.
 */
export class ProbeFiles {
  readonly #files = new Map<string, ProbeFile | Unavailable>();

  get(path: string): ProbeFile | Unavailable {
    let file = this.#files.get(path);
    if (file === undefined) {
      file = readProbeFile(path);
      this.#files.set(path, file);
    }
    return file;
  }
}

function readProbeFile(typed: string): ProbeFile | Unavailable {
  const path = findFile(typed);
  if (path === null) {
    return typed.includes('/')
      ? notAFile(typed)
      : {
          unavailable: `${typed} is neither here nor a program in PATH`,
          remedy: 'Give its path, such as /usr/bin/node.',
        };
  }
  try {
    return (
      readFunctions(path) ?? {
        unavailable: `${path} is not an ELF file`,
        remedy: 'Probes can be set in programs and shared libraries.',
      }
    );
  } catch (error) {
    return { unavailable: `${path} cannot be read (${(error as NodeJS.ErrnoException).code})`, remedy: '' };
  }
}

function notAFile(typed: string): Unavailable {
  try {
    const what = statSync(typed).isDirectory() ? 'a directory' : 'no ordinary file';
    return {
      unavailable: `${typed} is ${what}`,
      remedy: 'Probes can be set in programs and shared libraries.',
    };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const isAbsent = code === 'ENOENT' || code === 'ENOTDIR';
    return {
      unavailable: isAbsent ? `there is no file ${typed}` : `${typed} cannot be reached (${code})`,
      remedy: 'Check the path.',
    };
  }
}

/** A name without slash is a program in PATH, or a file here. */
function findFile(typed: string): string | null {
  if (isAbsolute(typed)) return isFile(typed) ? typed : null;
  const places = typed.includes('/') ? [] : (process.env['PATH'] ?? '').split(':').filter(isAbsolute);
  return [resolve(typed), ...places.map((dir) => join(dir, typed))].find(isFile) ?? null;
}

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** Where code of the file is loaded. */
interface CodeSegment {
  readonly offset: number;
  readonly address: number;
  readonly sizeBytes: number;
}

/** `null` for what is no ELF file. */
function readFunctions(path: string): ProbeFile | null {
  const descriptor = openRegularFileSync(path);
  try {
    const file = new WholeFile(descriptor);
    const header = file.read(0, 64);
    if (header.byteLength < 64 || header.getUint32(0, false) !== ELF_MAGIC) return null;
    const is64 = header.getUint8(EI_CLASS) === ELFCLASS64;
    const segments = readCodeSegments(file, header, is64);
    const functions = new Map<string, number>();
    const sizes = new Map<string, number>();
    const indirect = new Set<string>();
    const sections = readSections(file, header, is64);
    for (const symbols of readSymbolTables(file, sections, is64))
      collect(segments, symbols, { functions, sizes, indirect });
    const isGo = isMadeByGo(file, header, sections, is64);
    return {
      path,
      functions,
      sizes,
      indirect,
      isGo,
      demangle: (name, parameters) => demangle(name, { parameters }),
      offsetOf: (address) => offsetOf(segments, address),
    };
  } finally {
    closeSync(descriptor);
  }
}

class WholeFile {
  readonly #descriptor: number;
  readonly #sizeBytes: number;

  constructor(descriptor: number) {
    this.#descriptor = descriptor;
    this.#sizeBytes = presentBytes(fstatSync(descriptor));
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

interface Section {
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
function readSections(file: WholeFile, header: DataView, is64: boolean): Section[] {
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

function bytesOf(file: WholeFile, { offset, sizeBytes }: Section): Uint8Array<ArrayBuffer> {
  const { buffer, byteLength } = file.read(offset, sizeBytes);
  return new Uint8Array(buffer, 0, byteLength);
}

/** `.symtab`, then `.dynsym`; each section names the one of its strings. */
function readSymbolTables(file: WholeFile, sections: readonly Section[], is64: boolean): ElfSymbols[] {
  return [SHT_SYMTAB, SHT_DYNSYM].flatMap((wanted) => {
    const section = sections.find(({ type }) => type === wanted);
    const strings = section === undefined ? undefined : sections[section.link];
    return section === undefined || strings === undefined
      ? []
      : [new ElfSymbols(bytesOf(file, section), bytesOf(file, strings), is64, true)];
  });
}

/** Go's linker puts this section into every program, and `strip` leaves it. */
function isMadeByGo(file: WholeFile, header: DataView, sections: readonly Section[], is64: boolean): boolean {
  const names = sections[header.getUint16(is64 ? 62 : 50, true)];
  if (names === undefined) return false;
  const text = new TextDecoder('latin1').decode(bytesOf(file, names));
  const wanted = '.go.buildinfo\0';
  return sections.some(({ nameAt }) => text.startsWith(wanted, nameAt));
}

interface Found {
  readonly functions: Map<string, number>;
  readonly sizes: Map<string, number>;
  readonly indirect: Set<string>;
}

/**
 * Names of code. The full table comes first, and keeps its meaning; but a name that is chosen at
 * program start is that, whatever older version of it there is (memcpy@GLIBC_2.2.5). Assembly
 * has functions without a type.
 */
function collect(
  segments: readonly CodeSegment[],
  symbols: ElfSymbols,
  { functions, sizes, indirect }: Found,
): void {
  for (let row = 1; row < symbols.count; row++) {
    const type = symbols.info(row) & 0xf;
    if (type !== STT_FUNC && type !== STT_GNU_IFUNC && type !== STT_NOTYPE) continue;
    const address = symbols.value(row);
    if (symbols.section(row) === SHN_UNDEF || offsetOf(segments, address) === null) continue;
    const name = symbols.name(row);
    if (type === STT_GNU_IFUNC && name !== '') indirect.add(name);
    if (name === '' || functions.has(name) || type === STT_GNU_IFUNC) continue;
    functions.set(name, address);
    sizes.set(name, symbols.size(row));
  }
}

/**
 * The kernel wants the place in the file; symbols say where it is loaded:
 *
 *   segment   file  [ offset … offset + sizeBytes )   ->   memory  [ address … )
 */
function offsetOf(segments: readonly CodeSegment[], address: number): number | null {
  for (const { offset, address: start, sizeBytes } of segments) {
    const inside = address - start;
    if (inside >= 0 && inside < sizeBytes) return offset + inside;
  }
  return null;
}
