/**
 * Registers as samples number them: bit n of `sample_regs_intr` and `sample_regs_user`
 * (asm/perf_regs.h); null where no register is.
 */
import type { BpfArchitecture } from './bpf-contexts.ts';

const named = (names: string): readonly (string | null)[] =>
  names.split(' ').map((name) => (name === '-' ? null : name));

/**
 * By the names of the kernel's `struct pt_regs`. The segment registers of 32-bit
 * code are not sampled on x86-64.
 */
export const PERF_REGISTERS: Readonly<Record<BpfArchitecture, readonly (string | null)[]>> = {
  x64: named('ax bx cx dx si di bp sp ip flags cs ss - - - - r8 r9 r10 r11 r12 r13 r14 r15'),
  arm64: [...Array.from({ length: 31 }, (_, index) => `x${index}`), 'sp', 'pc'],
};
