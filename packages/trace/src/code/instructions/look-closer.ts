import {
  DETAIL_ERETS,
  DETAIL_ERETU,
  DETAIL_FAR_CALL,
  DETAIL_FAR_JUMP,
  DETAIL_JMPABS,
  DETAIL_MOV_CR3,
  DETAIL_MWAIT,
  DETAIL_NONE,
  DETAIL_PTWRITE,
  DETAIL_TPAUSE,
  DETAIL_UIRET,
  DETAIL_UMWAIT,
  DETAIL_VMCALL,
  DETAIL_VMLAUNCH,
  DETAIL_VMPTRLD,
  DETAIL_VMRESUME,
  DETAIL_XABORT,
  DETAIL_XBEGIN,
  DETAIL_XEND,
  KIND_CALL_INDIRECT,
  KIND_FAR_CALL,
  KIND_FAR_JUMP,
  KIND_FAR_RETURN,
  KIND_JUMP_INDIRECT,
  KIND_MOV_CR3,
  KIND_PTWRITE,
  MODE_64,
} from './kinds.ts';
import {
  DETAILS_0F,
  DETAILS_ONE_BYTE,
  HAS_MODRM,
  IMM_8,
  IMM_8_8,
  IMM_64,
  IMM_Z,
  INVALID,
  IS_PREFIX,
  LOOK_CLOSER,
  MAP_0F,
  ONE_BYTE_64,
} from './opcode-maps.ts';
import {
  PREFIX_66,
  PREFIX_67,
  PREFIX_LOCK,
  REX_PRESENT,
  REX_R,
  REX_W,
  REX2_MAP_0F,
  REX2_R4,
} from './prefixes.ts';
import { addTestImmediate, type Stage, setKind } from './stage.ts';
import { readEvex, readVex2, readVex3, readXop } from './vector-prefixes.ts';

const F2 = 0xf2;
const F3 = 0xf3;

/**
 * The opcodes whose table entry does not tell all: escapes, groups chosen by ModRM, and those that mean
 * something else with a prefix or in another mode. `stage.at` is behind the opcode. False: no such
 * instruction, and the byte at `stage.at` is the last one that was needed to know.
 */
export function lookCloser(
  bytes: Uint8Array,
  opcode: number,
  isAfter0f: boolean,
  repeat: number,
  mode: number,
  stage: Stage,
): boolean {
  const { entry } = stage;
  if ((entry & INVALID) === INVALID) {
    stage.at--;
    return false;
  }
  if (isAfter0f) {
    stage.detail = DETAILS_0F[opcode]!;
    return after0f(bytes, opcode, repeat, mode, stage);
  }
  stage.detail = DETAILS_ONE_BYTE[opcode]!;
  const next = bytes[stage.at]!;
  switch (opcode) {
    case 0x62:
      // BOUND has no form with a register; in 64-bit mode it is gone.
      if (mode !== MODE_64 && next < 0xc0) return true;
      return !hasForbiddenPrefix(repeat, stage) && readEvex(bytes, mode, stage);
    case 0x8f:
      if ((next & 0x18) === 0) return true;
      return !hasForbiddenPrefix(repeat, stage) && readXop(bytes, stage);
    case 0xc4:
      if (mode !== MODE_64 && next < 0xc0) return true;
      return !hasForbiddenPrefix(repeat, stage) && readVex3(bytes, stage);
    case 0xc5:
      if (mode !== MODE_64 && next < 0xc0) return true;
      return !hasForbiddenPrefix(repeat, stage) && readVex2(bytes, stage);
    case 0xc6:
      if (next === 0xf8) stage.detail = DETAIL_XABORT;
      return true;
    case 0xc7:
      if (next === 0xf8) stage.detail = DETAIL_XBEGIN;
      return true;
    case 0xd5:
      return readRex2(bytes, repeat, stage);
    case 0xf6:
      addTestImmediate(stage, next, IMM_8);
      return true;
    case 0xf7:
      addTestImmediate(stage, next, IMM_Z);
      return true;
    case 0xff:
      return group5(next, stage);
    default:
      return true;
  }
}

/**
 * VEX, EVEX and XOP say themselves what 66, F2, F3 and REX say; together with
 * those, or with LOCK, they are #UD.
 */
function hasForbiddenPrefix(repeat: number, stage: Stage): boolean {
  return repeat !== 0 || stage.rex !== 0 || (stage.prefixes & (PREFIX_66 | PREFIX_LOCK)) !== 0;
}

/** INC, DEC, CALL, far CALL, JMP, far JMP, PUSH. */
function group5(modrm: number, stage: Stage): boolean {
  const isRegister = modrm >= 0xc0;
  switch ((modrm >> 3) & 7) {
    case 2:
      setKind(stage, KIND_CALL_INDIRECT, DETAIL_NONE);
      return true;
    case 3:
      setKind(stage, KIND_FAR_CALL, DETAIL_FAR_CALL);
      return !isRegister;
    case 4:
      setKind(stage, KIND_JUMP_INDIRECT, DETAIL_NONE);
      return true;
    case 5:
      setKind(stage, KIND_FAR_JUMP, DETAIL_FAR_JUMP);
      return !isRegister;
    case 7:
      return false;
    default:
      return true;
  }
}

