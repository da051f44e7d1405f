import { CounterpointError } from './errors.ts';

/**
 * Bytes that can be read at any offset. Implemented by a file in Node, a `File`
 * in a browser, memory in tests.
 */
export interface ByteSource {
  /** Total size in bytes. */
  readonly size: number;
  /**
   * Read `length` bytes at `offset`. Returns fewer bytes only where the source ends.
   * The caller owns the returned bytes until `release` (if the source has it) or forever.
   */
  read(offset: number, length: number): Promise<Uint8Array<ArrayBuffer>>;
  /**
   * Read into memory of the caller, where the source can: returns how many bytes were
   * read, fewer only at the end.
   */
  readInto?(target: Uint8Array<ArrayBuffer>, offset: number): Promise<number>;
}

/** Bytes that arrive in order and cannot be read again: a pipe, a socket, a download. */
export type ByteStream = AsyncIterable<Uint8Array<ArrayBufferLike>>;

/** A source over bytes that are already in memory. `read` returns views, not copies. */
export function memorySource(bytes: Uint8Array<ArrayBuffer>): ByteSource {
  if (typeof bytes?.subarray !== 'function') throw noBytes(bytes);
  return {
    size: bytes.length,
    read: async (offset, length) =>
      bytes.subarray(Math.min(offset, bytes.length), Math.min(offset + length, bytes.length)),
  };
}

/** What a `Blob` or `File` of a browser, or of Node, can do. */
export interface BlobLike {
  /** Size in bytes. */
  readonly size: number;
  /** The bytes from `start` up to `end`, not read yet. */
  slice(start: number, end: number): { arrayBuffer(): Promise<ArrayBuffer> };
}

/** A source over a dropped file: only what is asked for is read. */
export function blobSource(blob: BlobLike): ByteSource {
  if (typeof blob?.size !== 'number') throw noBytes(blob);
  return {
    size: blob.size,
    read: async (offset, length) => new Uint8Array(await blob.slice(offset, offset + length).arrayBuffer()),
  };
}

/** Every form in which bytes may be given. */
export type ByteInput = ByteSource | ByteStream | Uint8Array<ArrayBuffer> | ArrayBuffer | BlobLike;

/** One of the two forms that readers know. Throws `ERR_INPUT` for anything else. */
export function asByteInput(input: ByteInput): ByteSource | ByteStream {
  if (input instanceof Uint8Array) return memorySource(input);
  if (input instanceof ArrayBuffer) return memorySource(new Uint8Array(input));
  if (typeof input === 'object' && input !== null) {
    if (Symbol.asyncIterator in input) return input;
    if ('read' in input && typeof input.read === 'function') return input;
    // A list has a slice, too, and no size.
    const isBlob = 'slice' in input && typeof input.slice === 'function' && typeof input.size === 'number';
    if (isBlob) return blobSource(input);
  }
  throw noBytes(input);
}

function noBytes(input: unknown): CounterpointError {
  return new CounterpointError(
    'ERR_INPUT',
    `these are not readable bytes: ${input === null ? 'null' : typeof input}`,
    'Give a Uint8Array, ArrayBuffer, Blob, File, stream of bytes, or { size, read(offset, length) }.',
  );
}

/** Every form in which bytes may be given that can be read at any place: not a stream. */
export type ByteSourceInput = Exclude<ByteInput, ByteStream>;

/**
 * The one form that readers know. `what` names it in the errors. Throws `ERR_INPUT` for
 * streams, and for what holds no bytes.
 */
export function asByteSource(input: ByteSourceInput, what = 'this'): ByteSource {
  const source = asByteInput(input);
  if (Symbol.asyncIterator in source)
    throw new CounterpointError(
      'ERR_INPUT',
      `${what} is a stream, but it is read at several places`,
      'Give a Uint8Array, an ArrayBuffer, a Blob or File, or { size, read(offset, length) }.',
    );
  return source;
}
