import type { ByteSource } from '../../../base/index.ts';

/**
 * Big enough that a system call per chunk is nothing, small enough that a handful of chunks fit any memory.
 */
const CHUNK_SIZE = 2 << 20;

/** A stretch of the file in memory. Records are parsed in place; a record never spans two chunks. */
export interface Chunk {
  view: DataView<ArrayBuffer>;
  bytes: Uint8Array<ArrayBuffer>;
  /** File offset of `bytes[0]`; of the compressed record that held it, for decompressed bytes. */
  fileOffset: number;
  isDecompressed: boolean;
  /** How many bytes are filled. */
  length: number;
  /**
   * Who needs the memory: the parser, and each record that waits in the ordering
   * queue. At 0 it is given back.
   */
  holders: number;
}

/** Where in the file the record at `start` of a chunk stands. */
export function fileOffsetOf(chunk: Chunk, start: number): number {
  return chunk.isDecompressed ? chunk.fileOffset : chunk.fileOffset + start;
}

/** Gives the bytes of the data section in order, chunk by chunk, from a file or a stream. */
export interface ChunkSource {
  /**
   * The next chunk: `carry` (the unparsed end of the chunk before), then at least one byte more, and
   * so many that there are `needed` in all. Fewer only where the data ends; null where there is
   * nothing to add to the carry.
   */
  next(carry: Uint8Array<ArrayBuffer>, needed: number): Promise<Chunk | null>;
  /**
   * Leave out the next `count` bytes (AUX data), which follow the last chunk given.
   * Returns how many there were.
   */
  skip(count: number): Promise<number>;
  /** No more is wanted: a stream that has not ended is let go. */
  close(): Promise<void>;
  /** Where the memory of chunks comes from, and goes back to. */
  readonly pool: ChunkPool;
  /** Bytes given so far and in all (0 where unknown), for progress. */
  readonly position: number;
  readonly total: number;
}

/** Most memory that waits to be used again. */
const MAX_FREE_BYTES = 32 << 20;
/**
 * Sizes of buffers are rounded up to an eighth of a power of two, and to this, so that they fit another time.
 */
const MIN_STEP = 256;

/** Keeps a few chunk buffers so that reading 2 GB allocates no more than reading 20 MB. */
export class ChunkPool {
  readonly #free = new Map<number, ArrayBuffer[]>();
  #freeBytes = 0;

  /**
   * A chunk that can hold `size` bytes, and little more: what waits to be ordered is counted by its memory.
   */
  make(size: number, fileOffset: number): Chunk {
    const rounded = roundedSize(size);
    const reused = this.#free.get(rounded)?.pop();
    if (reused !== undefined) this.#freeBytes -= rounded;
    const buffer = reused ?? new ArrayBuffer(rounded);
    return {
      view: new DataView(buffer),
      bytes: new Uint8Array(buffer),
      fileOffset,
      isDecompressed: false,
      length: 0,
      holders: 0,
    };
  }

