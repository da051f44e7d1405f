import { KIND_OTHER } from '@counterpoint/trace/instructions';
import type { NextInstruction } from './next-instruction.ts';

/** More in a row were never seen; code that cannot be followed is not guessed at. */
const MOST_UNSEEN = 4;

/**
 * Instructions that ran behind `done` without a stop of their own, in order. A hypervisor executes cpuid for
 * its guest, and some lose the trap of the step with it (seen in a guest of PVM on AMD EPYC, of cpuid, not of
 * rdtsc, rdtscp and xgetbv). The trap comes one instruction later:
 *
 *     stop ─> cpuid ─ no trap ─> next ─> stop     at `pc`, which is not right behind cpuid
 *
 * Only behind cpuid: the kernel moves threads, too, such as out of a restartable sequence (rseq).
 * Empty if `pc` is not reached so.
 */
export function unseenSteps(
  done: NextInstruction,
  pc: number,
  instructionAt: (pc: number) => NextInstruction,
): readonly NextInstruction[] {
  let behind = done.pc + done.length;
  if (pc === behind || !done.isCpuid) return NONE;
  const unseen: NextInstruction[] = [];
  while (unseen.length < MOST_UNSEEN) {
    const next = instructionAt(behind);
    if (!next.isKnown) return NONE;
    unseen.push(next);
    behind += next.length;
    if (behind === pc || next.kind !== KIND_OTHER) return unseen;
  }
  return NONE;
}

const NONE: readonly NextInstruction[] = [];
