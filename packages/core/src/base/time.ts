import { TWO_32 } from './u64.ts';

const NS = 1_000_000_000;

/**
 * Nanoseconds (an exact 64-bit pair) split into whole seconds and the rest.
 * 2^32 = 4 * 10^9 + 294967296, applied in steps of 16 bits so that each product stays below 2^53.
 */
export function splitNs(lo: number, hi: number): { seconds: number; nanoseconds: number } {
  if (hi < 0x20_0000) {
    const value = hi * TWO_32 + lo;
    const seconds = Math.floor(value / NS);
    return { seconds, nanoseconds: value - seconds * NS };
  }
  let seconds = 0;
  let rest = 0;
  for (const digit of [hi >>> 16, hi & 0xffff, lo >>> 16, lo & 0xffff]) {
    const value = rest * 0x1_0000 + digit;
    const quotient = Math.floor(value / NS);
    seconds = seconds * 0x1_0000 + quotient;
    rest = value - quotient * NS;
  }
  return { seconds, nanoseconds: rest };
}

/**
 * `seconds.nanoseconds` with 6 or 9 digits after the point, as perf prints times (truncated, not rounded).
 */
export function formatSeconds(lo: number, hi: number, digits: 6 | 9): string {
  const { seconds, nanoseconds } = splitNs(lo, hi);
  // A leading 1 keeps the zeros: cheaper than padding.
  return digits === 9
    ? `${seconds}.${String(NS + nanoseconds).slice(1)}`
    : `${seconds}.${String(1_000_000 + Math.floor(nanoseconds / 1000)).slice(1)}`;
}
