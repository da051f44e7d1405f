import { type ByteSource, CounterpointError } from '@counterpoint/core/base';
import { BYTES_BEHIND_CUT, findCut } from './cut-points.ts';

/** A stretch between cuts, with its bytes and those behind it that its decoder needs. */
export interface Stretch {
  /** Cuts by number, from 0, the beginning of the trace. */
  readonly firstCut: number;
  readonly lastCut: number;
  readonly baseOffset: number;
  readonly from: number;
  /** -1: to the end of the trace. */
  readonly stopAt: number;
  readonly bytes: Uint8Array<ArrayBufferLike>;
  /** May be given away. */
  readonly isOwned: boolean;
}

/**
 * Sizes of parts, about. What a part counted is added up at its end, which takes as long as some
 * hundred KB of trace: so large ones, and smaller ones towards the end of the trace, for all workers
 * to end at about the same time.
 *
 *   |──────── most ────────|──────── most ────────|──────────────|─────────|──────|───|least|least|
 */
export interface PartSizes {
  readonly mostBytes: number;
  readonly leastBytes: number;
  /** A part is no more than this share of what is left. */
  readonly share: number;
}

/** Beyond the size of a part, a cut is looked for in this many bytes at first. */
const SEARCH_BYTES = 1 << 18;
/** A sound trace has a PSB at least every 64 MB: without any, there is no end to what a part would be. */
const MOST_WINDOW_BYTES = 2 ** 31;
/** Stretches are hardly longer than those before them, so the memory of a few serves all. */
const MOST_SPARE = 4;

/**
 * Cuts a trace into parts of a size, each read when it is asked for, so that no more of the trace is in
 * memory than what is being decoded.
 */
export class PartPlanner {
  readonly #source: ByteSource | Uint8Array;
  readonly #size: number;
  readonly #sizes: PartSizes;
  readonly #cuts: number[] = [0];
  #isComplete = false;
  /** Memory of stretches that are decoded: taking new memory for each costs more than reading it. */
  readonly #spare: ArrayBuffer[] = [];

  constructor(source: ByteSource | Uint8Array, sizes: PartSizes) {
    this.#source = source;
    this.#size = source instanceof Uint8Array ? source.length : source.size;
    this.#sizes = sizes;
  }

  /** All cuts are known; the last stretch goes to the end of the trace. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** Cuts so far; the last of them is where the next stretch begins. */
  get cutCount(): number {
    return this.#cuts.length;
  }

  offsetOf(cut: number): number {
    return this.#cuts[cut] ?? this.#size;
  }

  /** The stretch behind the last cut; null if there is none. */
  async next(): Promise<Stretch | null> {
    if (this.#isComplete) return null;
    const firstCut = this.#cuts.length - 1;
    const from = this.#cuts[firstCut]!;
    const partBytes = this.#partBytesAt(from);
    for (let search = SEARCH_BYTES; ; search *= 2) {
      const to = Math.min(this.#size, from + partBytes + search);
      const window = await this.#window(from, to);
      const at = findCut(window.bytes, window.from + partBytes, window.from + to - from);
      if (at < 0 && to < this.#size) continue;
      if (at < 0) this.#isComplete = true;
      else this.#cuts.push(window.baseOffset + at);
      return { ...window, firstCut, lastCut: firstCut + 1, stopAt: at };
    }
  }

  #partBytesAt(offset: number): number {
    const { mostBytes, leastBytes, share } = this.#sizes;
    return Math.max(leastBytes, Math.min(mostBytes, Math.ceil((this.#size - offset) * share)));
  }

  /** Several known stretches as one; up to the end of the trace where `lastCut` is behind the last. */
  async join(firstCut: number, lastCut: number): Promise<Stretch> {
    while (this.#cuts.length <= lastCut && !this.#isComplete) await this.next();
    const from = this.offsetOf(firstCut);
    const isEnd = lastCut >= this.#cuts.length;
    const stop = this.offsetOf(lastCut);
    const window = await this.#window(
      from,
      isEnd ? this.#size : Math.min(this.#size, stop + BYTES_BEHIND_CUT),
    );
    return {
      ...window,
      firstCut,
      lastCut: isEnd ? this.#cuts.length : lastCut,
      stopAt: isEnd ? -1 : stop - window.baseOffset,
    };
  }

  async #window(
    from: number,
    to: number,
  ): Promise<Pick<Stretch, 'baseOffset' | 'from' | 'bytes' | 'isOwned'>> {
    const source = this.#source;
    if (to - from > MOST_WINDOW_BYTES)
      throw new CounterpointError(
        'ERR_PT_PART',
        `from byte ${from} on, more than ${MOST_WINDOW_BYTES} bytes have no synchronization point (PSB) at which a part could end`,
        'Decode the bytes before and after it separately.',
      );
    if (!(source instanceof Uint8Array)) {
      const bytes = await this.#read(source, from, to - from);
      return { baseOffset: from, from: 0, bytes, isOwned: true };
    }
    // What threads share need not be copied.
    if (typeof SharedArrayBuffer !== 'undefined' && source.buffer instanceof SharedArrayBuffer)
      return { baseOffset: 0, from, bytes: source, isOwned: false };
    return { baseOffset: from, from: 0, bytes: source.slice(from, to), isOwned: true };
  }

  /** The memory of a stretch whose `isOwned` was true: nobody looks at it any more. */
  giveBack(buffer: ArrayBuffer): void {
    if (buffer.byteLength > 0 && this.#spare.length < MOST_SPARE) this.#spare.push(buffer);
  }

  /** Bytes that nobody else has: a source may give out views of what it keeps. */
  async #read(source: ByteSource, offset: number, length: number): Promise<Uint8Array<ArrayBuffer>> {
    if (source.readInto === undefined) return (await source.read(offset, length)).slice();
    const fitting = this.#spare.findIndex(({ byteLength }) => byteLength >= length);
    const [spare = new ArrayBuffer(length)] = fitting < 0 ? [] : this.#spare.splice(fitting, 1);
    const bytes = new Uint8Array(spare, 0, length);
    const size = await source.readInto(bytes, offset);
    return size === length ? bytes : bytes.subarray(0, size);
  }
}
