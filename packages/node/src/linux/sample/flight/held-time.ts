import type { HistoryRing } from '@counterpoint/core/ring';

interface Mark {
  timeNs: number;
  /** Bytes that each ring had been written by then. */
  written: number[];
}

/** For the rate. */
const RECENT_NS = 5e9;

/**
 * How far back rings go, without reading them: from how much had been written when. A ring of 4 MB holds what
 * was written since the mark at which it had 4 MB less than now.
 */
export class HeldTime {
  readonly #rings: readonly HistoryRing[];
  readonly #keepNs: number;
  #marks: Mark[] = [];

  /** Further back than `keepMs` nobody asks. */
  constructor(rings: readonly HistoryRing[], keepMs: number) {
    this.#keepNs = keepMs * 1e6;
    this.#rings = rings;
  }

  /** Call it about every second. */
  mark(timeNs: number): void {
    const written = this.#rings.map(({ memory }) => memory.writtenBytes());
    // Of the marks at which a ring had what it has lost by now, the latest is enough.
    const needed = this.#marks.findLastIndex((mark) =>
      mark.written.every((bytes, ring) => this.#isOver(ring, bytes)),
    );
    const recent = this.#marks.findIndex((mark) => mark.timeNs >= timeNs - RECENT_NS);
    // A ring that is never full would need all of them.
    const kept = this.#marks.findLastIndex((mark) => mark.timeNs <= timeNs - this.#keepNs);
    const first = Math.min(Math.max(needed, kept, 0), recent < 0 ? this.#marks.length : recent);
    this.#marks = [...this.#marks.slice(first), { timeNs, written }];
  }

  /** All that was written by then has been overwritten. */
  #isOver(ring: number, writtenThen: number): boolean {
    const { memory } = this.#rings[ring]!;
    return memory.writtenBytes() - writtenThen > memory.data.length;
  }

  /** How many points in time are remembered. */
  get marks(): number {
    return this.#marks.length;
  }

  /** Milliseconds: of the ring that holds least. */
  heldMs(nowNs: number, startedNs: number): number {
    const begins = this.#rings.map((ring, index) => {
      if (!ring.isFull) return startedNs;
      return this.#marks.find(({ written }) => !this.#isOver(index, written[index]!))?.timeNs ?? nowNs;
    });
    return (nowNs - Math.max(startedNs, ...begins)) / 1e6;
  }

  /** Bytes per second of all rings. */
  bytesPerSecond(nowNs: number): number {
    return this.#rates(nowNs).reduce((sum, rate) => sum + rate, 0);
  }

  /** Of the ring that is written most. */
  highestRate(nowNs: number): number {
    return Math.max(0, ...this.#rates(nowNs));
  }

  #rates(nowNs: number): number[] {
    const since = this.#marks.find(({ timeNs }) => timeNs >= nowNs - RECENT_NS);
    if (since === undefined || nowNs <= since.timeNs) return [];
    const seconds = (nowNs - since.timeNs) / 1e9;
    return this.#rings.map(({ memory }, ring) => (memory.writtenBytes() - since.written[ring]!) / seconds);
  }
}