  recycle(chunk: Chunk): void {
    const { buffer } = chunk.bytes;
    const size = buffer.byteLength;
    if (this.#freeBytes + size > MAX_FREE_BYTES) return;
    this.#freeBytes += size;
    const alike = this.#free.get(size);
    if (alike === undefined) this.#free.set(size, [buffer]);
    else alike.push(buffer);
  }
}

function roundedSize(size: number): number {
  const step = Math.max(MIN_STEP, 2 ** (Math.floor(Math.log2(Math.max(1, size))) - 3));
  return Math.ceil(size / step) * step;
}

/** Memory that the chunks of many files read side by side may take, and the least of one. */
const MANY_CHUNKS_BYTES = 64 << 20;
const LEAST_CHUNK_SIZE = 128 << 10;

export interface FileChunkOptions {
  pool?: ChunkPool;
  /** How many files are read side by side, each with chunks of its own. */
  sideBySide?: number;
}

/**
 * Chunks of `[from, to)` of a file that can be read at any offset. The next chunk
 * is read while this one is used.
 */
export function fileChunks(
  source: ByteSource,
  from: number,
  to: number,
  { pool = new ChunkPool(), sideBySide = 1 }: FileChunkOptions = {},
): ChunkSource {
  const chunkSize = Math.max(LEAST_CHUNK_SIZE, Math.min(CHUNK_SIZE, MANY_CHUNKS_BYTES / sideBySide));
  let position = from;
  let ahead: { offset: number; promise: Promise<{ chunk: Chunk; reserved: number; filled: number }> } | null =
    null;

  /** Room before the read bytes for the carry, which is shorter than the largest record. */
  const RESERVED = 0x1_0000;

  const read = async (offset: number) => {
    const want = Math.min(chunkSize - RESERVED, to - offset);
    const chunk = pool.make(RESERVED + want, offset - RESERVED);
    const target = chunk.bytes.subarray(RESERVED, RESERVED + want);
    let filled: number;
    if (source.readInto !== undefined) filled = await source.readInto(target, offset);
    else {
      const bytes = await source.read(offset, want);
      target.set(bytes.subarray(0, want));
      filled = Math.min(bytes.length, want);
    }
    return { chunk, reserved: RESERVED, filled };
  };

  return {
    get position() {
      return position - from;
    },
    total: to - from,
    pool,
    async skip(count) {
      const skipped = Math.min(count, to - position);
      position += skipped;
      return skipped;
    },
    async close() {},
    // A chunk has room for the largest record, so that `needed` is always there.
    async next(carry) {
      if (position >= to) return null;
      const task = ahead !== null && ahead.offset === position ? ahead.promise : read(position);
      const { chunk, reserved, filled } = await task;
      if (filled === 0) return null;
      position += filled;
      if (position < to) {
        const promise = read(position);
        promise.catch(() => {});
        ahead = { offset: position, promise };
      }
      // The carry goes right before the new bytes, so that the joined record is whole.
      const start = reserved - carry.length;
      chunk.bytes.set(carry, start);
      return {
        ...chunk,
        view: new DataView(chunk.bytes.buffer, start),
        bytes: chunk.bytes.subarray(start),
        fileOffset: chunk.fileOffset + start,
        length: carry.length + filled,
      };
    },
  };
}

/** Chunks of a stream, after `consumed` bytes of it. `first` is what was already taken from the stream. */
export function streamChunks(
  stream: AsyncIterator<Uint8Array<ArrayBufferLike>>,
  first: Uint8Array<ArrayBufferLike>,
  consumed: number,
): ChunkSource {
  const pool = new ChunkPool();
  let position = consumed;
  let rest: Uint8Array<ArrayBufferLike> = first;
  let ended = false;

  const pull = async (): Promise<boolean> => {
    while (!ended) {
      const { value, done } = await stream.next();
      if (done === true) ended = true;
      else if (value.length > 0) {
        rest = value;
        return true;
      }
    }
    return false;
  };

  return {
    get position() {
      return position - consumed;
    },
    total: 0,
    pool,
    async skip(count) {
      let left = count;
      while (left > 0 && (rest.length > 0 || (await pull()))) {
        const taken = Math.min(left, rest.length);
        rest = rest.subarray(taken);
        position += taken;
        left -= taken;
      }
      return count - left;
    },
    async close() {
      if (ended) return;
      ended = true;
      await stream.return?.();
    },
    async next(carry, needed) {
      // What a pipe gives is small (64 KiB, or a byte): take what is there rather than wait for more, so that
      // live data shows at once - but wait for a whole record, so that no part of it is carried twice.
      const taken: Uint8Array[] = [];
      let filled = carry.length;
      do {
        if (rest.length === 0 && !(await pull())) break;
        const piece = rest.subarray(0, CHUNK_SIZE);
        rest = rest.subarray(piece.length);
        taken.push(piece);
        filled += piece.length;
      } while (filled < needed);
      if (taken.length === 0) return null;
      const chunk = pool.make(filled, position - carry.length);
      chunk.bytes.set(carry);
      chunk.length = carry.length;
      for (const piece of taken) {
        chunk.bytes.set(piece, chunk.length);
        chunk.length += piece.length;
      }
      position += filled - carry.length;
      return chunk;
    },
  };
}
