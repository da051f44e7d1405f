import type { ByteSource } from '../../base/index.ts';

/**
 * CRC-32 as in gzip, `.gnu_debuglink` and XZ: polynomial 0x04c11db7 reflected, start and end inverted.
 * Four tables take four bytes a step: table k maps a byte that has k further bytes behind it.
 */
const TABLES: Uint32Array = new Uint32Array(4 * 256);
for (let byte = 0; byte < 256; byte++) {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = (crc & 1) !== 0 ? (crc >>> 1) ^ 0xedb8_8320 : crc >>> 1;
  TABLES[byte] = crc;
}
for (let entry = 256; entry < 1024; entry++) {
  const shorter = TABLES[entry - 256]!;
  TABLES[entry] = (shorter >>> 8) ^ TABLES[shorter & 0xff]!;
}

/** Continues `crc` (0 at the start) over `bytes`. */
export function crc32(bytes: Uint8Array, crc = 0): number {
  let state = ~crc;
  let at = 0;
  for (const end = bytes.length - 3; at < end; at += 4) {
    state ^= bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
    state =
      TABLES[768 + (state & 0xff)]! ^
      TABLES[512 + ((state >>> 8) & 0xff)]! ^
      TABLES[256 + ((state >>> 16) & 0xff)]! ^
      TABLES[state >>> 24]!;
  }
  for (; at < bytes.length; at++) state = (state >>> 8) ^ TABLES[(state ^ bytes[at]!) & 0xff]!;
  return ~state >>> 0;
}

const CHUNK_BYTES = 1 << 20;

/** CRC-32 of a whole source, a piece at a time. */
export async function crc32OfSource(source: ByteSource): Promise<number> {
  let crc = 0;
  for (let offset = 0; offset < source.size; ) {
    const bytes = await source.read(offset, CHUNK_BYTES);
    if (bytes.length === 0) break;
    crc = crc32(bytes, crc);
    offset += bytes.length;
  }
  return crc;
}
