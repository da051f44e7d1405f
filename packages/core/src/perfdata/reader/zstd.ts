import { Decompress } from 'fzstd';

/** Decompresses a Zstandard stream piece by piece. A host may hand in a faster one. */
export interface ZstdStream {
  /** Everything that these bytes complete. Throws where the data is not Zstandard. */
  push(bytes: Uint8Array): Uint8Array[];
}

export type ZstdFactory = () => ZstdStream;

/**
 * Most bytes that one compressed record may give: 64 KiB of crafted input could otherwise claim gigabytes.
 */
export const MAX_DECOMPRESSED_SIZE = 64 << 20;

export class DecompressedTooLarge extends Error {}

/** perf keeps one Zstandard stream open over all compressed records of a file, flushed after each. */
export function portableZstd(): ZstdStream {
  let output: Uint8Array[] = [];
  let size = 0;
  const stream = new Decompress((piece) => {
    size += piece.length;
    if (size > MAX_DECOMPRESSED_SIZE) throw new DecompressedTooLarge();
    output.push(piece);
  });
  return {
    push(bytes) {
      output = [];
      size = 0;
      // The decoder may keep a reference to its input until the next call; the input's
      // memory is reused, so copy it.
      stream.push(bytes.slice());
      return output;
    },
  };
}
