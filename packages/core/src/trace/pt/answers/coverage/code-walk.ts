import { hiOf, loOf } from '../../../../base/index.ts';
import type { CodeImage } from '../../../image/index.ts';
import { Instruction, MODE_32, MODE_64 } from '../../../insn/index.ts';
import type { ProgramFile } from './program-file.ts';

/** Bytes that are no code, such as tables between functions, are gone over one by one. */
const NO_CODE_STEP = 1;

/** Calls `visit` for every instruction from one address of the file to another, executed or not: one after the other. */
export function walkCode(
  image: CodeImage,
  file: ProgramFile,
  from: number,
  to: number,
  visit: (address: number, instruction: Readonly<Instruction>) => void,
): void {
  const instruction = new Instruction();
  const mode = file.elf.is64 ? MODE_64 : MODE_32;
  for (let at = from; at < to; ) {
    const inMemory = BigInt.asUintN(64, BigInt(at) + file.bias);
    const size = image.decode(loOf(inMemory) | 0, hiOf(inMemory) | 0, mode, instruction);
    if (size > 0) visit(at, instruction);
    at += size > 0 ? size : NO_CODE_STEP;
  }
}
