import {
  MMAP_PAGE_AUX_HEAD,
  MMAP_PAGE_AUX_OFFSET,
  MMAP_PAGE_AUX_SIZE,
  MMAP_PAGE_AUX_TAIL,
} from '../abi/index.ts';
import type { RingMemory } from './ring-memory.ts';

/**
 * Ask for an AUX area: the kernel takes offset and size from the event's page, and then lets the area be
 * mapped at that offset (perf_event_open(2), "MMAP layout"). The offset is the end of the ring.
 *
 * @internal
 */
export function requestAux(eventPage: ArrayBuffer, offsetBytes: number, sizeBytes: number): void {
  const page = new DataView(eventPage);
  page.setBigUint64(MMAP_PAGE_AUX_OFFSET, BigInt(offsetBytes), true);
  page.setBigUint64(MMAP_PAGE_AUX_SIZE, BigInt(sizeBytes), true);
}

/**
 * An AUX area for reading: `area` is its mapping, `eventPage` the mapping that begins with the event's
 * page. For full trace it is a ring like the others: `ForwardRing` takes and gives back. `AuxSnapshots`
 * reads one that is written over.
 *
 * @internal
 */
export function mappedAux(eventPage: ArrayBuffer, area: Uint8Array<ArrayBuffer>): RingMemory {
  const [head, tail] = [MMAP_PAGE_AUX_HEAD, MMAP_PAGE_AUX_TAIL].map(
    (field) => new BigUint64Array(eventPage, field, 1),
  ) as [BigUint64Array, BigUint64Array];
  return {
    data: area,
    head: () => Number(Atomics.load(head, 0)),
    setTail: (position) => void Atomics.store(tail, 0, BigInt(position)),
  };
}

/**
 * The AUX area behind ring and page, in a mapping of `layOutRing`.
 *
 * @internal
 */
export function sharedAux(mapping: ArrayBuffer): RingMemory {
  const page = new DataView(mapping);
  const [offset, size] = [MMAP_PAGE_AUX_OFFSET, MMAP_PAGE_AUX_SIZE].map((field) =>
    Number(page.getBigUint64(field, true)),
  );
  return mappedAux(mapping, new Uint8Array(mapping, offset, size));
}
