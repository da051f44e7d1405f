/**
 * What a program is given when it runs, by program type and architecture: the offset of each field in the
 * context that r1 points to at the start.
 */

/** `struct pt_regs` of x86-64 (asm/ptrace.h): 21 words. */
const X64_REGISTERS = [
  'r15',
  'r14',
  'r13',
  'r12',
  'bp',
  'bx',
  'r11',
  'r10',
  'r9',
  'r8',
  'ax',
  'cx',
  'dx',
  'si',
  'di',
  'orig_ax',
  'ip',
  'cs',
  'flags',
  'sp',
  'ss',
] as const;

/** `struct user_pt_regs` of arm64 (asm/ptrace.h): x0-x30, sp, pc, pstate. */
const ARM64_REGISTERS = [
  ...Array.from({ length: 31 }, (_, index) => `x${index}`),
  'sp',
  'pc',
  'pstate',
] as const;

export type BpfArchitecture = 'x64' | 'arm64';

/** The registers that a program is given on one architecture. */
export interface BpfRegisterFile {
  /** Names in the order in which the kernel keeps them, eight bytes each. */
  readonly registers: readonly string[];
  /** Names for what every architecture has. */
  readonly aliases: Readonly<Record<string, string>>;
}

/**
 * The registers that a perf-event or kprobe program is given, with the names
 * that hold for every architecture.
 */
export const BPF_REGISTER_FILES: Readonly<Record<BpfArchitecture, BpfRegisterFile>> = {
  x64: {
    registers: X64_REGISTERS,
    // The System V calling convention, as the kernel's own functions are called.
    aliases: {
      framePointer: 'bp',
      returnValue: 'ax',
      arg1: 'di',
      arg2: 'si',
      arg3: 'dx',
      arg4: 'cx',
      arg5: 'r8',
      arg6: 'r9',
    },
  },
  arm64: {
    registers: ARM64_REGISTERS,
    aliases: {
      ip: 'pc',
      framePointer: 'x29',
      linkRegister: 'x30',
      returnValue: 'x0',
      arg1: 'x0',
      arg2: 'x1',
      arg3: 'x2',
      arg4: 'x3',
      arg5: 'x4',
      arg6: 'x5',
      arg7: 'x6',
      arg8: 'x7',
    },
  },
};

/** What follows the registers in `struct bpf_perf_event_data` (linux/bpf_perf_event.h), eight bytes each. */
export const BPF_PERF_EVENT_DATA_FIELDS = ['samplePeriod', 'address'] as const;

/**
 * The most arguments of a raw tracepoint (`MAX_BPF_FUNC_REG_ARGS` of the
 * kernel's trace macros): `u64 args[]`.
 */
export const BPF_RAW_TRACEPOINT_ARGUMENTS = 12;

/**
 * The first bytes of a tracepoint's record are not a program's to read: the kernel keeps a pointer of its own
 * there (`tp_prog_is_valid_access`), so the fields that all tracepoints have are out of reach.
 */
export const BPF_TRACEPOINT_HIDDEN_BYTES = 8;

/** Bits of `cs` on x86-64 that are not 0 where user code was interrupted: the privilege level. */
export const X64_PRIVILEGE_MASK = 3;
/** `cs` of user code of 64 bits (`__USER_CS` of asm/segment.h); of 32 bits it is another. */
export const X64_USER_CODE_SEGMENT = 0x33;
/** Bits of `pstate` on arm64 that are 0 where user code was interrupted: the exception level. */
export const ARM64_EXCEPTION_LEVEL_MASK = 15;
