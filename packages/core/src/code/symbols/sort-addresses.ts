const DIGIT_BITS = 16;
const DIGITS = 1 << DIGIT_BITS;
const TWO_32 = 2 ** 32;

/**
 * Indices of `keys` by ascending key; equal keys keep their order. Keys are whole numbers: addresses.
 *
 * Radix sort on the distance from the smallest key, 16 bits a pass: two passes for a binary,
 * three for the address space. A comparison sort through an index takes five times as long, and
 * its worst inputs longer still.
 */
export function orderByAddress(keys: Float64Array): Uint32Array {
  const count = keys.length;
  let smallest = Number.POSITIVE_INFINITY;
  let largest = Number.NEGATIVE_INFINITY;
  for (let row = 0; row < count; row++) {
    const key = keys[row]!;
    if (key < smallest) smallest = key;
    if (key > largest) largest = key;
  }
  const range = largest - smallest;
  const low = new Uint32Array(count);
  const high = range < TWO_32 ? low : new Uint32Array(count);
  let order: Uint32Array = new Uint32Array(count);
  let other: Uint32Array = new Uint32Array(count);
  for (let row = 0; row < count; row++) {
    const distance = keys[row]! - smallest;
    const above = Math.floor(distance / TWO_32);
    high[row] = above;
    low[row] = distance - above * TWO_32;
    order[row] = row;
  }
  const places = new Uint32Array(DIGITS);
  for (let bits = 0; range >= 2 ** bits; bits += DIGIT_BITS) {
    sortByDigit(bits < 32 ? low : high, bits & 31, order, other, places);
    const sorted = other;
    other = order;
    order = sorted;
  }
  return order;
}

/** One stable pass: moves the rows of `from` to `to` by the 16 bits of their key above `shift`. */
function sortByDigit(
  keys: Uint32Array,
  shift: number,
  from: Uint32Array,
  to: Uint32Array,
  places: Uint32Array,
): void {
  places.fill(0);
  for (let row = 0; row < keys.length; row++) places[(keys[row]! >>> shift) & (DIGITS - 1)]!++;
  let place = 0;
  for (let digit = 0; digit < DIGITS; digit++) {
    const size = places[digit]!;
    places[digit] = place;
    place += size;
  }
  for (let at = 0; at < from.length; at++) {
    const row = from[at]!;
    to[places[(keys[row]! >>> shift) & (DIGITS - 1)]!++] = row;
  }
}
