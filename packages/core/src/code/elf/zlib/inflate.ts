/**
 * DEFLATE inside zlib (RFC 1950, RFC 1951), as in compressed debug sections, by the host's own decompressor.
 */
import { FormatError } from '../../../base/index.ts';

/**
 * What is fed at a time: what a hostile stream makes of it before anybody looks at the size is
 * at most a thousand times more.
 */
const PIECE_BYTES = 16 << 10;

/** The decompressed bytes, which must be exactly `sizeBytes`. Rejects with FormatError. */
export async function inflateZlib(
  bytes: Uint8Array<ArrayBuffer>,
  sizeBytes: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const output = new Uint8Array(sizeBytes);
  const { readable, writable } = new DecompressionStream('deflate');
  const reader = readable.getReader();
  const fed = feed(writable.getWriter(), bytes);
  // What ends the feeding ends the reading, too, which says it.
  fed.catch(() => {});
  let used = 0;
  for (;;) {
    const { done, value } = await reader.read().catch(() => {
      throw new FormatError('ERR_NOT_ZLIB', used, 'a zlib stream', 'other bytes, or its beginning only');
    });
    if (done) break;
    if (value.length > sizeBytes - used) {
      await reader.cancel().catch(() => {});
      throw new FormatError('ERR_ZLIB_SIZE', used, `${sizeBytes} bytes`, 'more');
    }
    output.set(value, used);
    used += value.length;
  }
  if (used !== sizeBytes) throw new FormatError('ERR_ZLIB_SIZE', used, `${sizeBytes} bytes`, 'fewer');
  return output;
}

/** The type has another name where the host's own types are in sight. */
type Writer = ReturnType<DecompressionStream['writable']['getWriter']>;

/** A piece at a time, as fast as what comes out is read. */
async function feed(writer: Writer, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    await writer.ready;
    await writer.write(bytes.subarray(at, at + PIECE_BYTES));
  }
  await writer.close();
}
