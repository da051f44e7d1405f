/** Punycode (RFC 3492) as Rust uses it in identifiers: the digits are a-z for 0-25, then 0-9 for 26-35. */

const BASE = 36;
const T_MIN = 1;
const T_MAX = 26;
const SKEW = 38;
const DAMP = 700;
const INITIAL_BIAS = 72;
const INITIAL_CODE = 0x80;
const LAST_CODE = 0x10ffff;
/** Far above what people write; inserting into an array is quadratic. */
const LENGTH_LIMIT = 1024;

/** `plain` with the characters inserted that `encoded` tells, or null where it is not Punycode. */
export function decodePunycode(plain: string, encoded: string): string | null {
  if (encoded === '' || plain.length + encoded.length > LENGTH_LIMIT) return null;
  const codes = Array.from(plain, (letter) => letter.charCodeAt(0));
  let code = INITIAL_CODE;
  let index = 0;
  let bias = INITIAL_BIAS;
  let position = 0;
  while (position < encoded.length) {
    // A number of variable length: its last digit is the first below a threshold that follows the bias.
    const before = index;
    let weight = 1;
    for (let k = BASE; ; k += BASE) {
      if (position >= encoded.length) return null;
      const digit = digitOf(encoded.charCodeAt(position++));
      if (digit < 0) return null;
      index += digit * weight;
      if (index > Number.MAX_SAFE_INTEGER) return null;
      const threshold = Math.min(Math.max(k - bias, T_MIN), T_MAX);
      if (digit < threshold) break;
      weight *= BASE - threshold;
    }
    const count = codes.length + 1;
    bias = adapt(index - before, count, before === 0 && codes.length === plain.length);
    code += Math.floor(index / count);
    index %= count;
    if (code > LAST_CODE || (code >= 0xd800 && code <= 0xdfff)) return null;
    codes.splice(index++, 0, code);
  }
  return codes.map((each) => String.fromCodePoint(each)).join('');
}

function digitOf(letter: number): number {
  if (letter >= 0x61 && letter <= 0x7a) return letter - 0x61;
  return letter >= 0x30 && letter <= 0x39 ? letter - 0x30 + 26 : -1;
}

/** RFC 3492, section 6.1. */
function adapt(delta: number, count: number, isFirst: boolean): number {
  let rest = Math.floor(delta / (isFirst ? DAMP : 2));
  rest += Math.floor(rest / count);
  let k = 0;
  while (rest > ((BASE - T_MIN) * T_MAX) >> 1) {
    rest = Math.floor(rest / (BASE - T_MIN));
    k += BASE;
  }
  return k + Math.floor(((BASE - T_MIN + 1) * rest) / (rest + SKEW));
}
