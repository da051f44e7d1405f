import type { Diagnostic } from '../../base/index.ts';
import { EM_X86_64 } from '../elf/index.ts';
import type { SymbolDriver } from '../symbols/index.ts';
import { X86_64 } from './architectures.ts';
import { REGISTER_AT_OFFSET, type UnwindRule } from './call-frame-program.ts';
import { loadUnwindBinary, type UnwindBinary, type WantedBinary } from './unwind-binary.ts';

const WORD = 8;

/**
 * At which instructions the return address is at the top of the stack: a function that builds no frame, or
 * has not built it yet, or has left it already. The frame information of binaries of x86-64 tells it:
 *
 *     exp    0: movq %xmm0,%rax     frame at sp+8, return address at sp
 *            ...
 *     pow   5f: push %rbp           frame at sp+8
 *           60: mov %rsp,%rbp       frame at sp+16
 *           63: push %rbx           frame at bp+16
 */
export class FramelessCode {
  readonly #driver: SymbolDriver;
  /** By number of the caller's. */
  readonly #loaded = new Map<number, UnwindBinary | null>();

  constructor(driver: SymbolDriver) {
    this.#driver = driver;
  }

  /** What cannot be read tells nothing: the driver and the names of its functions say so. */
  async load(binary: number, wanted: WantedBinary): Promise<void> {
    const unsaid: Diagnostic[] = [];
    if (!this.#loaded.has(binary))
      this.#loaded.set(binary, await loadUnwindBinary(wanted, this.#driver, unsaid));
  }

  /** `fileOffset`: of an instruction that was about to run. */
  hasCallerAtTop(binary: number, fileOffset: number): boolean {
    const loaded = this.#loaded.get(binary) ?? null;
    if (loaded === null || loaded.machine !== EM_X86_64) return false;
    const rule = loaded.ruleAt(fileOffset);
    return rule !== null && isCallerAtTop(rule);
  }
}

function isCallerAtTop({
  cfaRegister,
  cfaOffset,
  registers,
  returnColumn,
  isSignalFrame,
}: UnwindRule): boolean {
  if (cfaRegister !== X86_64.stackPointer || cfaOffset !== WORD || isSignalFrame) return false;
  for (let at = 0; at < registers.length; at += 3)
    if (registers[at] === returnColumn)
      return registers[at + 1] === REGISTER_AT_OFFSET && registers[at + 2] === -WORD;
  return false;
}
