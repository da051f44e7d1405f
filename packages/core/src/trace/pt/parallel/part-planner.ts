import type { ByteSource } from '../../../base/index.ts';
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

/** Beyond the size of a part, a cut is looked for in so many bytes at first. */
const SEARCH_BYTES = 1 << 18;

/**
 * Cuts a trace into parts of a size, each read when it is asked for, so that no more of the trace is in memory than what is
 * being decoded.
 */
export class PartPlanner {
  readonly #source: ByteSource | Uint8Array;
  readonly #size: number;
  readonly #partBytes: number;
  readonly #cuts: number[] = [0];
  #isComplete = false;

  constructor(source: ByteSource | Uint8Array, partBytes: number) {
    this.#source = source;
    this.#size = source instanceof Uint8Array ? source.length : source.size;
    this.#partBytes = partBytes;
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

  /** The stretch behind the last cut; null where there is none. */
  async next(): Promise<Stretch | null> {
    if (this.#isComplete) return null;
    const firstCut = this.#cuts.length - 1;
    const from = this.#cuts[firstCut]!;
    for (let search = SEARCH_BYTES; ; search *= 2) {
      const to = Math.min(this.#size, from + this.#partBytes + search);
      const window = await this.#window(from, to);
      const at = findCut(window.bytes, window.from + this.#partBytes, window.from + to - from);
      if (at < 0 && to < this.#size) continue;
      if (at < 0) this.#isComplete = true;
      else this.#cuts.push(window.baseOffset + at);
      return { ...window, firstCut, lastCut: firstCut + 1, stopAt: at };
    }
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
    if (!(source instanceof Uint8Array)) {
      const bytes = await readOwned(source, from, to - from);
      return { baseOffset: from, from: 0, bytes, isOwned: true };
    }
    // What threads share need not be copied.
    if (typeof SharedArrayBuffer !== 'undefined' && source.buffer instanceof SharedArrayBuffer)
      return { baseOffset: 0, from, bytes: source, isOwned: false };
    return { baseOffset: from, from: 0, bytes: source.slice(from, to), isOwned: true };
  }
}

/** Bytes that nobody else has: a source may give out views of what it keeps. */
async function readOwned(
  source: ByteSource,
  offset: number,
  length: number,
): Promise<Uint8Array<ArrayBuffer>> {
  if (source.readInto === undefined) return (await source.read(offset, length)).slice();
  const bytes = new Uint8Array(length);
  const size = await source.readInto(bytes, offset);
  return size === length ? bytes : bytes.subarray(0, size);
}
