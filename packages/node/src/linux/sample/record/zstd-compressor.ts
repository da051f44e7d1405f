import * as zlib from 'node:zlib';
import { CounterpointError } from '@counterpoint/core/base';
import { openZstdContext } from '../../kernel/sys/index.ts';

export const MOST_COMPRESSION_LEVEL = 22;

/**
 * One Zstandard frame over a whole recording. After each call whatever was handed over can be
 * decompressed; calls follow one another.
 */
export interface Compressor extends Disposable {
  compress(bytes: Uint8Array): Promise<readonly Uint8Array<ArrayBuffer>[]>;
}

/** Node's own zstd in a thread of the pool (Node 22.15), or the system's library. */
export function openCompressor(
  level: number,
  makers: readonly ((level: number) => Compressor | null)[] = [nodeCompressor, libraryCompressor],
): Compressor {
  for (const make of makers) {
    const compressor = make(level);
    if (compressor !== null) return compressor;
  }
  throw new CounterpointError(
    'ERR_NO_ZSTD',
    `nothing here can compress: Node ${process.versions.node} has no zstd, and libzstd is not installed`,
    'Use Node 22.15 or newer, or install the library: sudo apt-get install libzstd1',
  );
}

/** The part of Node's interface that is used; its types here are those of the oldest Node. */
interface ZstdStream {
  write(bytes: Uint8Array): boolean;
  flush(done: () => void): void;
  on(name: 'data', take: (piece: Uint8Array<ArrayBuffer>) => void): void;
  on(name: 'error', heed: (error: Error) => void): void;
  destroy(): void;
}

interface NodeZstd {
  constants: { ZSTD_c_compressionLevel?: number };
  createZstdCompress?: (options: { params: Record<number, number> }) => ZstdStream;
}

export function nodeCompressor(level: number): Compressor | null {
  const { createZstdCompress, constants } = zlib as unknown as NodeZstd;
  const name = constants.ZSTD_c_compressionLevel;
  if (createZstdCompress === undefined || name === undefined) return null;
  const stream = createZstdCompress({ params: { [name]: level } });
  let fail: (error: Error) => void = () => {};
  let pieces: Uint8Array<ArrayBuffer>[] = [];
  stream.on('error', (error) => fail(error));
  // It goes on only while somebody takes what it has made.
  stream.on('data', (piece) => void pieces.push(piece));
  return {
    compress: (bytes) =>
      new Promise((resolve, reject) => {
        fail = reject;
        stream.write(bytes);
        stream.flush(() => {
          resolve(pieces);
          pieces = [];
        });
      }),
    [Symbol.dispose]: () => stream.destroy(),
  };
}

/**
 * Null also where Node has its own: the program's functions take the place of those that the library calls
 * inside, and two versions do not fit together.
 */
export function libraryCompressor(level: number): Compressor | null {
  if ('createZstdCompress' in zlib) return null;
  const context = openZstdContext(level);
  if (context === null) return null;
  return {
    compress: async (bytes) => context.compress(bytes),
    [Symbol.dispose]: () => context[Symbol.dispose](),
  };
}
