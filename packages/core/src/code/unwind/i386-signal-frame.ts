import type { StackMemory } from './stack-memory.ts';

/**
 * What the kernel puts on the stack of a 32-bit program when a signal interrupts it (asm/sigframe.h,
 * uapi/asm/sigcontext.h). The handler returns to `pretcode`, some instructions in the vdso or the C library:
 *
 *   struct sigframe_ia32        struct rt_sigframe_ia32 (SA_SIGINFO)
 *     0 pretcode                  0 pretcode
 *     4 sig                       4 sig
 *     8 registers                 8 pointer to info
 *    96 ...                      12 pointer to uc
 *   724 retcode                  16 info
 *                               144 uc: 20 bytes, registers (at 164), mask
 *
 * The frame information of those instructions is seldom at hand: the vdso of 32-bit programs is in no file.
 * The frame tells by itself what it is: `info` and `uc` are where their pointers say; and nobody runs
 * `retcode` any more, but the kernel writes it all the same, for debuggers to know the frame by.
 */
const REGISTERS_AT = 8;
const RETCODE_AT = 724;
const RT_INFO_POINTER_AT = 8;
const RT_CONTEXT_POINTER_AT = 12;
const RT_INFO_AT = 16;
const RT_CONTEXT_AT = 144;
const RT_REGISTERS_AT = 164;
const REGISTERS_BYTES = 88;

/** `pop %eax; mov $__NR_sigreturn, %eax; int $0x80`, as two words. */
const RETCODE_FIRST = 0x0077_b858;
const RETCODE_SECOND = 0x80cd_0000;

/** Where `struct sigcontext_32` has ax cx dx bx sp bp si di ip: the order of DWARF's numbers. */
const REGISTER_PLACES = /* @__PURE__ */ Int32Array.of(44, 40, 36, 32, 28, 24, 20, 16, 56);
const STACK_POINTER = 4;
const WORD = 4;

/**
 * Whether the stack is that of a handler which has returned to `pretcode`: then `registers` are those of what
 * the signal interrupted.
 */
export function leaveI386Signal(memory: StackMemory, registers: Float64Array): boolean {
  const saved = savedRegisters(memory, registers[STACK_POINTER]!);
  if (saved === null) return false;
  REGISTER_PLACES.forEach((place, register) => {
    registers[register] = memory.word(saved + place, WORD);
  });
  return true;
}

function savedRegisters(memory: StackMemory, stackPointer: number): number | null {
  // `pretcode` was popped.
  const frame = stackPointer - WORD;
  if (isRtFrame(memory, frame)) return frame + RT_REGISTERS_AT;
  if (isFrame(memory, frame)) return frame + REGISTERS_AT;
  // The first instruction of `pretcode` pops `sig`.
  return isFrame(memory, frame - WORD) ? frame - WORD + REGISTERS_AT : null;
}

function isRtFrame(memory: StackMemory, frame: number): boolean {
  return (
    memory.holds(frame + RT_INFO_POINTER_AT, RT_REGISTERS_AT + REGISTERS_BYTES - RT_INFO_POINTER_AT) &&
    memory.word(frame + RT_INFO_POINTER_AT, WORD) === frame + RT_INFO_AT &&
    memory.word(frame + RT_CONTEXT_POINTER_AT, WORD) === frame + RT_CONTEXT_AT
  );
}

function isFrame(memory: StackMemory, frame: number): boolean {
  return (
    memory.holds(frame + REGISTERS_AT, RETCODE_AT + 2 * WORD - REGISTERS_AT) &&
    memory.word(frame + RETCODE_AT, WORD) === RETCODE_FIRST &&
    memory.word(frame + RETCODE_AT + WORD, WORD) === RETCODE_SECOND
  );
}
