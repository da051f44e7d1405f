/**
 * The x86 opcode maps as tables: what follows an opcode, and what it does to the flow (SDM vol. 2, appendix
 * A; AMD's manual vol. 3, appendix A for XOP and 3DNow!). One 16-bit entry per opcode:
 *
 *     15      11 10     9    8    4        3        0
 *    |  kind   | look | pfx |  -  | ModRM | immediate |
 */
import {
  DETAIL_FAR_CALL,
  DETAIL_FAR_JUMP,
  DETAIL_FAR_RETURN,
  DETAIL_HLT,
  DETAIL_INT,
  DETAIL_INT1,
  DETAIL_INT3,
  DETAIL_INTO,
  DETAIL_IRET,
  DETAIL_JCXZ,
  DETAIL_LOOP,
  DETAIL_RSM,
  DETAIL_SYSCALL,
  DETAIL_SYSENTER,
  DETAIL_SYSEXIT,
  DETAIL_SYSRET,
  KIND_CALL,
  KIND_CONDITIONAL,
  KIND_FAR_CALL,
  KIND_FAR_JUMP,
  KIND_FAR_RETURN,
  KIND_JUMP,
  KIND_RETURN,
} from './kinds.ts';

/** What stands after ModRM and displacement. */
export const IMM_NONE = 0;
export const IMM_8 = 1;
export const IMM_16 = 2;
/** 2 or 4 bytes by operand size. */
export const IMM_Z = 3;
/** 2, 4 or, with REX.W, 8 bytes: MOV register, immediate. */
export const IMM_V = 4;
/** An address of 2, 4 or 8 bytes by address size: MOV with a memory offset. */
export const IMM_OFFSET = 5;
/** ENTER: a word and a byte. */
export const IMM_16_8 = 6;
/** Far pointer: offset by operand size, and a selector. */
export const IMM_POINTER = 7;
export const IMM_32 = 8;
/** Two single bytes: EXTRQ, INSERTQ. */
export const IMM_8_8 = 9;
/** JMPABS: the target itself. */
export const IMM_64 = 12;
/**
 * Branch displacements. In 64-bit mode REL_Z is always 4 bytes: Intel's CPUs ignore the
 * 66 prefix there (SDM, "JMP").
 */
export const REL_8 = 10;
export const REL_Z = 11;

export const IMM_MASK = 0x000f;
export const HAS_MODRM = 0x0010;
/** A prefix: REX or one of the eleven old ones. */
export const IS_PREFIX = 0x0200;
/**
 * The entry alone does not tell: escapes, groups by ModRM, opcodes that mean something else with a prefix.
 */
export const LOOK_CLOSER = 0x0400;
export const KIND_SHIFT = 11;
/** In no CPU an instruction. Leaves `LOOK_CLOSER` set, so that the fast way need not ask. */
export const INVALID = 0x0400 | 0x0100;

const M = HAS_MODRM;
const M8 = HAS_MODRM | IMM_8;

/**
 * The map of one-byte opcodes in 64-bit mode, in 32- and 16-bit mode, and the four maps that all modes share.
 */
export const ONE_BYTE_64: Uint16Array = oneByteMap(true);
export const ONE_BYTE_32: Uint16Array = oneByteMap(false);
export const MAP_0F: Uint16Array = map0f();
/** VEX and EVEX map 1: the vector instructions of 0F. */
export const MAP_VEX_0F: Uint16Array = mapVex0f();
/**
 * EVEX map 4: old instructions with three operands or more registers (APX specification,
 * table of promoted instructions).
 */
