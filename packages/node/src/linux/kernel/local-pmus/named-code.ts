/** All functions of one name, for who must not take one for another. */
import { readFileSync } from 'node:fs';
import {
  type ElfSymbols,
  SHN_UNDEF,
  SHT_DYNSYM,
  SHT_SYMTAB,
  STT_FUNC,
  STT_GNU_IFUNC,
  STT_NOTYPE,
} from '@counterpoint/core/elf';
import { symbolsOfDebugFile } from './probe-debug-file.ts';
import { offsetInFile, ProbeElf } from './probe-elf.ts';

export interface NamedCode {
  /** Where it begins: in a file its offset, of the kernel its address. */
  readonly start: bigint;
  /** 0: not known. */
  readonly sizeBytes: bigint;
  /** Other files may call it; a static function has no such name. */
  readonly isGlobal: boolean;
}

const BINDING_SHIFT = 4;
const STB_GLOBAL = 1;

/**
 * The functions of that name in a program or library, by address. Its own table, or that of its debug file.
 */
export function codeInFile(path: string, name: string): NamedCode[] {
  const file = ProbeElf.open(path);
  if (file === null) return [];
  try {
    const table = file.symbols(SHT_SYMTAB) ?? symbolsOfDebugFile(path, file);
    const found = table === null ? [] : codeInTable(file, table, name);
    if (found.length > 0) return found;
    const dynamic = file.symbols(SHT_DYNSYM);
    return dynamic === null ? [] : codeInTable(file, dynamic, name);
  } finally {
    file.close();
  }
}

function codeInTable({ segments }: ProbeElf, symbols: ElfSymbols, name: string): NamedCode[] {
  const found = new Map<number, NamedCode>();
  for (let row = 1; row < symbols.count; row++) {
    const type = symbols.info(row) & 0xf;
    if (type !== STT_FUNC && type !== STT_GNU_IFUNC && type !== STT_NOTYPE) continue;
    if (symbols.section(row) === SHN_UNDEF || symbols.name(row) !== name) continue;
    const start = offsetInFile(segments, symbols.value(row));
    if (start === null) continue;
    const isGlobal = symbols.info(row) >> BINDING_SHIFT === STB_GLOBAL;
    found.set(start, { start: BigInt(start), sizeBytes: BigInt(symbols.size(row)), isGlobal });
  }
  return [...found.values()].sort((one, other) => (one.start < other.start ? -1 : 1));
}

/**
 * A line of /proc/kallsyms that is a function, as perf takes it: address, type (a capital is global), name.
 */
const FUNCTION_LINE = /^([0-9a-f]+) ([tTwW]) (\S+)/;

/** The kernel's functions, with their real addresses; null: it hides them from us. */
export function readKernelCode(): KernelCode | null {
  let text: string;
  try {
    text = readFileSync('/proc/kallsyms', 'latin1');
  } catch {
    return null;
  }
  const code = new KernelCode(text);
  return code.isHidden ? null : code;
}

/** /proc/kallsyms, which has no sizes: a symbol reaches to the next one. */
export class KernelCode {
  readonly #lines: readonly string[];

  constructor(kallsyms: string) {
    this.#lines = kallsyms.split('\n');
  }

  /** Each address is 0 for those who may not know them (kptr_restrict). */
  get isHidden(): boolean {
    return !this.#lines.some((line) => addressOf(line) > 0n);
  }

  /** In the order of the list, which is that of addresses, modules last. */
  named(name: string): NamedCode[] {
    const found: NamedCode[] = [];
    for (const [at, line] of this.#lines.entries()) {
      const match = FUNCTION_LINE.exec(line);
      if (match?.[3] !== name) continue;
      const start = BigInt(`0x${match[1]}`);
      const isGlobal = match[2] === match[2]!.toUpperCase();
      found.push({ start, sizeBytes: this.#sizeFrom(at, start), isGlobal });
    }
    return found;
  }

  /** From the first function to the page behind the last one: nothing says where the last one ends. */
  whole(pageBytes: number): NamedCode | null {
    const addresses = this.#lines.filter((line) => FUNCTION_LINE.test(line)).map(addressOf);
    const start = addresses[0];
    if (start === undefined) return null;
    let last = start;
    for (const address of addresses) if (address > last) last = address;
    const page = BigInt(pageBytes);
    return { start, sizeBytes: ((last + page - 1n) / page) * page + page - start, isGlobal: true };
  }

  /** Names of the same place are passed over. */
  #sizeFrom(at: number, start: bigint): bigint {
    for (let next = at + 1; next < this.#lines.length; next++) {
      const line = this.#lines[next]!;
      if (line !== '' && addressOf(line) !== start) return addressOf(line) - start;
    }
    return 0n;
  }
}

function addressOf(line: string): bigint {
  const digits = /^[0-9a-f]+/.exec(line)?.[0];
  return digits === undefined ? 0n : BigInt(`0x${digits}`);
}
