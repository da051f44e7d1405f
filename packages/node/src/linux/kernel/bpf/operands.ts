/** What instructions work on: registers, and memory at a register and an offset. All plain values. */
import { checkArgument } from '@counterpoint/core/base';
import { hasMembers } from '../../../host/options/index.ts';

/** `r0`-`r10` are the whole 64 bits, `w0`-`w10` the low 32 (a write to them clears the high ones). */
export interface Register {
  /** Tells a register from an operand in memory. */
  readonly kind: 'register';
  /** Its number, 0 to 10. */
  readonly number: number;
  /** 64 for all of it (`r1`), 32 for its low half (`w1`). */
  readonly bits: 32 | 64;
}

/**
 * Memory of a size at a register and an offset. An instruction loads and stores what is there; as the
 * argument of a call it stands for its address. More than 8 bytes are a block: good for its address only.
 */
export interface MemoryOperand {
  /** Tells an operand in memory from a register. */
  readonly kind: 'memory';
  /** The register that has the address. */
  readonly base: Register;
  /** Added to it, in bytes. */
  readonly offsetBytes: number;
  /** How many bytes it has. */
  readonly sizeBytes: number;
  /** A load extends the sign. */
  readonly isSigned: boolean;
}

function register(number: number, bits: 32 | 64): Register {
  return Object.freeze({ kind: 'register', number, bits });
}

/** The result of a call, and of the program. */
export const r0: Register = register(0, 64);
/** The context at the start; the first argument of a call. Calls leave nothing in r1 to r5. */
export const r1: Register = register(1, 64);
/** The second argument of a call. */
export const r2: Register = register(2, 64);
/** The third argument of a call. */
export const r3: Register = register(3, 64);
/** The fourth argument of a call. */
export const r4: Register = register(4, 64);
/** The fifth argument of a call. */
export const r5: Register = register(5, 64);
/** r6 to r9 survive calls. */
export const r6: Register = register(6, 64);
/** A register that calls keep. */
export const r7: Register = register(7, 64);
/** A register that calls keep. */
export const r8: Register = register(8, 64);
/** A register that calls keep. */
export const r9: Register = register(9, 64);
/** The end of the stack frame, to be read only. */
export const r10: Register = register(10, 64);

/** The low half of r0. */
export const w0: Register = register(0, 32);
/** The low half of r1. */
export const w1: Register = register(1, 32);
/** The low half of r2. */
export const w2: Register = register(2, 32);
/** The low half of r3. */
export const w3: Register = register(3, 32);
/** The low half of r4. */
export const w4: Register = register(4, 32);
/** The low half of r5. */
export const w5: Register = register(5, 32);
/** The low half of r6. */
export const w6: Register = register(6, 32);
/** The low half of r7. */
export const w7: Register = register(7, 32);
/** The low half of r8. */
export const w8: Register = register(8, 32);
/** The low half of r9. */
export const w9: Register = register(9, 32);

/** Where the arguments of a call go, in order. */
export const ARGUMENT_REGISTERS: readonly Register[] = [r1, r2, r3, r4, r5];

/** The same register, all 64 bits of it. */
export function whole(narrow: Register): Register {
  return narrow.bits === 64 ? narrow : register(narrow.number, 64);
}

export function registerName(of: Register): string {
  return `${of.bits === 64 ? 'r' : 'w'}${of.number}`;
}

export function memory(
  base: Register,
  offsetBytes: number,
  sizeBytes: number,
  isSigned = false,
): MemoryOperand {
  return { kind: 'memory', base, offsetBytes, sizeBytes, isSigned };
}

function operand(type: string, base: Register, offsetBytes: number, isSigned = false): MemoryOperand {
  checkArgument(
    hasMembers(base, { kind: 'string', number: 'number', bits: 'number' }) && base.kind === 'register',
    `${type}()`,
    'the base',
    base,
    'a register',
    'Give the register that has the address: u32(r6, 16).',
  );
  checkArgument(
    Number.isInteger(offsetBytes),
    `${type}()`,
    'the offset',
    offsetBytes,
    'a whole number of bytes',
  );
  return memory(base, offsetBytes, Number(type.slice(1)) / 8, isSigned);
}

// One function per C type, so that a load reads as its text does: `asm.load(r1, u32(r6,
// 16))` is r1 = *(u32 *)(r6 + 16).
/** A byte of memory at `base + offsetBytes`. */
export function u8(base: Register, offsetBytes = 0): MemoryOperand {
  return operand('u8', base, offsetBytes);
}
/** Two bytes of memory at `base + offsetBytes`. */
export function u16(base: Register, offsetBytes = 0): MemoryOperand {
  return operand('u16', base, offsetBytes);
}
/** Four bytes of memory at `base + offsetBytes`. */
export function u32(base: Register, offsetBytes = 0): MemoryOperand {
  return operand('u32', base, offsetBytes);
}
/** Eight bytes of memory at `base + offsetBytes`. */
export function u64(base: Register, offsetBytes = 0): MemoryOperand {
  return operand('u64', base, offsetBytes);
}
/** A signed byte of memory at `base + offsetBytes`. */
export function i8(base: Register, offsetBytes = 0): MemoryOperand {
  return operand('i8', base, offsetBytes, true);
}
/** Two bytes of memory with a sign at `base + offsetBytes`. */
export function i16(base: Register, offsetBytes = 0): MemoryOperand {
  return operand('i16', base, offsetBytes, true);
}
/** Four bytes of memory with a sign at `base + offsetBytes`. */
export function i32(base: Register, offsetBytes = 0): MemoryOperand {
  return operand('i32', base, offsetBytes, true);
}
