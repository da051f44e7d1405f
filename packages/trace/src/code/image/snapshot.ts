import type { CodeLayer, Layer } from './layer.ts';
import { PART_BYTES } from './load-pending.ts';

/** What an image knows, as plain data that may be sent to another thread. */
export interface CodeSnapshot {
  /** In the order in which they were added: later ones lie on top. */
  readonly layers: readonly CodeLayer[];
}

/** What is not loaded is a hole, as it is for `find`, with the parts that are loaded on top of it. */
export function snapshotOf(layers: readonly Layer[]): CodeLayer[] {
  const copyOf = newCopies(layers);
  const copied: CodeLayer[] = [];
  for (const { pending, ...layer } of layers) {
    copied.push({ ...layer, bytes: layer.bytes === null ? null : copyOf(layer.bytes) });
    for (const [part, bytes] of pending?.parts ?? []) {
      const first = layer.first + BigInt(part) * BigInt(PART_BYTES);
      const end = first + BigInt(bytes.length) - 1n;
      if (bytes.length > 0)
        copied.push({
          ...layer,
          first,
          last: end < layer.last ? end : layer.last,
          bytes: copyOf(bytes),
        });
    }
  }
  return copied;
}

/** What views of one buffer cover, from the first byte to the last, and as the sum of all. */
interface Covered {
  from: number;
  to: number;
  sumBytes: number;
  copy: Uint8Array | null;
}

/**
 * Copies each view once; where views of one buffer overlap, as segments of a hostile file may a thousand
 * times, what they cover: what is copied is never more than what is there.
 */
function newCopies(layers: readonly Layer[]): (bytes: Uint8Array) => Uint8Array {
  const buffers = new Map<ArrayBufferLike, Covered>();
  const copies = new Map<Uint8Array, Uint8Array>();
  for (const { bytes, pending } of layers)
    for (const view of [bytes, ...(pending?.parts.values() ?? [])]) {
      if (view === null || copies.has(view)) continue;
      copies.set(view, view);
      const { buffer, byteOffset, length } = view;
      const known = buffers.get(buffer);
      if (known === undefined) {
        buffers.set(buffer, { from: byteOffset, to: byteOffset + length, sumBytes: length, copy: null });
        continue;
      }
      known.from = Math.min(known.from, byteOffset);
      known.to = Math.max(known.to, byteOffset + length);
      known.sumBytes += length;
    }
  copies.clear();
  return (bytes) => {
    const known = copies.get(bytes);
    if (known !== undefined) return known;
    const covered = buffers.get(bytes.buffer)!;
    const { from, to, sumBytes } = covered;
    let copy: Uint8Array;
    if (sumBytes <= to - from) copy = sharedCopy(bytes);
    else {
      covered.copy ??= sharedCopy(new Uint8Array(bytes.buffer, from, to - from));
      copy = covered.copy.subarray(bytes.byteOffset - from, bytes.byteOffset - from + bytes.length);
    }
    copies.set(bytes, copy);
    return copy;
  };
}

function sharedCopy(bytes: Uint8Array): Uint8Array {
  const copy = newSharedBytes(bytes.length);
  copy.set(bytes);
  return copy;
}

/**
 * Memory that threads share; their own where the host has no such thing (a page that
 * is not isolated from others).
 */
export function newSharedBytes(sizeBytes: number): Uint8Array {
  return typeof SharedArrayBuffer === 'undefined'
    ? new Uint8Array(sizeBytes)
    : new Uint8Array(new SharedArrayBuffer(sizeBytes));
}
