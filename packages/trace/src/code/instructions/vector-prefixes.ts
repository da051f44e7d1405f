import { MODE_64 } from './kinds.ts';
import { HAS_MODRM, IMM_8, IMM_32, IMM_Z, LOOK_CLOSER, MAP_EVEX_4, MAP_VEX_0F } from './opcode-maps.ts';
import { PREFIX_66, REX_W } from './prefixes.ts';
import { addTestImmediate, type Stage } from './stage.ts';

/*
 * The prefixes of vector instructions hold the number of the opcode map (SDM vol. 2, sections 2.3.5
 * and 2.7.1; AMD vol. 3, section 1.9). `stage.at` is behind their first byte; afterwards it is behind
 * the opcode. False: no such map.
 *
 *     C5 [R vvvv L pp] opcode                               map 1
 *     C4 [RXB mmmmm]   [W vvvv L pp] opcode
 *     8F [RXB mmmmm]   [W vvvv L pp] opcode                 maps 8, 9, 10
 *     62 [RXBR' Bmmm]  [W vvvv U pp] [z L'L b V' aaa] opcode
 */

const PP_MASK = 3;
const PP_66 = 1;

export function readVex2(bytes: Uint8Array, stage: Stage): boolean {
  stage.entry = MAP_VEX_0F[bytes[stage.at + 1]!]!;
  stage.at += 2;
  return true;
}

export function readVex3(bytes: Uint8Array, stage: Stage): boolean {
  const map = bytes[stage.at]! & 0x1f;
  if (map === 4) return false;
  return setEntry(map, bytes[stage.at + 2]!, 3, stage);
}

export function readXop(bytes: Uint8Array, stage: Stage): boolean {
  const map = bytes[stage.at]! & 0x1f;
  if (map === 8) stage.entry = HAS_MODRM | IMM_8;
  else if (map === 9) stage.entry = HAS_MODRM;
  else if (map === 10) stage.entry = HAS_MODRM | IMM_32;
  else return false;
  stage.at += 3;
  return true;
}

export function readEvex(bytes: Uint8Array, mode: number, stage: Stage): boolean {
  const map = bytes[stage.at]! & 0x07;
  // APX is for 64-bit mode only.
  if (map === 4 && mode !== MODE_64) return false;
  const second = bytes[stage.at + 1]!;
  const opcode = bytes[stage.at + 3]!;
  if (!setEntry(map, opcode, 4, stage)) return false;
  if (map === 4) {
    // Only here the size of an immediate still depends on the operand size, which the prefix now holds.
    stage.prefixes = (stage.prefixes & ~PREFIX_66) | ((second & PP_MASK) === PP_66 ? PREFIX_66 : 0);
    stage.rex = (second & 0x80) !== 0 ? REX_W : 0;
    if ((stage.entry & LOOK_CLOSER) !== 0)
      addTestImmediate(stage, bytes[stage.at]!, opcode === 0xf6 ? IMM_8 : IMM_Z);
  }
  return true;
}

/** The maps that VEX and EVEX share by number: 0F, 0F 38, 0F 3A, and those that never had an old form. */
function setEntry(map: number, opcode: number, prefixSize: number, stage: Stage): boolean {
  switch (map) {
    case 1:
      stage.entry = MAP_VEX_0F[opcode]!;
      break;
    case 2:
    case 5:
    case 6:
      stage.entry = HAS_MODRM;
      break;
    case 3:
      stage.entry = HAS_MODRM | IMM_8;
      break;
    case 4:
      stage.entry = MAP_EVEX_4[opcode]!;
      break;
    case 7:
      // WRMSRNS, RDMSR, URDMSR, UWRMSR with the register number in the code.
      stage.entry = HAS_MODRM | IMM_32;
      break;
    default:
      return false;
  }
  stage.at += prefixSize;
  return true;
}