export const MAP_EVEX_4: Uint16Array = mapEvex4();
/** DETAIL_* of one-byte opcodes and of those after 0F, where the opcode alone tells. */
export const DETAILS_ONE_BYTE: Uint8Array = details([
  [0x9a, DETAIL_FAR_CALL],
  [0xca, DETAIL_FAR_RETURN],
  [0xcb, DETAIL_FAR_RETURN],
  [0xcc, DETAIL_INT3],
  [0xcd, DETAIL_INT],
  [0xce, DETAIL_INTO],
  [0xcf, DETAIL_IRET],
  [0xe0, DETAIL_LOOP],
  [0xe1, DETAIL_LOOP],
  [0xe2, DETAIL_LOOP],
  [0xe3, DETAIL_JCXZ],
  [0xea, DETAIL_FAR_JUMP],
  [0xf1, DETAIL_INT1],
  [0xf4, DETAIL_HLT],
]);
export const DETAILS_0F: Uint8Array = details([
  [0x05, DETAIL_SYSCALL],
  [0x07, DETAIL_SYSRET],
  [0x34, DETAIL_SYSENTER],
  [0x35, DETAIL_SYSEXIT],
  [0xaa, DETAIL_RSM],
]);

function details(rows: readonly (readonly [number, number])[]): Uint8Array {
  const table = new Uint8Array(256);
  for (const [opcode, detail] of rows) table[opcode] = detail;
  return table;
}

function put(map: Uint16Array, entry: number, ...opcodes: number[]): void {
  for (const opcode of opcodes) map[opcode] = entry;
}

function fill(map: Uint16Array, entry: number, first: number, last: number): void {
  map.fill(entry, first, last + 1);
}

function kind(value: number): number {
  return value << KIND_SHIFT;
}

function oneByteMap(is64: boolean): Uint16Array {
  const map = new Uint16Array(256);
  // Eight arithmetic operations, each: four forms with ModRM, AL with a byte, rAX with an
  // immediate, and two of their time.
  for (let row = 0x00; row < 0x40; row += 8) {
    fill(map, M, row, row + 3);
    put(map, IMM_8, row + 4);
    put(map, IMM_Z, row + 5);
    if (is64) fill(map, INVALID, row + 6, row + 7);
  }
  put(map, IS_PREFIX, 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67, 0xf0, 0xf2, 0xf3);
  put(map, LOOK_CLOSER, 0x0f);
  if (is64) fill(map, IS_PREFIX, 0x40, 0x4f);
  put(map, is64 ? INVALID : IMM_NONE, 0x60, 0x61);
  // BOUND, or EVEX.
  put(map, LOOK_CLOSER | M, 0x62);
  put(map, M, 0x63);
  put(map, IMM_Z, 0x68);
  put(map, M | IMM_Z, 0x69);
  put(map, IMM_8, 0x6a);
  put(map, M8, 0x6b);
  fill(map, REL_8 | kind(KIND_CONDITIONAL), 0x70, 0x7f);
  put(map, M8, 0x80, 0x83);
  put(map, is64 ? INVALID : M8, 0x82);
  put(map, M | IMM_Z, 0x81);
  fill(map, M, 0x84, 0x8e);
  // POP, or XOP.
  put(map, LOOK_CLOSER | M, 0x8f);
  put(map, is64 ? INVALID : LOOK_CLOSER | IMM_POINTER | kind(KIND_FAR_CALL), 0x9a);
  fill(map, IMM_OFFSET, 0xa0, 0xa3);
  put(map, IMM_8, 0xa8);
  put(map, IMM_Z, 0xa9);
  fill(map, IMM_8, 0xb0, 0xb7);
  fill(map, IMM_V, 0xb8, 0xbf);
  put(map, M8, 0xc0, 0xc1);
  put(map, IMM_16 | kind(KIND_RETURN), 0xc2);
  put(map, kind(KIND_RETURN), 0xc3);
  // LES and LDS, or VEX.
  put(map, LOOK_CLOSER | M, 0xc4, 0xc5);
  // With ModRM F8: XABORT and XBEGIN.
  put(map, LOOK_CLOSER | M8, 0xc6);
  put(map, LOOK_CLOSER | M | IMM_Z, 0xc7);
  put(map, IMM_16_8, 0xc8);
  put(map, LOOK_CLOSER | IMM_16 | kind(KIND_FAR_RETURN), 0xca);
  put(map, LOOK_CLOSER | kind(KIND_FAR_RETURN), 0xcb, 0xcf);
  put(map, LOOK_CLOSER | kind(KIND_FAR_CALL), 0xcc, 0xf1);
  put(map, LOOK_CLOSER | IMM_8 | kind(KIND_FAR_CALL), 0xcd);
  put(map, is64 ? INVALID : LOOK_CLOSER | kind(KIND_FAR_CALL), 0xce);
  fill(map, M, 0xd0, 0xd3);
  put(map, is64 ? INVALID : IMM_8, 0xd4);
  // AAD, or REX2.
  put(map, is64 ? LOOK_CLOSER : IMM_8, 0xd5);
  put(map, is64 ? INVALID : IMM_NONE, 0xd6);
  fill(map, M, 0xd8, 0xdf);
  // LOOPNE, LOOPE, LOOP, JCXZ.
  fill(map, LOOK_CLOSER | REL_8 | kind(KIND_CONDITIONAL), 0xe0, 0xe3);
  fill(map, IMM_8, 0xe4, 0xe7);
  put(map, REL_Z | kind(KIND_CALL), 0xe8);
  put(map, REL_Z | kind(KIND_JUMP), 0xe9);
  put(map, is64 ? INVALID : LOOK_CLOSER | IMM_POINTER | kind(KIND_FAR_JUMP), 0xea);
  put(map, REL_8 | kind(KIND_JUMP), 0xeb);
  put(map, LOOK_CLOSER, 0xf4);
  // TEST has an immediate where the others of its group have none.
  put(map, LOOK_CLOSER | M, 0xf6, 0xf7);
  put(map, M, 0xfe);
  put(map, LOOK_CLOSER | M, 0xff);
  return map;
}

