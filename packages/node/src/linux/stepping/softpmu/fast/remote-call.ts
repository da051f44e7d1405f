import { ptraceStep } from '../../../kernel/sys/index.ts';
import { ORIG_RAX, R8, R9, R10, RAX, RDI, RDX, RSI, TargetRegisters } from './target-registers.ts';

const ARGUMENTS = [RDI, RSI, RDX, R10, R8, R9];
const saved = new TargetRegisters();
const call = new TargetRegisters();

/**
 * Make a stopped thread do a system call, at a `syscall` instruction that it has anyway; afterwards its
 * registers are as before. `waitForStep` says false when the thread has ended meanwhile. `null` on errors.
 */
export function remoteCall(
  tid: number,
  instruction: number,
  number: number,
  args: readonly number[],
  waitForStep: (tid: number) => boolean,
): number | null {
  if (!saved.read(tid)) return null;
  call.words.set(saved.words);
  call.setPc(instruction);
  call.set(RAX, number);
  ARGUMENTS.forEach((register, index) => {
    setSigned(call, register, args[index] ?? 0);
  });
  setSigned(call, ORIG_RAX, -1);
  if (!call.write(tid) || !ptraceStep(tid, 0) || !waitForStep(tid) || !call.read(tid)) return null;
  saved.write(tid);
  return call.isError ? null : call.get(RAX);
}

function setSigned(registers: TargetRegisters, register: number, value: number): void {
  registers.words[2 * register] = value >>> 0;
  registers.words[2 * register + 1] = value < 0 ? 0xffff_ffff : Math.floor(value / 2 ** 32);
}
