import { Decompress } from 'fzstd';
import { DecompressedTooLarge, MAX_DECOMPRESSED_SIZE, type ZstdStream } from './zstd.ts';

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
