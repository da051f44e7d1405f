/** Values of options as text: each function gives `null` for what it cannot read. */

/** Number and suffix apart: `25k` -> 25, `k`. */
function split(text: string): { value: number; suffix: string } | null {
  const match = /^([+-]?\d{1,18}(?:\.\d{1,9})?)([a-zA-Z]*)$/.exec(text);
  return match === null ? null : { value: Number(match[1]), suffix: match[2]! };
}

/** A plain number, whole unless `fraction`. Null for what is none. */
export function parseNumber(text: string, fraction: boolean): number | null {
  const parts = split(text);
  if (parts === null || parts.suffix !== '') return null;
  return fraction || Number.isSafeInteger(parts.value) ? parts.value : null;
}

const THOUSANDS: Record<string, number> = { '': 1, k: 1e3, m: 1e6, g: 1e9 };

/**
 * A whole number with `k`, `M` or `G` (thousand, million, billion; in either case): `25k` is 25,000, `1.5k`
 * is 1,500. A sign is kept. Null for what is no whole number.
 */
export function parseCount(text: string): number | null {
  return scaled(text, THOUSANDS, true);
}

const BYTES: Record<string, number> = {
  '': 1,
  b: 1,
  k: 0x400,
  kb: 0x400,
  m: 0x10_0000,
  mb: 0x10_0000,
  g: 0x4000_0000,
  gb: 0x4000_0000,
  t: 0x100_0000_0000,
  tb: 0x100_0000_0000,
};

/**
 * A size in bytes with `B`, `K`, `M`, `G`, `T` or `KB`, `MB`, `GB`, `TB` (powers of 1,024; in either case):
 * `64K` is 65,536. A sign is kept. Null for what is no whole number of bytes.
 */
export function parseSizeBytes(text: string): number | null {
  return scaled(text, BYTES, true);
}

const MILLISECONDS: Record<string, number> = { '': 1, ns: 1e-6, us: 1e-3, ms: 1, s: 1e3, m: 6e4, h: 36e5 };

/** The longest that a timer waits; setTimeout takes what is longer for 1 ms. */
export const MOST_TIMER_MS: number = 2 ** 31 - 1;

/**
 * A duration in milliseconds, from text with `ns`, `us`, `ms`, `s`, `m` (minutes) or `h`, in either case; a
 * plain number is milliseconds. `10ms` is 10, `1.5s` is 1,500, `250us` is 0.25. A sign is kept. Null for what
 * is no duration.
 */
export function parseDurationMs(text: string): number | null {
  return scaled(text, MILLISECONDS, false);
}

function scaled(text: string, units: Record<string, number>, whole: boolean): number | null {
  const parts = split(text);
  if (parts === null) return null;
  const unit = parts.suffix.toLowerCase();
  const factor = Object.hasOwn(units, unit) ? units[unit]! : null;
  if (factor === null) return null;
  const value = parts.value * factor;
  return !whole || Number.isSafeInteger(value) ? value : null;
}

/** No machine has more CPUs, and no list of a person is longer. */
export const MOST_RANGE_VALUES = 65_536;

/** `0-3,8` -> 0, 1, 2, 3, 8. As in perf, a comma too many says nothing: `0,`. */
export function parseRanges(text: string): number[] | null {
  const values: number[] = [];
  const pieces = text.split(',').filter((piece) => piece !== '');
  if (pieces.length === 0) return null;
  for (const piece of pieces) {
    const match = /^(\d{1,9})(?:-(\d{1,9}))?$/.exec(piece.trim());
    if (match === null) return null;
    const from = Number(match[1]);
    const to = match[2] === undefined ? from : Number(match[2]);
    if (to < from || values.length + (to - from) >= MOST_RANGE_VALUES) return null;
    for (let value = from; value <= to; value++) values.push(value);
  }
  return values;
}
