import { CounterpointError, hiOf, loOf } from '@counterpoint/core/base';
import { PT_LOAD } from '@counterpoint/core/elf';
import type { CodeImage } from '../../../code/image/index.ts';
import { Instruction, MODE_32, MODE_64 } from '../../../code/instructions/index.ts';
import type { ProgramFile } from './program-file.ts';

/** Bytes that are no code, such as tables between functions, are gone over one by one. */
const NO_CODE_STEP = 1;
/**
 * Symbols and lines overlap here and there (aliases, identical functions that were merged); a
 * file where all do is damaged.
 */
const MOST_READINGS = 16;
const FREE_BYTES = 1 << 20;

/**
 * Walks over the code of a file, whether it was executed or not. It starts wherever symbols or
 * lines say that there is code.
 */
export class CodeWalk {
  readonly #image: CodeImage;
  readonly #file: ProgramFile;
  readonly #mode: number;
  /** From and to of what the file has bytes for. */
  readonly #loaded: readonly (readonly [from: number, to: number])[];
  readonly #instruction = new Instruction();
  #leftBytes: number;

  constructor(image: CodeImage, file: ProgramFile) {
    const { elf } = file;
    this.#image = image;
    this.#file = file;
    this.#mode = elf.is64 ? MODE_64 : MODE_32;
    this.#loaded = elf.segments
      .filter((one) => one.type === PT_LOAD && one.fileSize > 0 && one.offset < elf.source.size)
      .map(({ address, fileSize, offset }) => [
        address,
        address + Math.min(fileSize, elf.source.size - offset),
      ]);
    this.#leftBytes = FREE_BYTES + elf.source.size * MOST_READINGS;
  }

  /** Calls `visit` for every instruction from one address of the file to another: one after the other. */
  go(from: number, to: number, visit: (address: number, instruction: Readonly<Instruction>) => void): void {
    for (const [first, end] of this.#loaded)
      if (from < end && to > first) this.#goLoaded(Math.max(from, first), Math.min(to, end), visit);
  }

  #goLoaded(
    from: number,
    to: number,
    visit: (address: number, instruction: Readonly<Instruction>) => void,
  ): void {
    this.#leftBytes -= to - from;
    if (this.#leftBytes < 0)
      throw new CounterpointError(
        'ERR_SYMBOLS_OVERLAP',
        `${this.#file.name}: its symbols or lines describe each byte more than ${MOST_READINGS} times`,
        'The file is damaged: use the original from the compiler.',
      );
    const instruction = this.#instruction;
    for (let at = from; at < to; ) {
      const inMemory = BigInt.asUintN(64, BigInt(at) + this.#file.bias);
      const size = this.#image.decode(loOf(inMemory) | 0, hiOf(inMemory) | 0, this.#mode, instruction);
      if (size > 0) visit(at, instruction);
      at += size > 0 ? size : NO_CODE_STEP;
    }
  }
}
