import {
  MMAP_PAGE_AUX_HEAD,
  MMAP_PAGE_AUX_OFFSET,
  MMAP_PAGE_AUX_SIZE,
  MMAP_PAGE_DATA_HEAD,
  MMAP_PAGE_DATA_OFFSET,
  MMAP_PAGE_DATA_SIZE,
} from '../abi/index.ts';

/**
 * The same memory as `RingMemory`, as its writer has it: the kernel's part, played by a source of ours.
 *
 * @internal
 */
export interface WrittenMemory {
  /** The data pages. Their size is a power of two. */
  readonly data: Uint8Array<ArrayBuffer>;
  /** What the reader has given back. Its reads of everything before are done (acquire). */
  tail(): number;
  /** Everything before `position` is written (release). */
  setHead(position: number): void;
}

/**
 * What a mapping of one writer and one reader holds: sizes in bytes, powers of two.
 *
 * @internal
 */
export interface SharedRingSizes {
  /** Also where the ring's data begins. */
  pageBytes: number;
  /** Of records. */
  ringBytes: number;
  /** 0: no AUX area. */
  auxBytes: number;
}

/**
 * Size of a mapping with a page, a ring and an AUX area, as `layOutRing` makes it.
 *
 * @internal
 */
export function sharedRingBytes({ pageBytes, ringBytes, auxBytes }: SharedRingSizes): number {
  return pageBytes + ringBytes + auxBytes;
}

/**
 * Write the fields that tell where everything is, as the kernel does for its own rings:
 *
 *   | struct perf_event_mmap_page | ring | AUX area |
 *
 * Both sides then make theirs of the mapping: `mappedRing` and `mappedAux`, `writtenRing` and `writtenAux`.
 *
 * @internal
 */
export function layOutRing(mapping: ArrayBuffer, { pageBytes, ringBytes, auxBytes }: SharedRingSizes): void {
  const page = new DataView(mapping);
  page.setBigUint64(MMAP_PAGE_DATA_OFFSET, BigInt(pageBytes), true);
  page.setBigUint64(MMAP_PAGE_DATA_SIZE, BigInt(ringBytes), true);
  page.setBigUint64(MMAP_PAGE_AUX_OFFSET, BigInt(pageBytes + ringBytes), true);
  page.setBigUint64(MMAP_PAGE_AUX_SIZE, BigInt(auxBytes), true);
}

/**
 * The writer's side of the ring in a mapping that was laid out.
 *
 * @internal
 */
export function writtenRing(mapping: ArrayBuffer): WrittenMemory {
  return written(mapping, MMAP_PAGE_DATA_OFFSET, MMAP_PAGE_DATA_HEAD);
}

/**
 * The writer's side of the AUX area in a mapping that was laid out.
 *
 * @internal
 */
export function writtenAux(mapping: ArrayBuffer): WrittenMemory {
  return written(mapping, MMAP_PAGE_AUX_OFFSET, MMAP_PAGE_AUX_HEAD);
}

/** `offsetField` is followed by the size, `headField` by the tail. */
function written(mapping: ArrayBuffer, offsetField: number, headField: number): WrittenMemory {
  const page = new DataView(mapping);
  const [offset, size] = [offsetField, offsetField + 8].map((field) =>
    Number(page.getBigUint64(field, true)),
  );
  const positions = new BigUint64Array(mapping, headField, 2);
  return {
    data: new Uint8Array(mapping, offset, size),
    tail: () => Number(Atomics.load(positions, 1)),
    setHead: (position) => void Atomics.store(positions, 0, BigInt(position)),
  };
}

/**
 * Copy `bytes` to `position`, around the end of `data`.
 *
 * @internal
 */
export function copyAround(data: Uint8Array, position: number, bytes: Uint8Array): void {
  const from = position % data.length;
  const toEnd = Math.min(bytes.length, data.length - from);
  data.set(bytes.subarray(0, toEnd), from);
  data.set(bytes.subarray(toEnd), 0);
}

/**
 * The writing side of a ring that loses new data when it is full. A record that finds no room is lost and
 * counted, and a record that tells of it is put before the next one that does.
 *
 * @internal
 */
export class RingWriter {
  readonly #memory: WrittenMemory;
  readonly #lostRecord: (lost: number) => Uint8Array;
  #head = 0;
  #lost = 0;
  /** Records that found no room, in all. */
  lostInAll = 0;

  /** `lostRecord` makes PERF_RECORD_LOST, with the trailer of the ring's events. */
  constructor(memory: WrittenMemory, lostRecord: (lost: number) => Uint8Array) {
    this.#memory = memory;
    this.#lostRecord = lostRecord;
  }

  /** Bytes written so far. */
  get head(): number {
    return this.#head;
  }

  /** False: there was no room, which is counted. `record` is whole: a multiple of 8 bytes. */
  write(record: Uint8Array): boolean {
    const { data } = this.#memory;
    const free = data.length - (this.#head - this.#memory.tail());
    const told = this.#lost === 0 || record.length > free ? null : this.#lostRecord(this.#lost);
    if (record.length + (told?.length ?? 0) > free) {
      this.#lost++;
      this.lostInAll++;
      return false;
    }
    if (told !== null) this.#append(told);
    this.#lost = 0;
    this.#append(record);
    this.#memory.setHead(this.#head);
    return true;
  }

  #append(bytes: Uint8Array): void {
    copyAround(this.#memory.data, this.#head, bytes);
    this.#head += bytes.length;
  }
}
