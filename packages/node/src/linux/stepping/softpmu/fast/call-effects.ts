import {
  CALL_ARCH_PRCTL,
  CALL_CLONE3,
  CALL_EXECVE,
  CALL_EXECVEAT,
  CALL_MMAP,
  CALL_MREMAP,
  CHANGES_MEMORY,
} from '../../code-cache/index.ts';
import type { TargetReader } from '../target-reader.ts';
import { RAX, RDI, RSI, type TargetRegisters } from './target-registers.ts';
import { makesProcess, type SystemCall, type TracedThread } from './traced-thread.ts';

const ARCH_SHSTK_ENABLE = 0x5001;
const ALL_MEMORY = { start: 0, size: 2 ** 47 };

/** The system call that `thread` is about to be stepped into. */
export function readCall(thread: TracedThread, registers: TargetRegisters, reader: TargetReader): SystemCall {
  const isOther = thread.next!.pc !== registers.nextPc || thread.next!.isOldCall;
  const number = isOther ? -1 : registers.get(RAX);
  const first = registers.get(RDI);
  const flags = number === CALL_CLONE3 ? reader.readWord(thread.tid, first) : 0;
  return { number, first, second: registers.get(RSI), cloneFlags: flags };
}

/** Afterwards its counters may be gone, or in two memories. */
export function endsCounters({ number }: SystemCall): boolean {
  return number === -1 || number === CALL_EXECVE || number === CALL_EXECVEAT || makesProcess(number);
}

/** It has shadow stacks from now on: returns go where those say, and not by our jumps. */
export function startsShadowStack({ number, first }: SystemCall): boolean {
  return number === CALL_ARCH_PRCTL && first === ARCH_SHSTK_ENABLE;
}

/** Where memory is another one after a call that was successful. */
export function changedMemory(
  { number, first, second }: SystemCall,
  registers: TargetRegisters,
): { start: number; size: number } | null {
  if (number !== -1 && !CHANGES_MEMORY.has(number)) return null;
  if (number === CALL_MREMAP || number === -1 || second === 0) return ALL_MEMORY;
  return { start: number === CALL_MMAP ? registers.get(RAX) : first, size: second };
}
