import {
  DETAIL_NONE,
  INSN_INVALID,
  INSN_TRUNCATED,
  KIND_OTHER,
  LONGEST_INSTRUCTION,
  MODE_16,
  MODE_64,
} from './kinds.ts';
import { lookCloser } from './look-closer.ts';
import { MODRM_16, MODRM_32, MODRM_SIB_DECIDES } from './modrm.ts';
import {
  HAS_MODRM,
  IMM_8,
  IMM_8_8,
  IMM_16,
  IMM_16_8,
  IMM_32,
  IMM_64,
  IMM_MASK,
  IMM_OFFSET,
  IMM_POINTER,
  IMM_V,
  IMM_Z,
  IS_PREFIX,
  KIND_SHIFT,
  LOOK_CLOSER,
  MAP_0F,
  ONE_BYTE_32,
  ONE_BYTE_64,
  REL_8,
  REL_Z,
} from './opcode-maps.ts';
import { PREFIX_66, PREFIX_67, PREFIX_LOCK, REX_PRESENT, REX_W } from './prefixes.ts';
import {
  SHORT_DISPLACEMENT,
  SHORT_LENGTH,
  SHORT_MODRM_SHIFT,
  SHORT_NOT,
  SHORT_REL_8,
  SHORT_SIB,
  SHORT_WAY,
} from './short-way.ts';
import { Stage } from './stage.ts';

/** The answer of `decodeInstruction`, written over by each call. */
export class Instruction {
  /** Bytes, 1 to 15. */
  length = 0;
  /** One of KIND_*. */
  kind = KIND_OTHER;
  /** One of DETAIL_*. */
  detail = DETAIL_NONE;
  /** Signed distance from the end of the instruction to the target: direct branches and XBEGIN; else 0. */
  displacement = 0;
  /** Bits of the instruction pointer that a direct branch keeps: 64, 32, or 16 (16-bit operands). */
  pointerBits = 64;
}

/**
 * No decision looks further ahead than this, whatever the bytes are: 15 prefixes, then
 * opcode, ModRM, SIB, displacement.
 */
const FARTHEST_READ = 32;
/**
 * Copy of the last bytes before `end` with zeros after them, so that decoding itself has no end to ask about.
 */
const scratchTail = new Uint8Array(FARTHEST_READ);
/** Offset of the byte that made an instruction invalid: beyond the end it is only truncated. */
let invalidAt = 0;

const scratchStage = new Stage();

/**
 * Length, branch kind and displacement of the x86 instruction at `offset`. Reads nothing outside [offset,
 * end), allocates nothing, throws nothing. Returns the length in bytes, or INSN_TRUNCATED, or
 * INSN_INVALID; `out` is then unspecified.
 */
export function decodeInstruction(
  bytes: Uint8Array,
  offset: number,
  end: number,
  mode: number,
  out: Instruction,
): number {
  const available = end - offset;
  if (available >= FARTHEST_READ) return decodeInside(bytes, offset, mode, out);
  if (available <= 0) return INSN_TRUNCATED;
  for (let at = 0; at < available; at++) scratchTail[at] = bytes[offset + at]!;
  scratchTail.fill(0, available);
  const length = decodeInside(scratchTail, 0, mode, out);
  if (length === INSN_INVALID) return invalidAt < available ? INSN_INVALID : INSN_TRUNCATED;
  return length <= available ? length : INSN_TRUNCATED;
}

/** As above, where FARTHEST_READ bytes are there. */
function decodeInside(bytes: Uint8Array, offset: number, mode: number, out: Instruction): number {
  if (mode !== MODE_64) return decodeAny(bytes, offset, mode, out);
  const info = SHORT_WAY[(bytes[offset]! << 8) | bytes[offset + 1]!]!;
  if ((info & SHORT_NOT) !== 0) return decodeAny(bytes, offset, mode, out);
  // The size by ModRM where the third byte is one, else nothing.
  const size = MODRM_32[bytes[offset + 2]!]! & -((info >>> SHORT_MODRM_SHIFT) & 1);
  let length = (info & SHORT_LENGTH) + size;
  if (size >= MODRM_SIB_DECIDES) {
    length -= MODRM_SIB_DECIDES;
    if ((bytes[offset + 3]! & 7) === 5) length += 4;
  } else if ((info & SHORT_SIB) !== 0 && (bytes[offset + 2]! & 7) === 5) length += 4;
  out.kind = info >>> KIND_SHIFT;
  out.detail = DETAIL_NONE;
  out.length = length;
  const displacementBytes = info & SHORT_DISPLACEMENT;
  if (displacementBytes === 0) out.displacement = 0;
  else {
    const end = offset + length;
    out.pointerBits = 64;
    out.displacement =
      displacementBytes === SHORT_REL_8
        ? (bytes[end - 1]! << 24) >> 24
        : bytes[end - 4]! | (bytes[end - 3]! << 8) | (bytes[end - 2]! << 16) | (bytes[end - 1]! << 24);
  }
  return length;
}

