/** Numbers for people. Pure: the flame graph's page uses the same functions. */

const DURATION_UNITS: readonly [number, string][] = [
  [1e9, 's'],
  [1e6, 'ms'],
  [1e3, 'µs'],
];

/** `1234567` as `1,234,567`. */
export function countText(value: number | bigint): string {
  const digits = typeof value === 'bigint' ? value.toString() : Math.round(value).toString();
  return /e/.test(digits) ? digits : digits.replace(/\B(?=(\d{3})+$)/g, ',');
}

/** Three significant digits and the unit that fits, as in `12.3 ms`; hours and minutes where it is long. */
export function durationText(ns: number): string {
  if (ns >= 3600e9) return `${Math.floor(ns / 3600e9)} h ${Math.round((ns % 3600e9) / 60e9)} min`;
  if (ns >= 60e9) return `${Math.floor(ns / 60e9)} min ${Math.round((ns % 60e9) / 1e9)} s`;
  for (const [size, unit] of DURATION_UNITS) {
    if (ns >= size * 0.9995) return `${threeDigits(ns / size)} ${unit}`;
  }
  return `${Math.round(ns)} ns`;
}

/** `1.23 s` of a clock, `1,234 samples`, `56.7 M cycles`. */
export function weightText(value: number, unit: string): string {
  if (unit === 'nanoseconds') return durationText(value);
  if (unit === 'samples') return `${countText(value)} ${value === 1 ? 'sample' : 'samples'}`;
  return `${shortCount(value)} ${unit}`;
}

/** `part` of `whole` as `12.3%`. */
export function percentText(part: number, whole: number): string {
  if (!(whole > 0) || part === 0) return '0%';
  const percent = (part / whole) * 100;
  if (percent >= 99.995) return '100%';
  if (percent >= 10) return `${percent.toFixed(1)}%`;
  if (percent >= 0.01) return `${percent.toFixed(2)}%`;
  return '<0.01%';
}

function shortCount(value: number): string {
  if (value >= 999.5e9) return `${threeDigits(value / 1e12)} T`;
  if (value >= 999.5e6) return `${threeDigits(value / 1e9)} G`;
  if (value >= 999.5e3) return `${threeDigits(value / 1e6)} M`;
  return countText(value);
}

function threeDigits(value: number): string {
  if (value >= 99.95) return value.toFixed(0);
  return value >= 9.995 ? value.toFixed(1) : value.toFixed(2);
}
