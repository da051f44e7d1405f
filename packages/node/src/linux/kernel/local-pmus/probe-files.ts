import { statSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import {
  type ElfSymbols,
  SHN_UNDEF,
  SHT_DYNSYM,
  SHT_SYMTAB,
  STT_FUNC,
  STT_GNU_IFUNC,
  STT_NOTYPE,
} from '@counterpoint/core/elf';
import type { ProbeFile, Unavailable } from '@counterpoint/core/events';
import { demangle } from '@counterpoint/core/symbols';
import { symbolsOfDebugFile } from './probe-debug-file.ts';
import { offsetInFile, ProbeElf } from './probe-elf.ts';

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

/** `null` for what is no ELF file. */
function readFunctions(path: string): ProbeFile | null {
  const file = ProbeElf.open(path);
  if (file === null) return null;
  try {
    const functions = new Map<string, number>();
    const sizes = new Map<string, number>();
    const indirect = new Set<string>();
    for (const symbols of symbolTables(path, file)) collect(file, symbols, { functions, sizes, indirect });
    const { segments } = file;
    return {
      path,
      functions,
      sizes,
      indirect,
      // Go's linker puts this section into every program, and `strip` leaves it.
      isGo: file.sectionNamed('.go.buildinfo') !== null,
      demangle: (name, parameters) => demangle(name, { parameters }),
      offsetOf: (address) => offsetInFile(segments, address),
    };
  } finally {
    file.close();
  }
}

/** The full table, of the file itself or else of its debug file; then what other binaries may call. */
function symbolTables(path: string, file: ProbeElf): ElfSymbols[] {
  const own = file.symbols(SHT_SYMTAB);
  const full = own ?? symbolsOfDebugFile(path, file);
  return [full, file.symbols(SHT_DYNSYM)].filter((table) => table !== null);
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
function collect({ segments }: ProbeElf, symbols: ElfSymbols, { functions, sizes, indirect }: Found): void {
  for (let row = 1; row < symbols.count; row++) {
    const type = symbols.info(row) & 0xf;
    if (type !== STT_FUNC && type !== STT_GNU_IFUNC && type !== STT_NOTYPE) continue;
    const address = symbols.value(row);
    if (symbols.section(row) === SHN_UNDEF || offsetInFile(segments, address) === null) continue;
    const name = symbols.name(row);
    if (type === STT_GNU_IFUNC && name !== '') indirect.add(name);
    if (name === '' || functions.has(name) || type === STT_GNU_IFUNC) continue;
    functions.set(name, address);
    sizes.set(name, symbols.size(row));
  }
}
