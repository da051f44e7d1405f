import type { ByteSource } from '../../base/index.ts';

/** Big enough that a system call per chunk is nothing, small enough that a handful of chunks fit any memory. */
const CHUNK_SIZE = 2 << 20;

/** A stretch of the file in memory. Records are parsed in place; a record never spans two chunks. */
export interface Chunk {
  view: DataView<ArrayBuffer>;
  bytes: Uint8Array<ArrayBuffer>;
  /** File offset of `bytes[0]`. */
  fileOffset: number;
  /** How many bytes are filled. */
  length: number;
  /** Records of this chunk that wait in the ordering queue; the memory is reused when none does. */
  pending: number;
}

/** Gives the bytes of the data section in order, chunk by chunk, from a file or a stream. */
export interface ChunkSource {
  /**
   * The next chunk, starting with `carry` (the unparsed end of the chunk before), or null at the end.
   * A chunk that is not longer than its carry means the end too: what is left is a cut record.
   */
  next(carry: Uint8Array<ArrayBuffer>): Promise<Chunk | null>;
  /** Leave out the next `count` bytes (AUX data), which follow the last chunk given. */
  skip(count: number): Promise<void>;
  /** Give memory back. */
  recycle(chunk: Chunk): void;
  /** Bytes given so far and in all (0 where unknown), for progress. */
  readonly position: number;
  readonly total: number;
}

/** Keeps a few chunk buffers so that reading 2 GB allocates no more than reading 20 MB. */
export class ChunkPool {
  private readonly free: ArrayBuffer[] = [];

  make(size: number, fileOffset: number): Chunk {
    const reused = size <= CHUNK_SIZE ? this.free.pop() : undefined;
    const buffer = reused ?? new ArrayBuffer(Math.max(size, CHUNK_SIZE));
    return { view: new DataView(buffer), bytes: new Uint8Array(buffer), fileOffset, length: 0, pending: 0 };
  }

  recycle(chunk: Chunk): void {
    if (chunk.bytes.buffer.byteLength === CHUNK_SIZE && this.free.length < 16)
      this.free.push(chunk.bytes.buffer);
  }
}

/** Chunks of `[from, to)` of a file that can be read at any offset. The next chunk is read while this one is used. */
export function fileChunks(source: ByteSource, from: number, to: number): ChunkSource {
  const pool = new ChunkPool();
  let position = from;
  let ahead: { offset: number; promise: Promise<{ chunk: Chunk; reserved: number; filled: number }> } | null =
    null;

  /** Room before the read bytes for the carry, which is shorter than the largest record. */
  const RESERVED = 0x1_0000;

  const read = async (offset: number) => {
    const chunk = pool.make(CHUNK_SIZE, offset - RESERVED);
    const want = Math.min(CHUNK_SIZE - RESERVED, to - offset);
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
    recycle: (chunk) => pool.recycle(chunk),
    async skip(count) {
      position += count;
    },
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
    recycle: (chunk) => pool.recycle(chunk),
    async skip(count) {
      let left = count;
      while (left > 0 && (rest.length > 0 || (await pull()))) {
        const taken = Math.min(left, rest.length);
        rest = rest.subarray(taken);
        position += taken;
        left -= taken;
      }
    },
    async next(carry) {
      if (rest.length === 0 && !(await pull())) return null;
      // What a pipe gives is small (64 KiB): take what is there now rather than wait, so that live data shows at once.
      const taken = Math.min(rest.length, CHUNK_SIZE);
      const chunk = pool.make(carry.length + taken, position - carry.length);
      chunk.bytes.set(carry);
      chunk.bytes.set(rest.subarray(0, taken), carry.length);
      chunk.length = carry.length + taken;
      rest = rest.subarray(taken);
      position += taken;
      return chunk;
    },
  };
}
