/** Sixteen digits of a 64-bit value in two halves. */
export function hex64(lo: number, hi: number): string {
  return (hi >>> 0).toString(16).padStart(8, '0') + (lo >>> 0).toString(16).padStart(8, '0');
}

/** As few digits as it takes. */
export function hex64Short(lo: number, hi: number): string {
  return hi === 0
    ? (lo >>> 0).toString(16)
    : (hi >>> 0).toString(16) + (lo >>> 0).toString(16).padStart(8, '0');
}
