import type { Layer } from './layer.ts';
import { PART_BYTES } from './load-pending.ts';

/** What an image knows, as plain data that may be sent to another thread. */
export interface CodeSnapshot {
  readonly layers: readonly Omit<Layer, 'pending'>[];
}

/** What is not loaded is a hole, as it is for `find`, with the parts that are loaded on top of it. */
export function snapshotOf(layers: readonly Layer[]): Omit<Layer, 'pending'>[] {
  const copies = new Map<Uint8Array, Uint8Array>();
  const copied: Omit<Layer, 'pending'>[] = [];
  for (const { pending, ...layer } of layers) {
    copied.push({ ...layer, bytes: layer.bytes === null ? null : copyOf(layer.bytes, copies) });
    for (const [part, bytes] of pending?.parts ?? []) {
      const first = layer.first + BigInt(part) * BigInt(PART_BYTES);
      const end = first + BigInt(bytes.length) - 1n;
      if (bytes.length > 0)
        copied.push({
          ...layer,
          first,
          last: end < layer.last ? end : layer.last,
          bytes: copyOf(bytes, copies),
        });
    }
  }
  return copied;
}

function copyOf(bytes: Uint8Array, copies: Map<Uint8Array, Uint8Array>): Uint8Array {
  let copy = copies.get(bytes);
  if (copy === undefined) {
    copy = newSharedBytes(bytes.length);
    copy.set(bytes);
    copies.set(bytes, copy);
  }
  return copy;
}

/** Memory that threads share; their own where the host has no such thing (a page that is not isolated from others). */
export function newSharedBytes(sizeBytes: number): Uint8Array {
  return typeof SharedArrayBuffer === 'undefined'
    ? new Uint8Array(sizeBytes)
    : new Uint8Array(new SharedArrayBuffer(sizeBytes));
}
