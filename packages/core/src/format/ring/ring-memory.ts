import { MMAP_PAGE_DATA_HEAD, MMAP_PAGE_DATA_OFFSET, MMAP_PAGE_DATA_SIZE } from '../abi/index.ts';

/**
 * The memory that the kernel and this program share. Positions count bytes since the ring
 * began: they only grow and are float64 (exact for 9 petabytes). A test implements this with
 * plain memory and plays the kernel.
 */
export interface RingMemory {
  /** The data pages. Their size is a power of two, so an offset is `position % size`. */
  readonly data: Uint8Array<ArrayBuffer>;
  /** Where the kernel writes next. Everything the kernel wrote before it is visible (acquire). */
  head(): number;
  /** Give everything before `position` back to the kernel, after all reads of it (release). */
  setTail(position: number): void;
}

/**
 * A ring as the kernel maps it (perf_event_open(2), "MMAP layout"):
 *
 *   | struct perf_event_mmap_page | data pages, a power of two |
 *       data_head   data_tail       ^ data_offset, data_size
 *
 * The kernel orders its own side with barriers; ours are the sequentially consistent
 * loads and stores of `Atomics`.
 */
export function mappedRing(mapping: ArrayBuffer, pageSizeBytes: number): RingMemory {
  const page = new DataView(mapping);
  // Linux before 4.1 leaves both fields zero: the data then starts at the second page.
  const offset = Number(page.getBigUint64(MMAP_PAGE_DATA_OFFSET, true)) || pageSizeBytes;
  const size = Number(page.getBigUint64(MMAP_PAGE_DATA_SIZE, true)) || mapping.byteLength - offset;
  const data = new Uint8Array(mapping, offset, size);
  const positions = new BigUint64Array(mapping, MMAP_PAGE_DATA_HEAD, 2);
  return {
    data,
    head: () => Number(Atomics.load(positions, 0)),
    setTail: (position) => void Atomics.store(positions, 1, BigInt(position)),
  };
}
