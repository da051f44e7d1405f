/**
 * CRC-64 as in XZ (ECMA-182 polynomial, reflected: 0xc96c5795_d7870f42, start and end
 * inverted), in halves of 32 bits.
 */
const TABLE_LO: Uint32Array = new Uint32Array(256);
const TABLE_HI: Uint32Array = new Uint32Array(256);
for (let byte = 0; byte < 256; byte++) {
  let lo = byte;
  let hi = 0;
  for (let bit = 0; bit < 8; bit++) {
    const carry = lo & 1;
    lo = (lo >>> 1) | (hi << 31);
    hi >>>= 1;
    if (carry !== 0) {
      lo ^= 0xd787_0f42;
      hi ^= 0xc96c_5795;
    }
  }
  TABLE_LO[byte] = lo;
  TABLE_HI[byte] = hi;
}

export function crc64(bytes: Uint8Array): { lo: number; hi: number } {
  let lo = -1;
  let hi = -1;
  for (let at = 0; at < bytes.length; at++) {
    const entry = (lo ^ bytes[at]!) & 0xff;
    lo = TABLE_LO[entry]! ^ ((lo >>> 8) | (hi << 24));
    hi = TABLE_HI[entry]! ^ (hi >>> 8);
  }
  return { lo: ~lo >>> 0, hi: ~hi >>> 0 };
}
