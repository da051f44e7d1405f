import {
  PERF_RECORD_COMPRESSED,
  PERF_RECORD_HEADER_FEATURE,
  RECORD_HEADER_SIZE,
} from '../format/abi/index.ts';

// Records as bytes, right or wrong, for tests of what a reader makes of them. Little-endian.

/** A record of any type and content. */
export function rawRecord(type: number, body: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(RECORD_HEADER_SIZE + body.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, type, true);
  view.setUint16(6, bytes.length, true);
  bytes.set(body, RECORD_HEADER_SIZE);
  return bytes;
}

/** Words of 64 bits. */
export function words(...values: (number | bigint)[]): Uint8Array<ArrayBuffer> {
  return new Uint8Array(BigUint64Array.from(values, (value) => BigInt(value)).buffer);
}

export function joined(...parts: Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

export function featureRecord(bit: number, content: Uint8Array): Uint8Array<ArrayBuffer> {
  return rawRecord(PERF_RECORD_HEADER_FEATURE, joined(words(bit), content));
}

/**
 * Begins a Zstandard frame with a window of 128 KiB (RFC 8878, 3.1.1.1). It stays open, as perf leaves it.
 */
const ZSTD_FRAME = Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 0x00, 7 << 3);
const MAX_BLOCK = 1 << 17;

/** One COMPRESSED record; its content in blocks as they are. `isFirst`: the one that begins the frame. */
export function packed(content: Uint8Array, isFirst: boolean): Uint8Array<ArrayBuffer> {
  return rawRecord(
    PERF_RECORD_COMPRESSED,
    joined(isFirst ? ZSTD_FRAME : new Uint8Array(), blockHeader(0, content.length), content),
  );
}

/** One COMPRESSED record that says `blocks` times 128 KiB of the same byte, 4 bytes for each. */
export function packedRuns(byte: number, blocks: number, isFirst: boolean): Uint8Array<ArrayBuffer> {
  const run = joined(blockHeader(1, MAX_BLOCK), Uint8Array.of(byte));
  return rawRecord(
    PERF_RECORD_COMPRESSED,
    joined(isFirst ? ZSTD_FRAME : new Uint8Array(), ...Array.from({ length: blocks }, () => run)),
  );
}

/** Bit 0: the last block; bits 1 and 2: its kind (0 as it is, 1 a run); then its size. */
function blockHeader(kind: number, size: number): Uint8Array {
  const value = (size << 3) | (kind << 1);
  return Uint8Array.of(value & 0xff, (value >> 8) & 0xff, value >> 16);
}
