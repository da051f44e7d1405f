/** Where instructions jump to, told by their text, which is the same for both processors' jumps. */
import type { DisassembledInstruction } from './disassembler.ts';

/**
 * Jumps of x86 (`je`, `jmp`, `jrcxz`, `loop`, `xbegin`) and AArch64 (`b`, `b.eq`, `cbz`, `tbnz`, `bc.eq`).
 */
const JUMP = /^(?:(?:notrack |bnd )?j\w+|loop\w*|xbegin|bc?|bc?\.\w+|cbn?z|tbn?z)(?:,p[nt])?$/;
const CALL = /^(?:callq?|calll|bl)$/;
/** The last operand: an address. x86 writes it bare, AArch64 with a number sign. */
const TARGET = /^(.*?(?:^|, ))#?(?:0x([0-9a-f]+)|(\d+))$/;

export interface BranchTarget {
  readonly isCall: boolean;
  readonly address: bigint;
  /** The operands before the address: `x0, ` of `cbz x0, 0x40`. */
  readonly before: string;
}

/** Null for what is no branch, and for branches whose target is in a register or in memory. */
export function branchTarget({ mnemonic, operands }: DisassembledInstruction): BranchTarget | null {
  const isCall = CALL.test(mnemonic);
  if (!isCall && !JUMP.test(mnemonic)) return null;
  const found = TARGET.exec(operands);
  if (found === null) return null;
  const [, before = '', hex, decimal] = found;
  return { isCall, before, address: BigInt(hex === undefined ? decimal! : `0x${hex}`) };
}
