import { addressOf } from './ffi.ts';

/**
 * A NUL-terminated text at an address that the kernel can be given: the file or
 * function of a probe, in an attr.
 */
export interface PinnedText {
  readonly address: bigint;
  /** The text is there while this is reachable. */
  readonly bytes: Uint8Array;
}

export function pinText(text: string): PinnedText {
  const encoded = new TextEncoder().encode(`${text}\0`);
  // An ArrayBuffer of its own never moves; a short typed array may lie in V8's moving heap.
  const bytes = new Uint8Array(new ArrayBuffer(encoded.length));
  bytes.set(encoded);
  return { address: addressOf(bytes), bytes };
}
