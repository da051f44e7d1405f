/** Instructions as text, by Capstone (BSD licence), which is loaded when the first function is shown. */
import { createRequire } from 'node:module';
import { CounterpointError } from '@counterpoint/core/base';
import { EM_386, EM_AARCH64, EM_X86_64, MACHINE_NAMES } from '@counterpoint/core/elf';

export interface DisassembledInstruction {
  /** From the first byte. */
  readonly offset: number;
  readonly size: number;
  readonly mnemonic: string;
  readonly operands: string;
}

export type Syntax = 'att' | 'intel';

export interface Disassembler {
  /** All instructions of `code`; bytes that are none are shown as `(bad)` or `.inst`. */
  disassemble(code: Uint8Array, address: bigint): DisassembledInstruction[];
}

/** What is used of `@alexaltea/capstone-js`, which has no types. */
interface Capstone {
  Capstone: new (architecture: number, mode: number) => Handle;
  ARCH_X86: number;
  ARCH_ARM64: number;
  MODE_32: number;
  MODE_64: number;
  MODE_ARM: number;
  OPT_SYNTAX: number;
  OPT_SYNTAX_ATT: number;
}
interface Handle {
  option(option: number, value: number): void;
  disasm_iter(
    code: Uint8Array,
    address: bigint,
    each: (instruction: { size: number; mnemonic: string; op_str: string }) => void,
  ): number;
}

const PACKAGE = '@alexaltea/capstone-js';
let loaded: Promise<Capstone> | null = null;
const made = new Map<string, Disassembler>();

/** For code of an ELF machine. Throws where it is none that can be shown, or the library is missing. */
export async function disassemblerFor(machine: number, syntax: Syntax): Promise<Disassembler> {
  const key = `${machine} ${syntax}`;
  const known = made.get(key);
  if (known !== undefined) return known;
  const isArm = machine === EM_AARCH64;
  if (!isArm && machine !== EM_X86_64 && machine !== EM_386)
    throw new CounterpointError(
      'ERR_NO_DISASSEMBLER',
      `instructions of ${MACHINE_NAMES[machine] ?? `processor ${machine}`} cannot be shown`,
      'There is a disassembler for x86 and AArch64. report --sort srcline shows lines of any processor.',
    );
  const library = await (loaded ??= load());
  const handle = isArm
    ? new library.Capstone(library.ARCH_ARM64, library.MODE_ARM)
    : new library.Capstone(library.ARCH_X86, machine === EM_386 ? library.MODE_32 : library.MODE_64);
  if (!isArm && syntax === 'att') handle.option(library.OPT_SYNTAX, library.OPT_SYNTAX_ATT);
  const disassembler = new Sweep(handle, isArm);
  made.set(key, disassembler);
  return disassembler;
}

/** Begins to load it while something else is read; whoever needs it is told what went wrong. */
export function preloadDisassembler(): void {
  loaded ??= load();
  loaded.catch(() => {});
}

async function load(): Promise<Capstone> {
  // A variable: bundlers leave it to run time, where it may be absent.
  const name: string = PACKAGE;
  let start: () => Promise<Capstone>;
  try {
    start = createRequire(import.meta.url)(name) as () => Promise<Capstone>;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw error;
    throw new CounterpointError(
      'ERR_NO_DISASSEMBLER',
      `the disassembler (${PACKAGE}) is not installed`,
      `It is an optional dependency: npm install ${PACKAGE}, or install again with --include=optional.`,
    );
  }
  return await start();
}

/** From the first byte to the last; where bytes are no instruction, on from the next possible place. */
class Sweep implements Disassembler {
  readonly #handle: Handle;
  readonly #isArm: boolean;

  constructor(handle: Handle, isArm: boolean) {
    this.#handle = handle;
    this.#isArm = isArm;
  }

  disassemble(code: Uint8Array, address: bigint): DisassembledInstruction[] {
    const found: DisassembledInstruction[] = [];
    let offset = 0;
    while (offset < code.length) {
      this.#handle.disasm_iter(
        code.subarray(offset),
        address + BigInt(offset),
        ({ size, mnemonic, op_str: operands }) => {
          found.push({ offset, size, mnemonic, operands });
          offset += size;
        },
      );
      if (offset >= code.length) break;
      const size = Math.min(this.#isArm ? 4 : 1, code.length - offset);
      found.push({ offset, size, ...this.#invalid(code, offset) });
      offset += size;
    }
    return found;
  }

  #invalid(code: Uint8Array, offset: number): { mnemonic: string; operands: string } {
    if (!this.#isArm || offset + 4 > code.length) return { mnemonic: '(bad)', operands: '' };
    const word = new DataView(code.buffer, code.byteOffset + offset, 4).getUint32(0, true);
    return { mnemonic: '.inst', operands: `0x${word.toString(16).padStart(8, '0')}` };
  }
}
