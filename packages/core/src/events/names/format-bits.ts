/** The attr words that a sysfs format may name. */
export type ConfigField = 'config' | 'config1' | 'config2' | 'config3' | 'config4';

/** Where a term's bits go: bit `n` of the value is bit `bits[n]` of the word. */
export interface FormatBits {
  /** The word that has the bits. */
  readonly field: ConfigField;
  /** Bit of the word for each bit of the value, from the lowest. */
  readonly bits: readonly number[];
}

/**
 * A format of sysfs (Documentation/ABI/testing/sysfs-bus-event_source-devices-format):
 *
 *   config:0-7,32-35    value  [ b a 9 8 | 7 … 0 ]
 *                                   │        └──> config bits 7…0
 *                                   └───────────> config bits 35…32
 *
 * `null` for what is not one.
 */
export function parseFormat(text: string): FormatBits | null {
  const [field, ranges, more] = text.trim().split(':');
  if (field === undefined || more !== undefined || !/^config[1-4]?$/.test(field)) return null;
  if (ranges === undefined) return { field: field as ConfigField, bits: range(0, 63) };
  const bits: number[] = [];
  for (const piece of ranges.split(',')) {
    const match = /^(\d{1,2})(?:-(\d{1,2}))?$/.exec(piece.trim());
    if (match === null) return null;
    const from = Number(match[1]);
    const to = match[2] === undefined ? from : Number(match[2]);
    if (to < from || to > 63 || bits.length > 64) return null;
    bits.push(...range(from, to));
  }
  return bits.length > 64 ? null : { field: field as ConfigField, bits };
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}

export function largestValue(format: FormatBits): bigint {
  return (1n << BigInt(format.bits.length)) - 1n;
}

/** The value's bits in their places, and all places it could have taken. */
export function placeBits(format: FormatBits, value: bigint): { word: bigint; mask: bigint } {
  let word = 0n;
  let mask = 0n;
  format.bits.forEach((bit, index) => {
    const place = 1n << BigInt(bit);
    mask |= place;
    if ((value >> BigInt(index)) & 1n) word |= place;
  });
  return { word, mask };
}
