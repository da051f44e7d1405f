import { closeSync, openSync } from 'node:fs';
import { LONGEST_INSTRUCTION } from '@counterpoint/trace/instructions';
import { ptraceRegisters, readTargetMemory } from '../../kernel/sys/index.ts';
import { InstructionCache, type NextInstruction } from './next-instruction.ts';
import { Registers } from './registers.ts';

/** Addresses above are the kernel's, and its vsyscall page, whose code cannot be read so. */
const USER_END = 2 ** 47;
/** The instruction that kernels and debuggers put where a program is to stop. */
const INT3 = 0xcc;

/** Reads what stopped threads execute next. */
export class TargetReader {
  readonly #registers = new Registers();
  readonly #cache = new InstructionCache();
  readonly #bytes = new Uint8Array(LONGEST_INSTRUCTION);
  /** Open /proc/TID/mem by thread. Threads of a process have one each: it ends with them. */
  readonly #memory = new Map<number, number>();

  /** What a program has where its memory shows a breakpoint of ours; null: none is there. */
  hiddenByte: (tid: number, address: number) => number | null = () => null;

  /** Those of the thread that was read last. */
  get registers(): Registers {
    return this.#registers;
  }

  /** The program counter of a stopped thread, and its next instruction; `null` when it is gone. */
  read(tid: number): { pc: number; next: NextInstruction } | null {
    const registers = this.#registers;
    if (!ptraceRegisters(tid, registers.words)) return null;
    const { pc, nextPc, is32Bit } = registers;
    const bytes = this.#bytes.subarray(0, this.#readMemory(tid, nextPc));
    return { pc, next: this.#cache.at(nextPc, bytes, is32Bit) };
  }

  /** The instruction at an address of a thread that was read just now. */
  instructionAt(tid: number, pc: number): NextInstruction {
    const bytes = this.#bytes.subarray(0, this.#readMemory(tid, pc));
    return this.#cache.at(pc, bytes, this.#registers.is32Bit);
  }

  /** Its memory is another one now (exec), or it is gone. */
  forget(tid: number): void {
    const fd = this.#memory.get(tid);
    if (fd === undefined) return;
    this.#memory.delete(tid);
    closeSync(fd);
  }

  /** The low 32 bits of what is at `address`, 0 when it cannot be read. */
  readWord(tid: number, address: number): number {
    const size = this.#readMemory(tid, address);
    return size < 4 ? 0 : new DataView(this.#bytes.buffer).getUint32(0, true);
  }

  /** What is at `address`, as an address; 0 when it cannot be read. */
  readAddress(tid: number, address: number): number {
    const size = this.#readMemory(tid, address);
    return size < 8 ? 0 : Number(new DataView(this.#bytes.buffer).getBigUint64(0, true));
  }

  #readMemory(tid: number, pc: number): number {
    if (pc >= USER_END) return 0;
    let fd = this.#memory.get(tid);
    if (fd === undefined) {
      try {
        fd = openSync(`/proc/${tid}/mem`, 'r');
      } catch {
        return 0;
      }
      this.#memory.set(tid, fd);
    }
    const size = readTargetMemory(fd, pc, this.#bytes);
    if (size > 0 && this.#bytes[0] === INT3) this.#bytes[0] = this.hiddenByte(tid, pc) ?? INT3;
    return size;
  }
}
