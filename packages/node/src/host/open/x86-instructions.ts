import {
  decodeInstruction,
  Instruction,
  KIND_MOV_CR3,
  KIND_OTHER,
  KIND_PTWRITE,
  MODE_32,
  MODE_64,
} from '@counterpoint/trace/instructions';

/** Tells x86 instructions apart, for the code between branches: core's `InstructionReader`. */
export class X86Instructions {
  readonly #instruction = new Instruction();

  get isBranch(): boolean {
    const { kind } = this.#instruction;
    return kind !== KIND_OTHER && kind !== KIND_PTWRITE && kind !== KIND_MOV_CR3;
  }

  lengthAt(bytes: Uint8Array, offset: number, end: number, is64Bit: boolean): number {
    const length = decodeInstruction(bytes, offset, end, is64Bit ? MODE_64 : MODE_32, this.#instruction);
    if (length > 0) return length;
    this.#instruction.kind = KIND_OTHER;
    return 0;
  }
}
