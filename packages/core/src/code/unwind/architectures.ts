import { EM_386, EM_AARCH64, EM_X86_64 } from '../elf/index.ts';

/** How programs of one architecture call, in the register numbers of its DWARF. */
export interface Architecture {
  /** ELF's number of the machine. */
  readonly machine: number;
  readonly pointerBytes: 4 | 8;
  /** Which bit of `sample_regs_user` has each DWARF register (asm/perf_regs.h); -1 where none has. */
  readonly perfRegisters: Int8Array;
  readonly stackPointer: number;
  readonly framePointer: number;
  /** Where the address of the code that runs is kept. On x86 it is also the column of return addresses. */
  readonly programCounter: number;
  /** Arm: a caller's address is in a register until the function saves it; -1 elsewhere. */
  readonly linkRegister: number;
  /** Addresses of code are below it. What a return address has above are bits that sign it (Arm's PAC). */
  readonly codeLimit: number;
  /** The lowest bytes that a frame with a frame pointer has below the caller's: the saved pair. */
  readonly framePairBytes: number;
  /**
   * The frame of a signal is known by its content (`i386-signal-frame.ts`), where nothing else tells that the
   * code returns from a handler. Elsewhere frame information always tells it.
   */
  readonly hasSignalContent: boolean;
}

/**
 * ax dx cx bx si di bp sp r8 ... r15 ip, by DWARF's numbers (System V ABI, AMD64 supplement, figure 3.36).
 */
export const X86_64: Architecture = {
  machine: EM_X86_64,
  pointerBytes: 8,
  perfRegisters: /* @__PURE__ */ Int8Array.of(0, 3, 2, 1, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23, 8),
  stackPointer: 7,
  framePointer: 6,
  programCounter: 16,
  linkRegister: -1,
  codeLimit: 2 ** 47,
  framePairBytes: 16,
  hasSignalContent: false,
};

/** ax cx dx bx sp bp si di ip (System V ABI, Intel386 supplement, table 2.14). */
export const I386: Architecture = {
  machine: EM_386,
  pointerBytes: 4,
  perfRegisters: /* @__PURE__ */ Int8Array.of(0, 2, 3, 1, 7, 6, 4, 5, 8),
  stackPointer: 4,
  framePointer: 5,
  programCounter: 8,
  linkRegister: -1,
  codeLimit: 2 ** 32,
  framePairBytes: 8,
  hasSignalContent: true,
};

/** x0 ... x30, sp, pc (DWARF for the Arm 64-bit architecture, section 4.1). */
export const ARM64: Architecture = {
  machine: EM_AARCH64,
  pointerBytes: 8,
  perfRegisters: /* @__PURE__ */ Int8Array.from({ length: 33 }, (_, register) => register),
  stackPointer: 31,
  framePointer: 29,
  programCounter: 32,
  linkRegister: 30,
  codeLimit: 2 ** 48,
  framePairBytes: 16,
  hasSignalContent: false,
};
