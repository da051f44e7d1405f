import { statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { isAbsolute, join, resolve } from 'node:path';
import { type ByteSource, CounterpointError } from '@counterpoint/core/base';
import {
  type ElfFile,
  type ElfSymbols,
  openElf,
  PF_X,
  PT_LOAD,
  readSymbols,
  SHN_UNDEF,
  STT_FUNC,
  STT_GNU_IFUNC,
  STT_NOTYPE,
} from '@counterpoint/core/elf';
import type { ProbeFile, Unavailable } from '@counterpoint/core/events';

/** The functions of files, which are read when they are asked for by `prepare` and looked up by name later. */
export class ProbeFiles {
  readonly #files = new Map<string, ProbeFile | Unavailable>();

  /** Read the files; what cannot be read becomes the answer for it. */
  async prepare(paths: readonly string[]): Promise<void> {
    for (const path of paths) {
      if (!this.#files.has(path)) this.#files.set(path, await readProbeFile(path));
    }
  }

  get(path: string): ProbeFile | Unavailable {
    return (
      this.#files.get(path) ?? {
        unavailable: `${path} has not been read`,
        remedy: 'Call prepare() of the lookup with the text before parseEvents().',
      }
    );
  }
}

async function readProbeFile(typed: string): Promise<ProbeFile | Unavailable> {
  const path = findFile(typed);
  if (path === null) {
    return typed.includes('/')
      ? { unavailable: `there is no file ${typed}`, remedy: '' }
      : {
          unavailable: `${typed} is neither here nor a program in PATH`,
          remedy: 'Write where it is, as in /usr/bin/node.',
        };
  }
  try {
    return await readFunctions(path);
  } catch (error) {
    const why =
      error instanceof CounterpointError
        ? `is no ELF file (${error.message})`
        : `cannot be read (${(error as NodeJS.ErrnoException).code})`;
    return { unavailable: `${path} ${why}`, remedy: 'Probes can be set in programs and shared libraries.' };
  }
}

/** A name without slash is a program in PATH, or a file here. */
function findFile(typed: string): string | null {
  if (isAbsolute(typed)) return isFile(typed) ? typed : null;
  const places = typed.includes('/') ? [] : (process.env['PATH'] ?? '').split(':').filter(isAbsolute);
  return [resolve(typed), ...places.map((dir) => join(dir, typed))].find(isFile) ?? null;
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

async function readFunctions(path: string): Promise<ProbeFile> {
  const handle = await open(path, 'r');
  try {
    const { size } = await handle.stat();
    const source: ByteSource = {
      size,
      async read(offset, length) {
        const bytes = new Uint8Array(Math.max(0, Math.min(length, size - offset)));
        const { bytesRead } = await handle.read(bytes, 0, bytes.length, offset);
        return bytes.subarray(0, bytesRead);
      },
    };
    const elf = await openElf(source);
    const functions = new Map<string, number>();
    const indirect = new Set<string>();
    for (const table of ['symtab', 'dynsym'] as const) {
      const symbols = await readSymbols(elf, table);
      if (symbols !== null) collect(elf, symbols, functions, indirect);
    }
    return { path, functions, indirect, offsetOf: (address) => offsetOf(elf, address) };
  } finally {
    await handle.close();
  }
}

/** Names of code. The full table comes first, and keeps its meaning. Assembly has functions without a type. */
function collect(
  elf: ElfFile,
  symbols: ElfSymbols,
  functions: Map<string, number>,
  indirect: Set<string>,
): void {
  for (let row = 1; row < symbols.count; row++) {
    const type = symbols.info(row) & 0xf;
    if (type !== STT_FUNC && type !== STT_GNU_IFUNC && type !== STT_NOTYPE) continue;
    const address = symbols.value(row);
    if (symbols.section(row) === SHN_UNDEF || offsetOf(elf, address) === null) continue;
    const name = symbols.name(row);
    if (name === '' || functions.has(name) || indirect.has(name)) continue;
    if (type === STT_GNU_IFUNC) indirect.add(name);
    else functions.set(name, address);
  }
}

/**
 * The kernel wants the place in the file; symbols say where it is loaded:
 *
 *   segment   file  [ offset … offset + fileSize )   ->   memory  [ address … )
 */
function offsetOf(elf: ElfFile, address: number): number | null {
  for (const segment of elf.segments) {
    if (segment.type !== PT_LOAD || (segment.flags & PF_X) === 0) continue;
    const inside = address - segment.address;
    if (inside >= 0 && inside < segment.fileSize) return segment.offset + inside;
  }
  return null;
}
