import type { ByteSource } from '../../base/index.ts';
import { archiveError } from './archive-error.ts';

const PIECE_BYTES = 1 << 20;
/** In memory. Who has a disk inflates to it first. */
const MOST_BYTES = 2 ** 31;

/** By the first two bytes (RFC 1952). */
export async function isGzip(source: ByteSource): Promise<boolean> {
  const [first, second] = await source.read(0, 2);
  return first === 0x1f && second === 0x8b;
}

/** All bytes, in memory. */
export async function inflateGzip(source: ByteSource): Promise<Uint8Array<ArrayBuffer>> {
  const { readable, writable } = new DecompressionStream('gzip');
  const [writer, reader] = [writable.getWriter(), readable.getReader()];
  const writing = (async () => {
    for (let at = 0; at < source.size; at += PIECE_BYTES) {
      await writer.ready;
      await writer.write(await source.read(at, PIECE_BYTES));
    }
    await writer.close();
  })();
  // What stops the reading stops the writing, too.
  writing.catch(() => {});
  const pieces: Uint8Array[] = [];
  let size = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      size += value.length;
      if (size > MOST_BYTES) throw new Error(`it has more than ${MOST_BYTES} bytes`);
      pieces.push(value);
    }
    await writing;
  } catch (error) {
    await reader.cancel().catch(() => {});
    throw archiveError(`the archive cannot be inflated: ${(error as Error).message}`);
  }
  const all = new Uint8Array(size);
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}
