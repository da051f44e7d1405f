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

/** Bytes of an instruction; a 64-bit immediate takes two. */
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
/** Bits of an opcode that say its class. */
export const BPF_CLASS_MASK = 0x07;
/** Class: loads of 64-bit immediates, and of packets. */
export const BPF_LD = 0x00;
/** Class: loads from memory to a register. */
export const BPF_LDX = 0x01;
/** Class: stores of an immediate to memory. */
export const BPF_ST = 0x02;
/** Class: stores of a register to memory, and atomic operations. */
export const BPF_STX = 0x03;
/** Class: arithmetic of 32 bits; the high half of the result is 0. */
export const BPF_ALU = 0x04;
/** Class: jumps that compare 64 bits; calls and exit. */
export const BPF_JMP = 0x05;
/** Class: jumps that compare 32 bits. */
export const BPF_JMP32 = 0x06;
/** Class: arithmetic of 64 bits. */
export const BPF_ALU64 = 0x07;

// Where the second operand is.
/** Bit of an opcode that says where the second operand is. */
export const BPF_SOURCE_MASK = 0x08;
/** The second operand is the immediate. */
export const BPF_K = 0x00;
/** The second operand is the source register. */
export const BPF_X = 0x08;

// Operations of ALU and ALU64: the high four bits.
/** Bits of an opcode of ALU and JMP that say the operation. */
export const BPF_OPERATION_MASK = 0xf0;
/** Operation: addition. */
export const BPF_ADD = 0x00;
/** Operation: subtraction. */
export const BPF_SUB = 0x10;
/** Operation: multiplication. */
export const BPF_MUL = 0x20;
/** Signed where the offset is 1; BPF_MOD too. */
export const BPF_DIV = 0x30;
/** Operation: bitwise or. */
export const BPF_OR = 0x40;
/** Operation: bitwise and. */
export const BPF_AND = 0x50;
/** Operation: shift to the left. */
export const BPF_LSH = 0x60;
/** Operation: shift to the right that fills with zeros. */
export const BPF_RSH = 0x70;
/** Operation: the other sign. */
export const BPF_NEG = 0x80;
/** Operation: remainder; signed where the offset is 1. */
export const BPF_MOD = 0x90;
/** Operation: bitwise exclusive or. */
export const BPF_XOR = 0xa0;
/** Extends the sign of as many bits as the offset says, where it is not 0. */
export const BPF_MOV = 0xb0;
/** Operation: shift to the right that keeps the sign. */
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
/** Jump where both are equal. */
export const BPF_JEQ = 0x10;
/** Jump where the first is greater, unsigned. */
export const BPF_JGT = 0x20;
/** Jump where the first is greater or equal, unsigned. */
export const BPF_JGE = 0x30;
/** Jump where both have a bit in common. */
export const BPF_JSET = 0x40;
/** Jump where they differ. */
export const BPF_JNE = 0x50;
/** Jump where the first is greater, signed. */
export const BPF_JSGT = 0x60;
/** Jump where the first is greater or equal, signed. */
export const BPF_JSGE = 0x70;
/**
 * A call: of a helper, a function of the program, or a function of the kernel, as the source register says.
 */
export const BPF_CALL = 0x80;
/** Return: r0 is the result. */
export const BPF_EXIT = 0x90;
/** Jump where the first is less, unsigned. */
export const BPF_JLT = 0xa0;
/** Jump where the first is less or equal, unsigned. */
export const BPF_JLE = 0xb0;
/** Jump where the first is less, signed. */
export const BPF_JSLT = 0xc0;
/** Jump where the first is less or equal, signed. */
export const BPF_JSLE = 0xd0;
/** Goes or stays, as the kernel's count of repetitions says (`may_goto`, Linux 6.9). */
export const BPF_JCOND = 0xe0;

// Sizes of loads and stores.
/** Bits of an opcode of loads and stores that say the size. */
export const BPF_SIZE_MASK = 0x18;
/** Size: 4 bytes. */
export const BPF_W = 0x00;
/** Size: 2 bytes. */
export const BPF_H = 0x08;
/** Size: 1 byte. */
export const BPF_B = 0x10;
/** Size: 8 bytes. */
export const BPF_DW = 0x18;

// Modes of loads and stores.
/** Bits of an opcode of loads and stores that say the mode. */
export const BPF_MODE_MASK = 0xe0;
/** With BPF_LD and BPF_DW: a 64-bit immediate in two slots. */
export const BPF_IMM = 0x00;
/** Mode: packet bytes at a place. Left from classic BPF, for socket filters alone. */
export const BPF_ABS = 0x20;
/** Mode: packet bytes at a register and a place. Left from classic BPF, for socket filters alone. */
export const BPF_IND = 0x40;
/** Mode: memory at a register and the offset. */
export const BPF_MEM = 0x60;
/** A load that extends the sign (cpu v4). */
export const BPF_MEMSX = 0x80;
/** Mode of BPF_STX with 4 or 8 bytes: an atomic operation, which the immediate says. */
export const BPF_ATOMIC = 0xc0;

// Atomic operations: the immediate of BPF_STX | BPF_ATOMIC. ADD, OR, AND and XOR are those of ALU.
/** Bit of an atomic ADD, OR, AND or XOR: the value from before is left in the source register. */
export const BPF_FETCH = 0x01;
/** Atomic operation: exchange; the value from before is left in the source register. */
export const BPF_XCHG = 0xe1;
/** Compares with r0 and leaves the value from before in r0. */
export const BPF_CMPXCHG = 0xf1;
/** Atomic operation: load that later accesses cannot overtake (Linux 6.15). */
export const BPF_LOAD_ACQ = 0x100;
/** Atomic operation: store that cannot overtake accesses before it (Linux 6.15). */
export const BPF_STORE_REL = 0x110;

// What the source register of a 64-bit immediate says of the immediate.
/** Source register of a 64-bit immediate: a map, by its descriptor. */
export const BPF_PSEUDO_MAP_FD = 1;
/**
 * Source register of a 64-bit immediate: the first value of a map by its descriptor, plus
 * an offset in the second slot.
 */
export const BPF_PSEUDO_MAP_VALUE = 2;
/** Source register of a 64-bit immediate: a variable of the kernel, by its BTF id. */
export const BPF_PSEUDO_BTF_ID = 3;
/** Source register of a 64-bit immediate: a function of the program, by its distance in slots. */
export const BPF_PSEUDO_FUNC = 4;
/** Source register of a 64-bit immediate: a map, by its index in `fd_array`. */
export const BPF_PSEUDO_MAP_IDX = 5;
/**
 * Source register of a 64-bit immediate: the first value of a map by its index in `fd_array`, plus an offset.
 */
export const BPF_PSEUDO_MAP_IDX_VALUE = 6;

// What the source register of a call says of the immediate; 0 is a helper's number.
/**
 * Source register of a call: a function of the program, by its distance in slots. 0: a helper, by its number.
 */
export const BPF_PSEUDO_CALL = 1;
/** Source register of a call: a function of the kernel, by its BTF id. */
export const BPF_PSEUDO_KFUNC_CALL = 2;