function after0f(bytes: Uint8Array, opcode: number, repeat: number, mode: number, stage: Stage): boolean {
  const next = bytes[stage.at]!;
  switch (opcode) {
    case 0x01:
      group7(next, repeat, mode, stage);
      return true;
    case 0x20:
    case 0x21:
    case 0x22:
    case 0x23:
      stage.entry &= ~HAS_MODRM;
      stage.at++;
      if (opcode === 0x22 && (next & 0x38) === 0x18 && (stage.rex & (REX_R | REX2_R4)) === 0)
        setKind(stage, KIND_MOV_CR3, DETAIL_MOV_CR3);
      return true;
    case 0x38:
    case 0x3a:
      // The third byte is the opcode: all of 0F 38 have ModRM, all of 0F 3A an immediate byte too.
      stage.at++;
      return true;
    case 0x78:
      // VMREAD; SSE4a put EXTRQ and INSERTQ there.
      if ((stage.prefixes & PREFIX_66) !== 0 || repeat === F2) stage.entry |= IMM_8_8;
      return true;
    case 0xae:
      group15(next, repeat, stage);
      return true;
    case 0xc7:
      if ((next & 0x38) === 0x30 && next < 0xc0 && repeat === 0 && (stage.prefixes & PREFIX_66) === 0)
        stage.detail = DETAIL_VMPTRLD;
      return true;
    default:
      return true;
  }
}

/** Instructions without operands, told by the whole ModRM byte. */
function group7(modrm: number, repeat: number, mode: number, stage: Stage): void {
  switch (modrm) {
    case 0xc1:
      setKind(stage, KIND_FAR_CALL, DETAIL_VMCALL);
      break;
    case 0xc2:
      setKind(stage, KIND_FAR_RETURN, DETAIL_VMLAUNCH);
      break;
    case 0xc3:
      setKind(stage, KIND_FAR_RETURN, DETAIL_VMRESUME);
      break;
    case 0xc9:
      stage.detail = DETAIL_MWAIT;
      break;
    case 0xca:
      if (mode !== MODE_64) break;
      // Without a prefix it is CLAC.
      if (repeat === F2) setKind(stage, KIND_FAR_RETURN, DETAIL_ERETS);
      else if (repeat === F3) setKind(stage, KIND_FAR_RETURN, DETAIL_ERETU);
      break;
    case 0xd5:
      stage.detail = DETAIL_XEND;
      break;
    case 0xec:
      if (mode === MODE_64 && repeat === F3) setKind(stage, KIND_FAR_RETURN, DETAIL_UIRET);
      break;
  }
}

function group15(modrm: number, repeat: number, stage: Stage): void {
  const register = (modrm >> 3) & 7;
  if (register === 4 && repeat === F3) setKind(stage, KIND_PTWRITE, DETAIL_PTWRITE);
  else if (register === 6 && modrm >= 0xc0) {
    if (repeat === F2) stage.detail = DETAIL_UMWAIT;
    else if (repeat === 0 && (stage.prefixes & PREFIX_66) !== 0) stage.detail = DETAIL_TPAUSE;
  }
}

/**
 * REX2 (APX specification, "REX2 prefix"): a second byte with REX's bits, four more register bits, and
 * the choice between the one-byte and the 0F map. Opcodes that have another encoding for large registers,
 * or no register at all, are #UD.
 */
function readRex2(bytes: Uint8Array, repeat: number, stage: Stage): boolean {
  if (stage.rex !== 0) return false;
  const payload = bytes[stage.at]!;
  const isAfter0f = (payload & REX2_MAP_0F) !== 0;
  const opcode = bytes[stage.at + 1]!;
  const row = opcode >> 4;
  stage.at += 2;
  stage.rex = REX_PRESENT | payload;
  if (!isAfter0f && opcode === 0xa1) {
    // JMPABS took the place of MOV from a memory offset.
    const isJmpabs =
      (payload & REX_W) === 0 &&
      repeat === 0 &&
      (stage.prefixes & (PREFIX_66 | PREFIX_67 | PREFIX_LOCK)) === 0;
    stage.entry = IMM_64;
    setKind(stage, KIND_JUMP_INDIRECT, DETAIL_JMPABS);
    if (!isJmpabs) stage.at--;
    return isJmpabs;
  }
  const entry = (isAfter0f ? MAP_0F : ONE_BYTE_64)[opcode]!;
  stage.entry = entry;
  const hasNone = isAfter0f
    ? row === 0x3 || row === 0x8
    : row === 0x4 || row === 0x7 || row === 0xa || row === 0xe || isEscape(opcode);
  if (hasNone) {
    stage.at--;
    return false;
  }
  if ((entry & LOOK_CLOSER) === 0) {
    stage.detail = DETAIL_NONE;
    return true;
  }
  return lookCloser(bytes, opcode, isAfter0f, repeat, MODE_64, stage);
}

/** Prefixes and escapes that may not follow REX2: 0F, the vector prefixes, and a second REX2. */
function isEscape(opcode: number): boolean {
  return (
    opcode === 0x0f ||
    opcode === 0x62 ||
    opcode === 0xc4 ||
    opcode === 0xc5 ||
    opcode === 0xd5 ||
    (ONE_BYTE_64[opcode]! & IS_PREFIX) !== 0
  );
}
