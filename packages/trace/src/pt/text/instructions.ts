/**
 * A tiny assembler: the instructions that trace programs need, one row each (SDM vol. 2). No operands but
 * branch targets and small numbers: programs are never run, only walked.
 */

/** What stands behind the opcode. */
export type Operand =
  | 'none'
  /** Signed distance from the end of the instruction. */
  | 'rel8'
  /** The same in the width of the mode: 4 bytes, or 2 in 16-bit code. */
  | 'rel'
  | 'imm8'
  | 'imm16'
  | 'imm64';

/** How one mnemonic is assembled. */
export interface InstructionRow {
  /** Bytes that come first, ModRM included. */
  readonly opcode: readonly number[];
  /** What follows them. */
  readonly operand: Operand;
}

const CONDITIONS = 'o no b ae e ne be a s ns p np l ge le g'.split(' ');

function row(hex: string, operand: Operand = 'none'): InstructionRow {
  return { opcode: hex.split(' ').map((byte) => Number.parseInt(byte, 16)), operand };
}

/** Mnemonic -> bytes. `.near` is the long form of a branch; names ending in `i` are indirect, through rax. */
export const INSTRUCTIONS: ReadonlyMap<string, InstructionRow> = new Map([
  ['nop', row('90')],
  ['pause', row('f3 90')],
  ['test', row('85 c0')],
  ['inc', row('ff c0')],
  ['cpuid', row('0f a2')],
  ['movs', row('f3 a4')],
  ['hlt', row('f4')],
  ['ud2', row('0f 0b')],
  ['jmp', row('eb', 'rel8')],
  ['jmp.near', row('e9', 'rel')],
  ['jmpi', row('ff e0')],
  ['jmpabs', row('d5 00 a1', 'imm64')],
  ['call', row('e8', 'rel')],
  ['calli', row('ff d0')],
  ['ret', row('c3')],
  ['retn', row('c2', 'imm16')],
  ['retf', row('cb')],
  ['loop', row('e2', 'rel8')],
  ['jcxz', row('e3', 'rel8')],
  ...CONDITIONS.flatMap((name, code): [string, InstructionRow][] => [
    [`j${name}`, row((0x70 + code).toString(16), 'rel8')],
    [`j${name}.near`, row(`0f ${(0x80 + code).toString(16)}`, 'rel')],
  ]),
  ['int', row('cd', 'imm8')],
  ['int3', row('cc')],
  ['int1', row('f1')],
  ['iret', row('cf')],
  ['iretq', row('48 cf')],
  ['syscall', row('0f 05')],
  ['sysret', row('48 0f 07')],
  ['sysenter', row('0f 34')],
  ['sysexit', row('0f 35')],
  ['uiret', row('f3 0f 01 ec')],
  ['eretu', row('f3 0f 01 ca')],
  ['erets', row('f2 0f 01 ca')],
  ['rsm', row('0f aa')],
  ['mov_cr3', row('0f 22 d8')],
  ['ptwrite', row('f3 0f ae e0')],
  ['mwait', row('0f 01 c9')],
  ['xbegin', row('c7 f8', 'rel')],
  ['xend', row('0f 01 d5')],
  ['xabort', row('c6 f8', 'imm8')],
  ['vmcall', row('0f 01 c1')],
  ['vmlaunch', row('0f 01 c2')],
  ['vmresume', row('0f 01 c3')],
  ['vmptrld', row('0f c7 30')],
]);

export function operandBytes(operand: Operand, mode: number): number {
  switch (operand) {
    case 'none':
      return 0;
    case 'rel8':
    case 'imm8':
      return 1;
    case 'imm16':
      return 2;
    case 'rel':
      return mode === 16 ? 2 : 4;
    case 'imm64':
      return 8;
  }
}
