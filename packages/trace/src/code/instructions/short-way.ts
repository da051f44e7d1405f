import { MODRM_32, MODRM_SIB_DECIDES } from './modrm.ts';
import {
  HAS_MODRM,
  IMM_8,
  IMM_16,
  IMM_16_8,
  IMM_MASK,
  IMM_NONE,
  IMM_OFFSET,
  IMM_V,
  IMM_Z,
  IS_PREFIX,
  KIND_SHIFT,
  LOOK_CLOSER,
  MAP_0F,
  ONE_BYTE_64,
  REL_8,
  REL_Z,
} from './opcode-maps.ts';
import { REX_W } from './prefixes.ts';

/*
 * What the first two bytes say about most instructions of 64-bit code: those without prefixes besides REX
 * whose opcode is the first or second byte and tells all. A decoder is bound by look-ups that wait for each
 * other and by branches that nobody can foresee; this is one look-up and, for ModRM as third byte, a second.
 * `decodeAny` knows all of it too, and a test compares.
 *
 *     opcode ModRM ...          the size of both is known here, but for SIB
 *     REX    opcode ModRM ...   } what the third byte adds is looked up
 *     0F     opcode ModRM ...   }
 *
 *      15    11    8   7   6     5      4       3      0
 *     | kind  |  displ.  | not | SIB | ModRM | length |
 */
export const SHORT_LENGTH = 0x000f;
/** The third byte is ModRM, its size not counted yet. */
export const SHORT_MODRM = 0x0010;
export const SHORT_MODRM_SHIFT = 4;
/** The third byte is a SIB that may bring four bytes more. */
export const SHORT_SIB = 0x0020;
/** None of these. */
export const SHORT_NOT = 0x0040;
export const SHORT_DISPLACEMENT = 0x0180;
export const SHORT_REL_8 = 0x0080;
export const SHORT_REL_32 = 0x0100;

/** Bytes of an immediate with 4-byte operands; others do not occur here. */
const IMM_BYTES: Record<number, number> = {
  [IMM_NONE]: 0,
  [IMM_8]: 1,
  [IMM_16]: 2,
  [IMM_Z]: 4,
  [IMM_V]: 4,
  [IMM_OFFSET]: 8,
  [IMM_16_8]: 3,
  [REL_8]: 1,
  [REL_Z]: 4,
};

/** By second byte and, in the high half of the index, first byte. */
export const SHORT_WAY: Uint16Array = new Uint16Array(1 << 16);
// Row by row: every program that decodes instructions waits for it, and each entry on its own
// would take ten times as long.
for (let first = 0; first < 256; first++) {
  const row = SHORT_WAY.subarray(first << 8, (first + 1) << 8);
  if ((first & 0xf0) === 0x40) fillBehindRex(row, first);
  else if (first === 0x0f)
    for (let second = 0; second < 256; second++) row[second] = describe(MAP_0F[second]!, 2, false);
  else fillWithSecond(row, describe(ONE_BYTE_64[first]!, 1, false));
}

/**
 * The second byte is the opcode. Of REX, only W tells of sizes: two rows are worked
 * out, and the others are the same.
 */
function fillBehindRex(row: Uint16Array, first: number): void {
  const known = 0x40 | (first & REX_W);
  if (first !== known) {
    row.set(SHORT_WAY.subarray(known << 8, (known + 1) << 8));
    return;
  }
  for (let second = 0; second < 256; second++)
    row[second] = describe(ONE_BYTE_64[second]!, 2, (first & REX_W) !== 0);
  row[0x0f] = SHORT_NOT;
}

/** The second byte is ModRM, or tells nothing. */
function fillWithSecond(row: Uint16Array, info: number): void {
  if ((info & SHORT_MODRM) === 0) {
    row.fill(info);
    return;
  }
  for (let modrm = 0; modrm < 256; modrm++) {
    const size = MODRM_32[modrm]!;
    const sib = size >= MODRM_SIB_DECIDES ? SHORT_SIB : 0;
    row[modrm] = (info - SHORT_MODRM + (size & ~MODRM_SIB_DECIDES)) | sib;
  }
}

/** An instruction by its opcode, its ModRM not counted yet. */
function describe(entry: number, opcodeBytes: number, isWide: boolean): number {
  const immediate = entry & IMM_MASK;
  const immediateBytes = immediate === IMM_V && isWide ? 8 : IMM_BYTES[immediate];
  if ((entry & (LOOK_CLOSER | IS_PREFIX)) !== 0 || immediateBytes === undefined) return SHORT_NOT;
  let info = (entry >>> KIND_SHIFT) << KIND_SHIFT;
  if (immediate === REL_8) info |= SHORT_REL_8;
  if (immediate === REL_Z) info |= SHORT_REL_32;
  if ((entry & HAS_MODRM) !== 0) info |= SHORT_MODRM;
  return info | (opcodeBytes + immediateBytes);
}
