/**
 * What an instruction does to the flow of control, as far as a branch trace must know. Plain numbers,
 * so that bundles inline them; the order of KIND_ values is used: everything from KIND_CALL on
 * changes or may change the flow.
 */

/**
 * Execution modes, by the size of an address the code works with: Intel PT's
 * MODE.Exec says the same with two bits. This one: 16-bit code.
 */
export const MODE_16 = 0;
/** 32-bit code: a protected-mode or compatibility-mode segment. */
export const MODE_32 = 1;
/** 64-bit code: what nearly all programs and kernels are today. */
export const MODE_64 = 2;

/** Negative results of `decodeInstruction`. The bytes end inside the instruction. */
export const INSN_TRUNCATED = -1;
/** No CPU executes these bytes in this mode: #UD, or longer than 15 bytes. */
export const INSN_INVALID = -2;

/** SDM vol. 2, section 2.3.11: a longer instruction is a general protection fault. */
export const LONGEST_INSTRUCTION = 15;

/** Goes on with the next instruction. */
export const KIND_OTHER = 0;
/** As KIND_OTHER, but Intel PT writes a packet for it: PTW. */
export const KIND_PTWRITE = 1;
/** As KIND_OTHER, but Intel PT may write a PIP. */
export const KIND_MOV_CR3 = 2;
/** Near call to `ip + length + displacement`. */
export const KIND_CALL = 3;
/** Near call whose target only the trace knows. */
export const KIND_CALL_INDIRECT = 4;
/** Near return. */
export const KIND_RETURN = 5;
/** Jump to `ip + length + displacement`. */
export const KIND_JUMP = 6;
/**
 * Jump whose target comes from the trace. Includes JMPABS: its target is in its bytes,
 * but the CPU sends a TIP for it.
 */
export const KIND_JUMP_INDIRECT = 7;
/** Jcc, JCXZ and LOOP: to `ip + length + displacement`, or on. */
export const KIND_CONDITIONAL = 8;
/**
 * Into the kernel, a handler, the hypervisor: SYSCALL, SYSENTER, INT n, INT3, INT1, INTO, far CALL, VMCALL.
 */
export const KIND_FAR_CALL = 9;
/**
 * Back from there: IRET, SYSRET, SYSEXIT, far RET, RSM, UIRET, ERETS, ERETU; and VMLAUNCH,
 * VMRESUME, which go back into a guest.
 */
export const KIND_FAR_RETURN = 10;
/** Far jump (JMP to another code segment): its target comes from the trace. */
export const KIND_FAR_JUMP = 11;

/** Names for people and for tests, by value. */
export const KIND_NAMES: readonly string[] = [
  'other',
  'ptwrite',
  'mov cr3',
  'call',
  'indirect call',
  'return',
  'jump',
  'indirect jump',
  'conditional jump',
  'far call',
  'far return',
  'far jump',
];

/** Finer classes: the instructions that a trace decoder must tell from others of their kind. */
export const DETAIL_NONE = 0;
export const DETAIL_INT = 1;
export const DETAIL_INT3 = 2;
export const DETAIL_INT1 = 3;
export const DETAIL_INTO = 4;
export const DETAIL_SYSCALL = 5;
export const DETAIL_SYSENTER = 6;
export const DETAIL_SYSRET = 7;
export const DETAIL_SYSEXIT = 8;
export const DETAIL_IRET = 9;
export const DETAIL_UIRET = 10;
export const DETAIL_ERETS = 11;
export const DETAIL_ERETU = 12;
export const DETAIL_RSM = 13;
export const DETAIL_FAR_CALL = 14;
export const DETAIL_FAR_RETURN = 15;
export const DETAIL_FAR_JUMP = 16;
export const DETAIL_VMCALL = 17;
export const DETAIL_VMLAUNCH = 18;
export const DETAIL_VMRESUME = 19;
export const DETAIL_VMPTRLD = 20;
export const DETAIL_PTWRITE = 21;
export const DETAIL_MOV_CR3 = 22;
export const DETAIL_MWAIT = 23;
export const DETAIL_UMWAIT = 24;
export const DETAIL_TPAUSE = 25;
export const DETAIL_HLT = 26;
/** Its displacement, to the place an abort goes to, is in `displacement`; the kind is KIND_OTHER. */
export const DETAIL_XBEGIN = 27;
export const DETAIL_XEND = 28;
export const DETAIL_XABORT = 29;
export const DETAIL_JMPABS = 30;
export const DETAIL_JCXZ = 31;
export const DETAIL_LOOP = 32;

/**
 * What `Instruction.detail` is, by value: `syscall`, `iret`, `mwait`. Empty for an
 * instruction of no such class.
 */
export const DETAIL_NAMES: readonly string[] = [
  '',
  'int',
  'int3',
  'int1',
  'into',
  'syscall',
  'sysenter',
  'sysret',
  'sysexit',
  'iret',
  'uiret',
  'erets',
  'eretu',
  'rsm',
  'far call',
  'far return',
  'far jump',
  'vmcall',
  'vmlaunch',
  'vmresume',
  'vmptrld',
  'ptwrite',
  'mov cr3',
  'mwait',
  'umwait',
  'tpause',
  'hlt',
  'xbegin',
  'xend',
  'xabort',
  'jmpabs',
  'jcxz',
  'loop',
];
