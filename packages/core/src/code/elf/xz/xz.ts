import { FormatError } from '../../../base/index.ts';
import { crc32 } from '../crc32.ts';
import { crc64 } from './crc64.ts';
import { LzmaDecoder } from './lzma.ts';

/**
 * The XZ container (The .xz File Format 1.2.0) with LZMA2, as in `.gnu_debugdata`:
 *
 *     stream header | block | block | ... | index | stream footer
 *                     header, LZMA2 chunks, padding, check
 *
 * Other filters (delta, BCJ) are not decoded: no tool writes them there. One stream is read.
 */

const MAGIC = [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00];
const STREAM_HEADER_SIZE = 12;
const FOOTER_SIZE = 12;
const FILTER_LZMA2 = 0x21;
const CHECK_CRC32 = 1;
const CHECK_CRC64 = 4;
/** Bytes of a check by its type (section 2.1.1.2). */
const CHECK_SIZES = Uint8Array.of(0, 4, 4, 4, 8, 8, 8, 16, 16, 16, 32, 32, 32, 64, 64, 64);

/**
 * The decompressed bytes, at most `maxBytes` of them. Throws FormatError; checks CRC-32 and
 * CRC-64 where the file has them.
 */
export function decompressXz(bytes: Uint8Array<ArrayBuffer>, maxBytes: number): Uint8Array<ArrayBuffer> {
  const reader = new Reader(bytes);
  if (bytes.length < STREAM_HEADER_SIZE + FOOTER_SIZE || MAGIC.some((byte, at) => bytes[at] !== byte))
    throw new FormatError('ERR_NOT_XZ', 0, 'an XZ stream', 'other bytes');
  reader.expectCrc(6, 8, 8);
  const check = bytes[7]!;
  if (bytes[6] !== 0 || check > 15) throw new FormatError('ERR_XZ_FLAGS', 6, 'known stream flags', 'others');
  reader.at = STREAM_HEADER_SIZE;

  const decoder = new LzmaDecoder();
  const sizes: { unpadded: number; size: number }[] = [];
  while (reader.byteAt(reader.at) !== 0) {
    const blockStart = reader.at;
    const outputStart = decoder.length;
    const declared = readBlockHeader(reader);
    const dataStart = reader.at;
    readLzma2(reader, decoder, maxBytes);
    const compressed = reader.at - dataStart;
    const size = decoder.length - outputStart;
    if ((declared.compressed ?? compressed) !== compressed || (declared.size ?? size) !== size)
      throw new FormatError('ERR_XZ_SIZE', blockStart, 'the sizes of the block header', 'others');
    while ((reader.at - blockStart) % 4 !== 0) reader.expectZero();
    verify(reader, check, decoder.output.subarray(outputStart, decoder.length));
    // Index records count header, data and check, without the padding before the check.
    sizes.push({ unpadded: dataStart - blockStart + compressed + CHECK_SIZES[check]!, size });
  }
  readIndex(reader, sizes);
  return decoder.output.subarray(0, decoder.length);
}

/** Block header: size, flags, sizes where flagged, filters, padding, CRC-32 (section 3.1). */
function readBlockHeader(reader: Reader): { compressed: number | null; size: number | null } {
  const start = reader.at;
  const size = (reader.byteAt(start) + 1) * 4;
  reader.expectCrc(start, start + size - 4, start + size - 4);
  const flags = reader.byteAt(start + 1);
  reader.at = start + 2;
  const compressed = (flags & 0x40) !== 0 ? reader.varint() : null;
  const uncompressed = (flags & 0x80) !== 0 ? reader.varint() : null;
  const filter = reader.varint();
  if ((flags & 0x3f) !== 0 || filter !== FILTER_LZMA2)
    throw new FormatError('ERR_XZ_FILTER', start, 'LZMA2 alone', `filter ${filter}, flags ${flags}`);
  // One byte of properties: the dictionary's size. The whole output is kept, so it does not matter here.
  if (reader.varint() !== 1)
    throw new FormatError('ERR_XZ_FILTER', start, 'one byte of properties', 'others');
  reader.at = start + size;
  return { compressed, size: uncompressed };
}

/**
 * LZMA2 chunks, up to the end marker 0:
 *
 *     01|02 size16 bytes                 stored; 01 resets the dictionary
 *     1RRsssss size16 packed16 [props]   LZMA; R: 0 nothing, 1 state, 2 state and properties, 3 all and the dictionary
 */
