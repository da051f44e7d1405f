import {
  decodeInstruction,
  Instruction,
  LONGEST_INSTRUCTION,
  MODE_64,
} from '@counterpoint/trace/instructions';

const LEGACY_PREFIXES: ReadonlySet<number> = /* @__PURE__ */ new Set([
  0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67, 0xf0, 0xf2, 0xf3,
]);
const scratch = new Uint8Array(LONGEST_INSTRUCTION + 1);
const scratchInstruction = new Instruction();

/** Offset behind the legacy prefixes, where REX or the opcode is. */
export function prefixEnd(bytes: Uint8Array, offset: number): number {
  let at = offset;
  while (LEGACY_PREFIXES.has(bytes[at]!)) at++;
  return at;
}

/** Where ModRM is if the instruction has one. */
function modrmOffset(bytes: Uint8Array, offset: number): number {
  let at = prefixEnd(bytes, offset);
  if ((bytes[at]! & 0xf0) === 0x40) at++;
  switch (bytes[at]) {
    case 0x0f:
      return bytes[at + 1] === 0x38 || bytes[at + 1] === 0x3a ? at + 3 : at + 2;
    case 0xc5:
      return at + 3;
    case 0xc4:
      return at + 4;
    case 0x62:
      return at + 5;
    case 0x8f:
      return (bytes[at + 1]! & 0x18) === 0 ? at + 1 : at + 4;
    case 0xd5:
      return at + 3;
    default:
      return at + 1;
  }
}

/**
 * Offset of the four bytes that say how far from its end an instruction of 64-bit code finds its operand,
 * from `offset`; 0 when it has no such operand.
 *
 * ModRM with mod 0 and rm 5 means that. Whether the byte is a ModRM at all, the decoder knows: with rm 0,
 * which takes no displacement, the instruction is four bytes shorter.
 */
export function ripDisplacement(bytes: Uint8Array, offset: number, length: number): number {
  const modrm = modrmOffset(bytes, offset);
  if (modrm + 5 > offset + length || (bytes[modrm]! & 0xc7) !== 0x05) return 0;
  scratch.fill(0);
  scratch.set(bytes.subarray(offset, offset + length));
  scratch[modrm - offset]! &= 0xf8;
  scratch.copyWithin(modrm - offset + 1, modrm - offset + 5);
  const shorter = decodeInstruction(scratch, 0, scratch.length, MODE_64, scratchInstruction);
  return shorter === length - 4 ? modrm - offset + 1 : 0;
}

/** It works with 32-bit addresses (prefix 67). */
export function hasAddressPrefix(bytes: Uint8Array, offset: number): boolean {
  const end = prefixEnd(bytes, offset);
  for (let at = offset; at < end; at++) if (bytes[at] === 0x67) return true;
  return false;
}
