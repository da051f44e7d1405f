/** Decompresses a Zstandard stream piece by piece. A host may hand in a faster one. */
export interface ZstdStream {
  /** Everything that these bytes complete. Throws where the data is not Zstandard. */
  push(bytes: Uint8Array): Uint8Array[];
}

/** Makes a decompressor for Zstandard frames. */
export type ZstdFactory = () => ZstdStream;

/**
 * Most bytes that one compressed record may give: 64 KiB of crafted input could otherwise claim gigabytes.
 */
export const MAX_DECOMPRESSED_SIZE = 64 << 20;

export class DecompressedTooLarge extends Error {}

/** The decompressor that runs anywhere. It comes when it is needed: most recordings are not compressed. */
export async function loadPortableZstd(): Promise<ZstdFactory> {
  return (await import('./portable-zstd.ts')).portableZstd;
}
