import type { DamageLog } from '../../../base/index.ts';
import { floatAt } from '../../../base/index.ts';
import { PERF_RECORD_COMPRESSED2, RECORD_HEADER_SIZE } from '../../../format/abi/index.ts';
import { type Chunk, type ChunkPool, fileOffsetOf } from './chunk-source.ts';
import { DecompressedTooLarge, loadPortableZstd, type ZstdFactory, type ZstdStream } from './zstd.ts';

/**
 * How much may be made of the compressed bytes of a recording in all: a number for each byte, and some more
 * for a good start. Zstandard can say 128 KiB of zeros in 4 bytes, so a megabyte of crafted input could keep
 * us busy for a minute. Real recordings stay far below: `perf record -z` of call stacks packs 12 to 1; of
 * whole user stacks of 64 KiB that hardly change (`--call-graph dwarf,65528`, an empty loop), the most we
 * could make it do, 995 to 1, and 1,692 to 1 at level 22.
 */
const MAX_RATIO = 4096;
const FREE_BYTES = 64 << 20;

/** The size of a record is a u16. */
const MAX_RECORD_SIZE = 1 << 16;

/**
 * Follows compressed records into their content: one Zstandard stream over all of them,
 * records across their borders.
 */
export class RecordInflater {
  readonly #le: boolean;
  readonly #damage: DamageLog;
  readonly #pool: ChunkPool;
  #makeZstd: ZstdFactory | null;
  #zstd: ZstdStream | null = null;
  #isBroken = false;
  #packedBytes = 0;
  #inflatedBytes = 0;
  /** The unparsed end of what was inflated: less than a record. */
  readonly #rest = new Uint8Array(MAX_RECORD_SIZE);
  #restLength = 0;
  #neededBytes = RECORD_HEADER_SIZE;

  constructor(littleEndian: boolean, damage: DamageLog, pool: ChunkPool, makeZstd: ZstdFactory | null) {
    this.#le = littleEndian;
    this.#damage = damage;
    this.#pool = pool;
    this.#makeZstd = makeZstd;
  }

  /** Whether there is a decompressor; if not, `load` one before `inflate`. */
  get isReady(): boolean {
    return this.#makeZstd !== null;
  }

  async load(): Promise<void> {
    this.#makeZstd ??= await loadPortableZstd();
  }

  /** Inflated bytes that are no whole record. */
  get unparsedBytes(): number {
    return this.#restLength;
  }

  /**
   * What a COMPRESSED or COMPRESSED2 record completes: a chunk that begins with a record, or null while there
   * is no whole one. What the parser leaves of it comes back with `keep`.
   */
  inflate(chunk: Chunk, start: number, end: number, type: number): Chunk | null {
    if (this.#isBroken) return null;
    const offset = fileOffsetOf(chunk, start);
    const pieces = this.#decompress(this.#packedIn(chunk, start, end, type), offset);
    const size = pieces.reduce((sum, piece) => sum + piece.length, this.#restLength);
    if (size < this.#neededBytes) {
      for (const piece of pieces) {
        this.#rest.set(piece, this.#restLength);
        this.#restLength += piece.length;
      }
      return null;
    }
    const inner = this.#pool.make(size, offset);
    inner.isDecompressed = true;
    inner.bytes.set(this.#rest.subarray(0, this.#restLength));
    inner.length = this.#restLength;
    for (const piece of pieces) {
      inner.bytes.set(piece, inner.length);
      inner.length += piece.length;
    }
    return inner;
  }

  /** The unparsed end of the chunk that `inflate` gave. */
  keep(rest: Uint8Array<ArrayBuffer>): void {
    this.#rest.set(rest);
    this.#restLength = rest.length;
    this.#neededBytes = neededFor(rest, this.#le);
  }

  #packedIn(chunk: Chunk, start: number, end: number, type: number): Uint8Array {
    const from = start + RECORD_HEADER_SIZE;
    if (type !== PERF_RECORD_COMPRESSED2) return chunk.bytes.subarray(from, end);
    // The stated size leaves out the padding that keeps records at multiples of 8.
    const stated = end - start >= 16 ? floatAt(chunk.view, from, this.#le) : 0;
    if (stated <= end - from - 8) return chunk.bytes.subarray(from + 8, from + 8 + stated);
    this.#damage.add('bad-compressed-size', fileOffsetOf(chunk, start));
    return chunk.bytes.subarray(Math.min(from + 8, end), end);
  }

  #decompress(packed: Uint8Array, offset: number): Uint8Array[] {
    try {
      this.#zstd ??= this.#makeZstd!();
      const pieces = this.#zstd.push(packed);
      this.#packedBytes += packed.length;
      for (const { length } of pieces) this.#inflatedBytes += length;
      if (this.#inflatedBytes > FREE_BYTES + MAX_RATIO * this.#packedBytes) throw new DecompressedTooLarge();
      return pieces;
    } catch (error) {
      // A Zstandard stream cannot be entered again in the middle, so all compressed records
      // after this one are lost.
      this.#isBroken = true;
      const isTooLarge = error instanceof DecompressedTooLarge;
      this.#damage.add(isTooLarge ? 'compressed-too-large' : 'bad-compressed-data', offset);
      return [];
    }
  }
}

/** With how many bytes the record that begins with `carry` is whole, as far as is known. */
export function neededFor(carry: Uint8Array<ArrayBuffer>, littleEndian: boolean): number {
  if (carry.length < RECORD_HEADER_SIZE) return RECORD_HEADER_SIZE;
  return new DataView(carry.buffer, carry.byteOffset).getUint16(6, littleEndian);
}
