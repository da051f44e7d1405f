/**
 * The eBPF instruction set (RFC 9669; Documentation/bpf/standardization/instruction-set.rst;
 * linux/bpf.h, linux/bpf_common.h).
 *
 *   slot, 8 bytes     7        6 5 4 3 2 1 0
 *                  [ imm, 32 bits | offset, 16 | src:4 dst:4 | opcode ]     little-endian: the opcode is the first byte
 *
 *   opcode of ALU and JMP       operation:4  source:1  class:3
 *   opcode of loads and stores  mode:3       size:2    class:3
 */
export const BPF_SLOT_SIZE = 8;
/** Slots of a program at most, since Linux 5.2: BPF_COMPLEXITY_LIMIT_INSNS of linux/bpf.h. */
export const BPF_MOST_INSTRUCTIONS = 1_000_000;

/**
 * The frame pointer, to be read only; r0 is the result, r1-r5 arguments (lost in
 * a call), r6-r9 survive calls.
 */
export const BPF_REG_FP = 10;
/** Bytes of stack of a program and all functions it is in. */
export const BPF_STACK_SIZE = 512;

// Classes: the low three bits of the opcode.
export const BPF_CLASS_MASK = 0x07;
export const BPF_LD = 0x00;
export const BPF_LDX = 0x01;
export const BPF_ST = 0x02;
export const BPF_STX = 0x03;
export const BPF_ALU = 0x04;
export const BPF_JMP = 0x05;
export const BPF_JMP32 = 0x06;
export const BPF_ALU64 = 0x07;

// Where the second operand is.
export const BPF_SOURCE_MASK = 0x08;
export const BPF_K = 0x00;
export const BPF_X = 0x08;

// Operations of ALU and ALU64: the high four bits.
export const BPF_OPERATION_MASK = 0xf0;
export const BPF_ADD = 0x00;
export const BPF_SUB = 0x10;
export const BPF_MUL = 0x20;
/** Signed where the offset is 1; BPF_MOD too. */
export const BPF_DIV = 0x30;
export const BPF_OR = 0x40;
export const BPF_AND = 0x50;
export const BPF_LSH = 0x60;
export const BPF_RSH = 0x70;
export const BPF_NEG = 0x80;
export const BPF_MOD = 0x90;
export const BPF_XOR = 0xa0;
/** Extends the sign of as many bits as the offset says, where it is not 0. */
export const BPF_MOV = 0xb0;
export const BPF_ARSH = 0xc0;
/**
 * Byte order: to little (K) or big endian (X) in ALU, swapped in any case in ALU64; the
 * immediate is the width in bits.
 */
export const BPF_END = 0xd0;

/** Offset of a signed division or remainder. */
export const BPF_SIGNED_OFFSET = 1;
/**
 * Offset of `BPF_MOV | BPF_X` in ALU64 that casts a pointer between the address
 * spaces of an arena (the immediate).
 */
export const BPF_ADDRESS_SPACE_CAST_OFFSET = 1;

// Operations of JMP and JMP32.
/** Goes by the offset in JMP, by the immediate in JMP32 (cpu v4). */
export const BPF_JA = 0x00;
export const BPF_JEQ = 0x10;
export const BPF_JGT = 0x20;
export const BPF_JGE = 0x30;
export const BPF_JSET = 0x40;
export const BPF_JNE = 0x50;
export const BPF_JSGT = 0x60;
export const BPF_JSGE = 0x70;
export const BPF_CALL = 0x80;
export const BPF_EXIT = 0x90;
export const BPF_JLT = 0xa0;
export const BPF_JLE = 0xb0;
export const BPF_JSLT = 0xc0;
export const BPF_JSLE = 0xd0;
/** Goes or stays, as the kernel's count of repetitions says (`may_goto`, Linux 6.9). */
export const BPF_JCOND = 0xe0;

// Sizes of loads and stores.
export const BPF_SIZE_MASK = 0x18;
export const BPF_W = 0x00;
export const BPF_H = 0x08;
export const BPF_B = 0x10;
export const BPF_DW = 0x18;

// Modes of loads and stores.
export const BPF_MODE_MASK = 0xe0;
/** With BPF_LD and BPF_DW: a 64-bit immediate in two slots. */
export const BPF_IMM = 0x00;
/** Packet bytes at a place, or at a register and a place: left from classic BPF, socket filters only. */
export const BPF_ABS = 0x20;
export const BPF_IND = 0x40;
export const BPF_MEM = 0x60;
/** A load that extends the sign (cpu v4). */
export const BPF_MEMSX = 0x80;
export const BPF_ATOMIC = 0xc0;

// Atomic operations: the immediate of BPF_STX | BPF_ATOMIC. ADD, OR, AND and XOR are those of ALU.
/** The value from before the operation is left in the source register. */
export const BPF_FETCH = 0x01;
export const BPF_XCHG = 0xe1;
/** Compares with r0 and leaves the value from before in r0. */
export const BPF_CMPXCHG = 0xf1;
/** Linux 6.15. */
export const BPF_LOAD_ACQ = 0x100;
export const BPF_STORE_REL = 0x110;

// What the source register of a 64-bit immediate says of the immediate.
export const BPF_PSEUDO_MAP_FD = 1;
export const BPF_PSEUDO_MAP_VALUE = 2;
export const BPF_PSEUDO_BTF_ID = 3;
export const BPF_PSEUDO_FUNC = 4;
export const BPF_PSEUDO_MAP_IDX = 5;
export const BPF_PSEUDO_MAP_IDX_VALUE = 6;

// What the source register of a call says of the immediate; 0 is a helper's number.
export const BPF_PSEUDO_CALL = 1;
export const BPF_PSEUDO_KFUNC_CALL = 2;