function readLzma2(reader: Reader, decoder: LzmaDecoder, maxBytes: number): void {
  let needsDictionary = true;
  let needsState = true;
  let needsProperties = true;
  for (;;) {
    const start = reader.at;
    const control = reader.byte();
    if (control === 0) return;
    const isLzma = control >= 0x80;
    const size = (isLzma ? (control & 0x1f) << 16 : 0) + reader.uint16() + 1;
    if (decoder.length + size > maxBytes)
      throw new FormatError('ERR_XZ_TOO_LARGE', start, `at most ${maxBytes} bytes`, 'more');
    if (isLzma ? control >= 0xe0 : control === 1) {
      decoder.dictionaryStart = decoder.length;
      needsDictionary = false;
    }
    if (needsDictionary || (!isLzma && control > 2))
      throw new FormatError('ERR_XZ_DATA', start, 'an LZMA2 chunk', `control byte ${control}`);
    if (!isLzma) {
      decoder.reserve(size);
      decoder.output.set(reader.take(size), decoder.length);
      decoder.length += size;
      continue;
    }
    const packed = reader.uint16() + 1;
    if (control >= 0xc0) {
      if (!decoder.setProperties(reader.byte()))
        throw new FormatError('ERR_XZ_DATA', start, 'LZMA properties', 'others');
      needsProperties = false;
    }
    if (control >= 0xa0) {
      decoder.resetState();
      needsState = false;
    }
    if (needsProperties || needsState)
      throw new FormatError('ERR_XZ_DATA', start, 'a chunk that resets the state', `control byte ${control}`);
    decoder.decodeChunk(reader.take(packed), size, start);
  }
}

function verify(reader: Reader, check: number, output: Uint8Array): void {
  const at = reader.at;
  const stored = reader.take(CHECK_SIZES[check]!);
  const word = (from: number) =>
    (stored[from]! | (stored[from + 1]! << 8) | (stored[from + 2]! << 16) | (stored[from + 3]! << 24)) >>> 0;
  let isGood = true;
  if (check === CHECK_CRC32) isGood = word(0) === crc32(output);
  else if (check === CHECK_CRC64) {
    const { lo, hi } = crc64(output);
    isGood = word(0) === lo && word(4) === hi;
  }
  if (!isGood) throw new FormatError('ERR_XZ_CHECK', at, 'the checksum of the block', 'another');
}

/** Index: 0, number of blocks, their sizes, padding, CRC-32; then the footer (sections 4 and 2.1.2). */
function readIndex(reader: Reader, blocks: { unpadded: number; size: number }[]): void {
  const start = reader.at;
  reader.at++;
  if (reader.varint() !== blocks.length)
    throw new FormatError('ERR_XZ_INDEX', start, `${blocks.length} blocks`, 'another number');
  for (const block of blocks) {
    if (reader.varint() !== block.unpadded || reader.varint() !== block.size)
      throw new FormatError('ERR_XZ_INDEX', start, 'the sizes of the blocks', 'others');
  }
  while ((reader.at - start) % 4 !== 0) reader.expectZero();
  reader.expectCrc(start, reader.at, reader.at);
  const footer = reader.at + 4;
  reader.expectCrc(footer + 4, footer + 10, footer);
  if (reader.byteAt(footer + 10) !== 0x59 || reader.byteAt(footer + 11) !== 0x5a)
    throw new FormatError('ERR_XZ_FOOTER', footer, 'the end of an XZ stream', 'other bytes');
}

class Reader {
  at = 0;
  readonly #bytes: Uint8Array<ArrayBuffer>;

  constructor(bytes: Uint8Array<ArrayBuffer>) {
    this.#bytes = bytes;
  }

  byteAt(at: number): number {
    if (at >= this.#bytes.length) throw this.#cut();
    return this.#bytes[at]!;
  }

  byte(): number {
    return this.byteAt(this.at++);
  }

  /** Big endian, as LZMA2 sizes are. */
  uint16(): number {
    const high = this.byte();
    return high * 256 + this.byte();
  }

  take(size: number): Uint8Array<ArrayBuffer> {
    if (this.at + size > this.#bytes.length) throw this.#cut();
    this.at += size;
    return this.#bytes.subarray(this.at - size, this.at);
  }

  /** Seven bits a byte, lowest first; up to 63 bits by the format, to 2^53 here. */
  varint(): number {
    let value = 0;
    for (let scale = 1; scale < 2 ** 49; scale *= 128) {
      const byte = this.byte();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
    throw new FormatError('ERR_XZ_NUMBER', this.at, 'a number below 2^49', 'a longer one');
  }

  expectZero(): void {
    if (this.byte() !== 0) throw new FormatError('ERR_XZ_PADDING', this.at - 1, '0', 'another byte');
  }

  /** The little-endian CRC-32 at `crcAt` must be that of the bytes from `from` to `to`. */
  expectCrc(from: number, to: number, crcAt: number): void {
    if (to > this.#bytes.length || crcAt + 4 > this.#bytes.length) throw this.#cut();
    const stored = new DataView(this.#bytes.buffer, this.#bytes.byteOffset + crcAt, 4).getUint32(0, true);
    if (stored !== crc32(this.#bytes.subarray(from, to)))
      throw new FormatError('ERR_XZ_CHECK', crcAt, 'the checksum of the header', 'another');
  }

  #cut(): FormatError {
    return new FormatError('ERR_XZ_CUT', this.#bytes.length, 'more bytes', 'the end');
  }
}
