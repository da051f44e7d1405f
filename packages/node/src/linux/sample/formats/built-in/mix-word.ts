import type { BpfAssembler, Register } from '../../../kernel/bpf/index.ts';

/** 2^64 divided by the golden ratio: neighbouring numbers are spread over all. */
export const MULTIPLIER = 0x9e3779b97f4a7c15n;

/**
 * A word into a hash that depends on the order of all. Its high bits come down each time: else the highest of
 * two words would cancel each other. `word` and `scratch` are lost.
 */
export function mixWord(asm: BpfAssembler, hash: Register, word: Register, scratch: Register): void {
  asm.xor(hash, word);
  asm.move(scratch, MULTIPLIER);
  asm.multiply(hash, scratch);
  asm.move(word, hash);
  asm.shiftRight(word, 32);
  asm.xor(hash, word);
}
