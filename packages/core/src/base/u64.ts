/**
 * 64-bit values as pairs of unsigned 32-bit halves. `bigint` costs 2-8 times a pair in
 * V8, so it stays at public edges.
 */

export const TWO_32 = 0x1_0000_0000;

/** As float64: exact below 2^53, else rounded. */
export function toFloat(lo: number, hi: number): number {
  return hi * TWO_32 + lo;
}

/** As float64 of a signed 64-bit value (sample time differences, PMU offsets). */
export function toSignedFloat(lo: number, hi: number): number {
  return (hi | 0) * TWO_32 + lo;
}

/** The 64-bit value, unsigned, of its lower and upper 32 bits. */
export function toBigInt(lo: number, hi: number): bigint {
  return (BigInt(hi) << 32n) | BigInt(lo);
}

/**
 * The 64-bit word at a place of a view, from its halves: `getBigUint64` costs eight times as much in Node 20.
 */
export function bigIntAt(view: DataView, at: number, littleEndian: boolean): bigint {
  const first = view.getUint32(at, littleEndian);
  const second = view.getUint32(at + 4, littleEndian);
  return littleEndian ? toBigInt(first, second) : toBigInt(second, first);
}

/** The 64-bit word at a place of a view as float64: exact below 2^53, else rounded. */
export function floatAt(view: DataView, at: number, littleEndian: boolean): number {
  const first = view.getUint32(at, littleEndian);
  const second = view.getUint32(at + 4, littleEndian);
  return littleEndian ? toFloat(first, second) : toFloat(second, first);
}

/** The lower 32 bits, as an unsigned number. */
export function loOf(value: bigint): number {
  return Number(value & 0xffff_ffffn);
}

/** The upper 32 bits, as an unsigned number. */
export function hiOf(value: bigint): number {
  return Number((value >> 32n) & 0xffff_ffffn);
}

const HEX8 = '00000000';

/** Lower-case hex without prefix and without leading zeros. */
export function toHex(lo: number, hi: number): string {
  const low = lo.toString(16);
  return hi === 0 ? low : hi.toString(16) + HEX8.slice(low.length) + low;
}

/** Exact decimal text of an unsigned pair. */
export function toDecimal(lo: number, hi: number): string {
  return hi < 0x20_0000 ? String(hi * TWO_32 + lo) : toBigInt(lo, hi).toString();
}

/** Unsigned comparison of two pairs: negative, 0 or positive. */
export function compareU64(aLo: number, aHi: number, bLo: number, bHi: number): number {
  return aHi !== bHi ? aHi - bHi : aLo - bLo;
}
