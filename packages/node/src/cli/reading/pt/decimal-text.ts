/** Digits of 0 to 999, with their zeros in front. */
const THREE_DIGITS: readonly string[] = Array.from({ length: 1000 }, (_, value) =>
  String(value).padStart(3, '0'),
);
const SPLIT = 1e6;

/** The last three digits of a whole number from 0 on. */
export function lastThreeDigits(value: number): string {
  return THREE_DIGITS[value % 1000]!;
}

/**
 * Whole numbers as text, four times as fast as `String` where many follow that differ in their last digits
 * only, as times do: V8 converts what is above 2^31 as a fraction.
 */
export class DecimalText {
  #high = Number.NaN;
  #highText = '';

  of(value: number): string {
    if (!(value >= SPLIT && value <= Number.MAX_SAFE_INTEGER)) return String(value);
    const high = Math.floor(value / SPLIT);
    if (high !== this.#high) {
      this.#high = high;
      this.#highText = String(high);
    }
    const low = (value - high * SPLIT) | 0;
    const thousands = (low / 1000) | 0;
    return this.#highText + THREE_DIGITS[thousands]! + THREE_DIGITS[low - thousands * 1000]!;
  }
}
