import { Decompress } from 'fzstd';
import { FormatError } from '../../../base/index.ts';
import { SHF_COMPRESSED } from '../elf-facts.ts';
import {
  type ElfFile,
  findSection,
  readRawSection,
  readSectionBytes,
  unsigned64,
  viewOf,
} from '../elf-file.ts';
import { inflateZlib } from '../zlib/inflate.ts';

const ELFCOMPRESS_ZLIB = 1;
const ELFCOMPRESS_ZSTD = 2;
const CHDR_SIZE_32 = 12;
const CHDR_SIZE_64 = 24;
/** `ZLIB` and the size, big-endian: how GNU tools compressed sections before the gABI said how. */
const ZDEBUG_MAGIC = 0x5a4c_4942;
const ZDEBUG_HEADER_SIZE = 12;
/**
 * Debug sections get three to ten times smaller; what claims more than this of a large
 * section is a trap for memory.
 */
const MAX_RATIO = 64;
const FREE_BYTES = 16 << 20;
const MAX_BYTES = 1 << 30;
/** The window that a Zstandard decoder must keep: what zstd itself takes without being asked for more. */
const MAX_WINDOW_BYTES = 128 << 20;
/**
 * Frame header (RFC 8878, section 3.1.1.1): magic, descriptor, then the window's exponent and
 * mantissa unless it is one segment.
 */
const ZSTD_MAGIC = 0xfd2f_b528;
const ZSTD_SINGLE_SEGMENT = 0x20;
const ZSTD_LEAST_WINDOW_BITS = 10;

/**
 * A section such as `.debug_line`, decompressed where it is (SHF_COMPRESSED with zlib or Zstandard, or
 * `.zdebug_line`). Null where the file has none, or a damaged one, which is counted.
 */
export async function readDebugSection(elf: ElfFile, name: string): Promise<Uint8Array<ArrayBuffer> | null> {
  const section = findSection(elf, name);
  try {
    if (section !== null) {
      if ((section.flags & SHF_COMPRESSED) === 0) return await readSectionBytes(elf, section);
      const packed = await readRawSection(elf, section);
      return packed === null ? null : await decompressSection(elf, packed);
    }
    const old = findSection(elf, name.replace('.debug_', '.zdebug_'));
    const packed = old === null ? null : await readSectionBytes(elf, old);
    if (packed === null) return null;
    if (packed.length < ZDEBUG_HEADER_SIZE || viewOf(packed).getUint32(0, false) !== ZDEBUG_MAGIC)
      throw new FormatError('ERR_ZDEBUG', 0, 'ZLIB and a size', 'other bytes');
    return await inflateZlib(
      packed.subarray(ZDEBUG_HEADER_SIZE),
      checkedSize(unsigned64(viewOf(packed), 4, false), packed.length),
    );
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    elf.damage.add('elf-compressed-section', section?.offset ?? 0);
    return null;
  }
}

/**
 * `Elf64_Chdr`: type u32, reserved u32, size u64, alignment u64; `Elf32_Chdr`:
 * type, size, alignment, all u32.
 */
async function decompressSection(
  elf: ElfFile,
  packed: Uint8Array<ArrayBuffer>,
): Promise<Uint8Array<ArrayBuffer>> {
  const headerSize = elf.is64 ? CHDR_SIZE_64 : CHDR_SIZE_32;
  if (packed.length < headerSize) throw new FormatError('ERR_CHDR', 0, `${headerSize} bytes`, 'fewer');
  const view = viewOf(packed);
  const type = view.getUint32(0, elf.littleEndian);
  const claimed = elf.is64 ? unsigned64(view, 8, elf.littleEndian) : view.getUint32(4, elf.littleEndian);
  const sizeBytes = checkedSize(claimed, packed.length);
  const data = packed.subarray(headerSize);
  if (type === ELFCOMPRESS_ZLIB) return inflateZlib(data, sizeBytes);
  if (type === ELFCOMPRESS_ZSTD) return decompressZstd(data, sizeBytes);
  throw new FormatError('ERR_CHDR_TYPE', 0, 'compression 1 (zlib) or 2 (zstd)', String(type));
}

function checkedSize(claimed: number, packedBytes: number): number {
  if (claimed <= MAX_BYTES && claimed <= FREE_BYTES + packedBytes * MAX_RATIO) return claimed;
  throw new FormatError('ERR_COMPRESSED_SIZE', 0, 'a size that the bytes can have', String(claimed));
}

/** 0 where the frame is its own window, or is none. */
function windowBytes(bytes: Uint8Array<ArrayBuffer>): number {
  if (bytes.length < 6 || viewOf(bytes).getUint32(0, true) !== ZSTD_MAGIC) return 0;
  if ((bytes[4]! & ZSTD_SINGLE_SEGMENT) !== 0) return 0;
  const base = 2 ** (ZSTD_LEAST_WINDOW_BITS + (bytes[5]! >> 3));
  return base + (base / 8) * (bytes[5]! & 7);
}

function decompressZstd(bytes: Uint8Array<ArrayBuffer>, sizeBytes: number): Uint8Array<ArrayBuffer> {
  if (windowBytes(bytes) > MAX_WINDOW_BYTES)
    throw new FormatError(
      'ERR_ZSTD_WINDOW',
      0,
      `a window of at most ${MAX_WINDOW_BYTES} bytes`,
      'a larger one',
    );
  const output = new Uint8Array(sizeBytes);
  let used = 0;
  const stream = new Decompress((piece) => {
    if (piece.length > sizeBytes - used)
      throw new FormatError('ERR_ZSTD_SIZE', used, `${sizeBytes} bytes`, 'more');
    output.set(piece, used);
    used += piece.length;
  });
  try {
    stream.push(bytes, true);
  } catch (error) {
    if (error instanceof FormatError) throw error;
    throw new FormatError('ERR_ZSTD', used, 'Zstandard data', 'other bytes');
  }
  if (used !== sizeBytes) throw new FormatError('ERR_ZSTD_SIZE', used, `${sizeBytes} bytes`, 'fewer');
  return output;
}
