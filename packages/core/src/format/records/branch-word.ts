import {
  BRANCH_CYCLES_MASK,
  BRANCH_CYCLES_SHIFT,
  BRANCH_NEW_TYPE_SHIFT,
  BRANCH_PRIVILEGE_SHIFT,
  BRANCH_SPECULATION_SHIFT,
  BRANCH_TYPE_SHIFT,
} from '../abi/index.ts';

const FIELDS: readonly (readonly [at: number, bits: number])[] = [
  [0, 1],
  [1, 1],
  [2, 1],
  [3, 1],
  [BRANCH_CYCLES_SHIFT, 16],
  [BRANCH_TYPE_SHIFT, 4],
  [BRANCH_SPECULATION_SHIFT, 2],
  [BRANCH_NEW_TYPE_SHIFT, 4],
  [BRANCH_PRIVILEGE_SHIFT, 3],
  [33, 31],
];

/**
 * Converts the flags word of a big-endian machine to the form of a little-endian one, or back. On a
 * big-endian machine, C puts the first bit field into the highest bits. A field changes its place
 * and keeps the order of its bits:
 *
 *     little  63 … 33 | priv 32…30 | … | cycles 19…4 | abort | in_tx | predicted 1 | mispred 0
 *     big     mispred 63 | predicted 62 | in_tx | abort | cycles 59…44 | … | priv 33…31 | 30 … 0
 */
export function branchFlagsFrom(word: bigint, littleEndian: boolean): bigint {
  if (littleEndian) return word;
  let flags = 0n;
  for (const [at, bits] of FIELDS) {
    const field = (word >> BigInt(64 - at - bits)) & ((1n << BigInt(bits)) - 1n);
    flags |= field << BigInt(at);
  }
  return flags;
}

/** The flags as a machine of that byte order writes them. */
export function branchFlagsTo(flags: bigint, littleEndian: boolean): bigint {
  if (littleEndian) return flags;
  let word = 0n;
  for (const [at, bits] of FIELDS) {
    const field = (flags >> BigInt(at)) & ((1n << BigInt(bits)) - 1n);
    word |= field << BigInt(64 - at - bits);
  }
  return word;
}

/**
 * The low half of the converted flags, from the two halves of a big-endian machine's word. It has everything
 * but the top bit of `priv`.
 */
export function lowBranchFlags(wordLo: number, wordHi: number): number {
  const privilege = ((wordHi & 1) << 1) | (wordLo >>> 31);
  const flags =
    (wordHi >>> 31) |
    ((wordHi >>> 29) & 2) |
    ((wordHi >>> 27) & 4) |
    ((wordHi >>> 25) & 8) |
    (((wordHi >>> 12) & BRANCH_CYCLES_MASK) << BRANCH_CYCLES_SHIFT) |
    (((wordHi >>> 8) & 15) << BRANCH_TYPE_SHIFT) |
    (((wordHi >>> 6) & 3) << BRANCH_SPECULATION_SHIFT) |
    (((wordHi >>> 2) & 15) << BRANCH_NEW_TYPE_SHIFT) |
    (privilege << BRANCH_PRIVILEGE_SHIFT);
  return flags >>> 0;
}

/** The high half of the converted flags: the top bit of `priv`, then the reserved bits. */
export function highBranchFlags(wordLo: number, wordHi: number): number {
  return (((wordHi >>> 1) & 1) | (wordLo << 1)) >>> 0;
}
