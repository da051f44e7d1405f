/** Numbers for a person. */

const SIZE_UNITS = ['bytes', 'KB', 'MB', 'GB', 'TB'];

/** `0 bytes`, `14.2 KB`, `3.10 MB`: steps of 1024, as perf prints them. */
export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < SIZE_UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${unit === 0 ? value : threeDigits(value)} ${SIZE_UNITS[unit]}`;
}

/** `820 ns`, `4.10 us`, `12.3 ms`, `5.02 s`, `2 min 05 s`. */
export function formatDuration(ns: number): string {
  if (ns < 1e3) return `${Math.round(ns)} ns`;
  if (ns < 1e6) return `${threeDigits(ns / 1e3)} us`;
  if (ns < 1e9) return `${threeDigits(ns / 1e6)} ms`;
  if (ns < 60e9) return `${threeDigits(ns / 1e9)} s`;
  const seconds = Math.round(ns / 1e9);
  return `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, '0')} s`;
}

/** `1,234,567`. */
export function formatCount(count: number | bigint): string {
  return count.toString().replace(/\B(?=(\d{3})+$)/g, ',');
}

function threeDigits(value: number): string {
  return value >= 99.95 ? value.toFixed(0) : value >= 9.995 ? value.toFixed(1) : value.toFixed(2);
}

/**
 * Two digits behind the point, as C's printf has them: of a value right in the middle the even neighbour,
 * where toFixed takes the larger. Only eighths can be in the middle: 3.125 is 3.12, 3.375 is 3.38.
 */
export function twoDigits(value: number): string {
  const eighths = value * 8;
  const goesDown = Number.isInteger(eighths) && eighths % 4 === 1;
  return (goesDown ? value - 0.005 : value).toFixed(2);
}

/** `3.12%` */
export function percentText(percent: number): string {
  return `${twoDigits(percent)}%`;
}

/** `1 time`, `1234 times`: as perf writes numbers in its last lines. */
export function plainCount(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** `1 sample`, `1,234 samples`. */
export function countOf(count: number | bigint, noun: string): string {
  return `${formatCount(count)} ${noun}${BigInt(count) === 1n ? '' : 's'}`;
}