/** As above, every instruction in every mode. */
function decodeAny(bytes: Uint8Array, offset: number, mode: number, out: Instruction): number {
  const oneByte = mode === MODE_64 ? ONE_BYTE_64 : ONE_BYTE_32;
  let at = offset;
  let opcode = bytes[at++]!;
  let entry = oneByte[opcode]!;
  let prefixes = 0;
  let repeat = 0;
  // REX counts only right before the opcode.
  let rex = 0;
  while ((entry & IS_PREFIX) !== 0) {
    if (mode === MODE_64 && (opcode & 0xf0) === 0x40) rex = REX_PRESENT | (opcode & 0x0f);
    else {
      rex = 0;
      if (opcode === 0x66) prefixes |= PREFIX_66;
      else if (opcode === 0x67) prefixes |= PREFIX_67;
      else if (opcode === 0xf0) prefixes |= PREFIX_LOCK;
      else if (opcode > 0xf0) repeat = opcode;
    }
    if (at - offset >= LONGEST_INSTRUCTION) {
      invalidAt = at - 1;
      return INSN_INVALID;
    }
    opcode = bytes[at++]!;
    entry = oneByte[opcode]!;
  }
  let isAfter0f = false;
  if (opcode === 0x0f) {
    isAfter0f = true;
    opcode = bytes[at++]!;
    entry = MAP_0F[opcode]!;
  }
  let detail = DETAIL_NONE;
  if ((entry & LOOK_CLOSER) !== 0) {
    const stage = scratchStage;
    stage.entry = entry;
    stage.at = at;
    stage.prefixes = prefixes;
    stage.rex = rex;
    if (!lookCloser(bytes, opcode, isAfter0f, repeat, mode, stage)) {
      invalidAt = stage.at;
      return INSN_INVALID;
    }
    entry = stage.entry;
    at = stage.at;
    prefixes = stage.prefixes;
    rex = stage.rex;
    detail = stage.detail;
  }

  if ((entry & HAS_MODRM) !== 0) {
    const isSmall = mode !== MODE_64 && (mode === MODE_16) === ((prefixes & PREFIX_67) === 0);
    if (isSmall) at += MODRM_16[bytes[at]!]!;
    else {
      const size = MODRM_32[bytes[at]!]!;
      if (size < MODRM_SIB_DECIDES) at += size;
      else at += (bytes[at + 1]! & 7) === 5 ? 6 : 2;
    }
  }
  out.kind = entry >>> KIND_SHIFT;
  out.detail = detail;
  out.displacement = 0;
  const immediate = entry & IMM_MASK;
  if (immediate !== 0) {
    if (immediate === IMM_8) at++;
    else at = skipImmediate(bytes, at, immediate, prefixes, rex, mode, out);
  }
  const length = at - offset;
  if (length > LONGEST_INSTRUCTION) {
    invalidAt = offset + LONGEST_INSTRUCTION - 1;
    return INSN_INVALID;
  }
  out.length = length;
  return length;
}

/** Where the instruction ends; a branch's displacement and the width of its target go to `out`. */
function skipImmediate(
  bytes: Uint8Array,
  at: number,
  immediate: number,
  prefixes: number,
  rex: number,
  mode: number,
  out: Instruction,
): number {
  const isWord = (mode === MODE_16) === ((prefixes & PREFIX_66) === 0);
  switch (immediate) {
    case REL_8:
      out.displacement = (bytes[at]! << 24) >> 24;
      out.pointerBits = mode === MODE_64 ? 64 : isWord ? 16 : 32;
      return at + 1;
    case REL_Z:
      out.pointerBits = mode === MODE_64 ? 64 : isWord ? 16 : 32;
      return readDisplacement(bytes, at, mode !== MODE_64 && isWord, out);
    case IMM_Z:
      // XBEGIN is the one instruction with both: its displacement goes along, whatever the others make of it.
      if (out.detail !== DETAIL_NONE) {
        out.pointerBits = mode === MODE_64 ? 64 : 32;
        return readDisplacement(bytes, at, isWord && (rex & REX_W) === 0, out);
      }
      return at + (isWord && (rex & REX_W) === 0 ? 2 : 4);
    case IMM_V:
      if ((rex & REX_W) !== 0) return at + 8;
      return at + (isWord ? 2 : 4);
    case IMM_OFFSET: {
      const isOther = (prefixes & PREFIX_67) !== 0;
      if (mode === MODE_64) return at + (isOther ? 4 : 8);
      return at + ((mode === MODE_16) === isOther ? 4 : 2);
    }
    case IMM_POINTER:
      return at + (isWord ? 4 : 6);
    case IMM_16:
    case IMM_8_8:
      return at + 2;
    case IMM_16_8:
      return at + 3;
    case IMM_32:
      return at + 4;
    case IMM_64:
      return at + 8;
    default:
      return at + 1;
  }
}

function readDisplacement(bytes: Uint8Array, at: number, isWord: boolean, out: Instruction): number {
  const low = bytes[at]! | (bytes[at + 1]! << 8);
  if (isWord) {
    out.displacement = (low << 16) >> 16;
    return at + 2;
  }
  out.displacement = low | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
  return at + 4;
}
