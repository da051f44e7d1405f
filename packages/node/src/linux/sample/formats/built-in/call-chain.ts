/**
 * The call chain of an overflow, written by its handler as the kernel's own records have it, with its hash.
 */
import { BPF_F_USER_STACK, PERF_CONTEXT_KERNEL, PERF_CONTEXT_USER } from '@counterpoint/core/abi';
import {
  type BpfAssembler,
  type MemoryOperand,
  r0,
  r1,
  r2,
  r3,
  r4,
  r5,
  r9,
  u64,
} from '../../../kernel/bpf/index.ts';
import { mixWord } from './mix-word.ts';
import { ifWalkable, walkUserFrames } from './user-frames.ts';

/** The mark and the address; callers begin behind it. */
export const HEAD_WORDS = 2;
/** A chain may have a mark for each of its parts, beside its frames. */
export const MARKS = 2;

/** Whose chain: only what was interrupted in the kernel has a part of the kernel. */
export interface ChainParts {
  readonly isUserMode: MemoryOperand;
  readonly hasKernelPart: boolean;
  /**
   * The kernel finds the chain for its record (PERF_SAMPLE_CALLCHAIN), marks and all; else
   * it is asked, or we find it.
   */
  readonly isFoundByKernel: boolean;
}

interface ChainPlace {
  /** Holds the address of the chain, which is in r9 too: its length, then its words. */
  readonly chain: MemoryOperand;
  /** The number of the half that counts. */
  readonly half: MemoryOperand;
  /** The most words, marks and all. */
  readonly depth: number;
  readonly parts: ChainParts;
}

/** The chain behind its length; its hash into r1, never 0. Calls: loses r0 to r5 and r9. */
export function writeChain(asm: BpfAssembler, place: ChainPlace): void {
  const { depth, parts } = place;
  const ask = () => {
    askForChain(asm, place);
    hashChain(asm, depth, parts);
  };
  if (parts.isFoundByKernel) ask();
  else ifWalkable(asm, () => walkChain(asm, place), ask);
  // 0 is a free place.
  asm.or(r1, 1);
}

/** What was interrupted in user space. */
function walkChain(asm: BpfAssembler, { chain, half, depth }: ChainPlace): void {
  asm.move(r1, markOf(PERF_CONTEXT_USER));
  asm.store(u64(r9, 8), r1);
  asm.loadContext(r1, 'ip');
  asm.store(u64(r9, 16), r1);
  walkUserFrames(asm, {
    half,
    to: chain,
    offsetBytes: 8 + 8 * HEAD_WORDS,
    mostCallers: depth - MARKS - 1,
  });
  asm.load(r3, chain);
  asm.add(r1, HEAD_WORDS);
  asm.store(u64(r3, 0), r1);
  mixWord(asm, r1, r2, r3);
}

/** The length is in r0, too; r4 is where the chain begins. */
function askForChain(asm: BpfAssembler, { chain, depth, parts }: ChainPlace): void {
  const { isUserMode, hasKernelPart, isFoundByKernel } = parts;
  const kernelBytes = asm.stack('kernel part', 8);
  // Where it finds the chain, the kernel counts frames; and else words, of each part.
  const words = isFoundByKernel ? depth : depth - MARKS;
  const getPart = (mark: number, flags: number) => {
    if (!isFoundByKernel) {
      asm.move(r1, markOf(mark));
      asm.store(u64(r9, 0), r1);
    }
    asm.call('get_stack', asm.context, u64(r9, isFoundByKernel ? 0 : 8), 8 * words, flags);
    // A thread of the kernel has no part of user space.
    asm.if(r0, 's<', 0, () => asm.move(r0, 0));
    if (!isFoundByKernel) asm.if(r0, '!=', 0, () => asm.add(r0, 8));
  };
  asm.add(r9, 8);
  asm.move(r0, 0);
  asm.load(r1, isUserMode);
  if (hasKernelPart) asm.if(r1, '==', 0, () => getPart(PERF_CONTEXT_KERNEL, 0));
  asm.store(kernelBytes, r0);
  asm.add(r9, r0);
  getPart(PERF_CONTEXT_USER, BPF_F_USER_STACK);
  asm.load(r1, kernelBytes);
  asm.add(r0, r1);
  asm.shiftRight(r0, 3);
  asm.if(r0, '>', depth, () => asm.move(r0, depth));
  asm.load(r4, chain);
  asm.store(u64(r4, 0), r0);
  asm.add(r4, 8);
}

const markOf = (mark: number) => BigInt.asUintN(64, BigInt(mark));

/**
 * Into r1. The second word is left out where it is the interrupted address, and not a caller: one chain
 * serves all addresses of a function. r0 is the length, r4 where it begins.
 */
function hashChain(asm: BpfAssembler, depth: number, { isUserMode, hasKernelPart }: ChainParts): void {
  const addWord = (at: number) => {
    asm.load(r2, u64(r4, 8 * at));
    mixWord(asm, r1, r2, r3);
  };
  asm.move(r1, r0);
  asm.if(r0, '>', 1, () => {
    addWord(0);
    if (hasKernelPart) return;
    asm.load(r2, isUserMode);
    asm.if(r2, '==', 0, () => addWord(1));
  });
  asm.repeat(r9, depth, (loop) => {
    asm.move(r5, r9);
    asm.add(r5, HEAD_WORDS);
    asm.if(r5, '>=', r0, () => loop.break());
    addWord(HEAD_WORDS);
    asm.add(r4, 8);
  });
}
