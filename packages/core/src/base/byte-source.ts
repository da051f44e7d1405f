/** Bytes that can be read at any offset. Implemented by a file in Node, a `File` in a browser, memory in tests. */
export interface ByteSource {
  /** Total size in bytes. */
  readonly size: number;
  /**
   * Read `length` bytes at `offset`. Returns fewer bytes only where the source ends.
   * The caller owns the returned bytes until `release` (if the source has it) or forever.
   */
  read(offset: number, length: number): Promise<Uint8Array<ArrayBuffer>>;
  /** Read into memory of the caller, where the source can: returns how many bytes were read, fewer only at the end. */
  readInto?(target: Uint8Array<ArrayBuffer>, offset: number): Promise<number>;
}

/** Bytes that arrive in order and cannot be read again: a pipe, a socket, a download. */
export type ByteStream = AsyncIterable<Uint8Array<ArrayBufferLike>>;

/** A source over bytes that are already in memory. `read` returns views, not copies. */
export function memorySource(bytes: Uint8Array<ArrayBuffer>): ByteSource {
  return {
    size: bytes.length,
    read: async (offset, length) =>
      bytes.subarray(Math.min(offset, bytes.length), Math.min(offset + length, bytes.length)),
  };
}
