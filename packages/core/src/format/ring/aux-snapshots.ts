import type { RingMemory } from './ring-memory.ts';

const EMPTY = new Uint8Array(0);
/** How many bytes are remembered, to know whether the source has been there again. */
const MOST_REMEMBERED_BYTES = 4096;
/** Fewer could be the same by chance. */
const LEAST_COMPARED_BYTES = 64;

/**
 * What was traced until now and not taken before: views of the area, valid until it is traced again.
 *
 * @internal
 */
export interface AuxSnapshot {
  /** The data, or its part before the end of the area. */
  first: Uint8Array<ArrayBuffer>;
  /** Empty unless the data goes around the end. */
  second: Uint8Array<ArrayBuffer>;
  /** Some of what came after the last snapshot was written over, or might have been. False for the first. */
  isCut: boolean;
  /** Bytes before `first` in the whole trace, as far as that is known: it only grows. */
  offset: number;
}

/**
 * Takes snapshots of an AUX area that its source writes over, while the source is disabled. The head may be a
 * place in the area (Intel PT) or a sum (others): only the place counts. How often the source went around, it
 * does not say; so the bytes before the last head are remembered:
 *
 *   still the same                            others, or (before the first snapshot) the area's end is not zero
 *   [ . . . . x x|A B C D . . . ]             [ F G H I J K|. A B C D E ]
 *         last head     head                              head
 *   new: A B C D                              new: all, from the head on, around the end
 *
 * @internal
 */
export class AuxSnapshots {
  readonly #memory: RingMemory;
  #lastPlace = 0;
  #remembered: Uint8Array<ArrayBuffer> = EMPTY;
  #offset = 0;
  #isFirst = true;
  /** The source has written to the end of the area: before, the rest of it is zero. */
  #isFull = false;

  constructor(memory: RingMemory) {
    this.#memory = memory;
  }

  /** What is new. The source must write nothing while the views are read. */
  take(): AuxSnapshot {
    const { data } = this.#memory;
    const place = this.#memory.head() % data.length;
    const wasAround = this.#wentAround(place);
    const from = wasAround ? place : this.#lastPlace;
    const size = wasAround ? data.length : (place - from + data.length) % data.length;
    const toEnd = Math.min(size, data.length - from);
    const isCut = wasAround && !this.#isFirst;
    // Where data was written over, the gap is a byte at least: what follows does not go on from before.
    const offset = this.#offset + (isCut ? 1 : 0);
    this.#offset = offset + size;
    this.#lastPlace = place;
    this.#isFirst = false;
    this.#remember(place);
    return {
      first: data.subarray(from, from + toEnd),
      second: size > toEnd ? data.subarray(0, size - toEnd) : EMPTY,
      isCut,
      offset,
    };
  }

  /** In doubt, true: then some bytes come twice, which is better than that some are missing unsaid. */
  #wentAround(place: number): boolean {
    const { data } = this.#memory;
    if (!this.#isFull) {
      const end = data.subarray(Math.max(place, data.length - MOST_REMEMBERED_BYTES));
      this.#isFull = place < this.#lastPlace || end.some((byte) => byte !== 0);
      if (!this.#isFull || this.#isFirst) return this.#isFull;
    }
    // What is left of the remembered bytes if the source has stopped before it came to its last place again.
    const left = (this.#lastPlace - place + data.length) % data.length || data.length;
    const compared = Math.min(left, this.#remembered.length);
    if (compared < Math.min(LEAST_COMPARED_BYTES, this.#remembered.length)) return true;
    const then = this.#remembered.subarray(this.#remembered.length - compared);
    const now = this.#bytesBefore(this.#lastPlace, compared);
    return now.some((byte, index) => byte !== then[index]);
  }

  #remember(place: number): void {
    this.#remembered = this.#bytesBefore(
      place,
      Math.min(MOST_REMEMBERED_BYTES, this.#memory.data.length / 2),
    );
  }

  /** A copy, around the beginning of the area. */
  #bytesBefore(place: number, length: number): Uint8Array<ArrayBuffer> {
    const { data } = this.#memory;
    const bytes = new Uint8Array(length);
    const missing = Math.max(0, length - place);
    bytes.set(data.subarray(data.length - missing));
    bytes.set(data.subarray(Math.max(0, place - length), place), missing);
    return bytes;
  }
}