function map0f(): Uint16Array {
  const map = new Uint16Array(256).fill(M);
  put(map, LOOK_CLOSER | M, 0x01);
  put(map, INVALID, 0x04, 0x0a, 0x0c, 0x36, 0x39, 0x3b, 0x3c, 0x3d, 0x3e, 0x3f, 0x24, 0x25, 0x26, 0x27);
  put(map, IMM_NONE, 0x06, 0x08, 0x09, 0x0b, 0x0e, 0x30, 0x31, 0x32, 0x33, 0x37, 0x77);
  put(map, IMM_NONE, 0xa0, 0xa1, 0xa2, 0xa8, 0xa9);
  put(map, LOOK_CLOSER | kind(KIND_FAR_CALL), 0x05, 0x34);
  put(map, LOOK_CLOSER | kind(KIND_FAR_RETURN), 0x07, 0x35, 0xaa);
  // 3DNow!: the real opcode stands last, where others have an immediate.
  put(map, M8, 0x0f);
  // MOV to and from control and debug registers: ModRM always names a register, whatever its mode bits say.
  fill(map, LOOK_CLOSER | M, 0x20, 0x23);
  put(map, LOOK_CLOSER | M, 0x38);
  put(map, LOOK_CLOSER | M8, 0x3a);
  put(map, M8, 0x70, 0x71, 0x72, 0x73, 0xa4, 0xac, 0xba, 0xc2, 0xc4, 0xc5, 0xc6);
  put(map, LOOK_CLOSER | M, 0x78);
  fill(map, REL_Z | kind(KIND_CONDITIONAL), 0x80, 0x8f);
  put(map, LOOK_CLOSER | M, 0xae, 0xc7);
  fill(map, IMM_NONE, 0xc8, 0xcf);
  return map;
}

function mapVex0f(): Uint16Array {
  const map = new Uint16Array(256).fill(M);
  // VZEROUPPER and VZEROALL.
  put(map, IMM_NONE, 0x77);
  put(map, M8, 0x70, 0x71, 0x72, 0x73, 0xc2, 0xc4, 0xc5, 0xc6);
  return map;
}

function mapEvex4(): Uint16Array {
  const map = new Uint16Array(256).fill(M);
  put(map, M8, 0x24, 0x2c, 0x6b, 0x80, 0x83, 0xc0, 0xc1, 0xd4);
  put(map, M | IMM_Z, 0x69, 0x81);
  put(map, LOOK_CLOSER | M, 0xf6, 0xf7);
  return map;
}
