import type { TraceClock } from '../../pt/index.ts';

/**
 * Cycles along a queue, for samples that tell how many there were for a number
 * of instructions (perf's rules).
 *
 *   trace   CYC 40  TNT !.!            CYC 12  TIP
 *   known           ^ the first                ^          which instruction the cycles belong to; in between they are estimates (A)
 *
 * Without CYC packets they follow from the time and the ratio of the clocks.
 */
export class CycleCount {
  /** As of the packet that is to be used next. */
  total = 0;
  /** As of the last packet that was used. */
  used = 0;
  /** As of the last instruction at which they are known. */
  sampled = 0;
  /** There are CYC packets: the cycles are known at single instructions only. */
  hasCyc = false;
  /** Packets have come that tell of cycles, and that no instruction was given yet. */
  #isFresh = false;
  #seenPackets = 0;
  #seenCycles = 0;
  readonly #nominalRatio: number;
  #ratio = 0;
  #baseTicks = 0;
  #baseCycles = 0;
  #lastTicks = 0;

  constructor(nominalRatio: number) {
    this.#nominalRatio = nominalRatio;
  }

  /** Other bytes: their clock begins at 0. */
  rebase(): void {
    this.#seenPackets = 0;
    this.#seenCycles = 0;
  }

  /**
   * What CYC packets told up to the next event, and the time there. Cycles while
   * nothing is traced are not counted.
   */
  update({ cycPackets, totalCycles }: TraceClock, ticks: number, isTraced: boolean): void {
    if (cycPackets !== this.#seenPackets) {
      this.hasCyc = true;
      // Also one that says 0: that there were none is known.
      this.#isFresh = true;
      if (isTraced) this.total += totalCycles - this.#seenCycles;
      this.#seenPackets = cycPackets;
      this.#seenCycles = totalCycles;
    }
    if (this.hasCyc) return;
    if (!isTraced || this.#nominalRatio === 0) {
      this.#baseTicks = ticks;
      this.#baseCycles = this.total;
    } else if (ticks !== this.#lastTicks) {
      const cycles = ((ticks - this.#baseTicks) * this.#ratio) / this.#nominalRatio;
      this.total = Math.max(this.total, this.#baseCycles + Math.floor(cycles));
      this.#isFresh = true;
      this.#lastTicks = ticks;
    }
  }

  /** The core's clock runs at another ratio from here on. */
  setRatio(ratio: number, ticks: number): void {
    this.#ratio = ratio;
    this.#baseTicks = ticks;
    this.#baseCycles = this.total;
  }

  /** A branch, or an event, that a packet tells of: are the cycles known there? Asked once for each. */
  take(): boolean {
    this.used = this.total;
    const isKnown = this.#isFresh;
    this.#isFresh = false;
    return isKnown;
  }
}

/** Instructions and cycles since the last sample of one kind. */
export class SinceSample {
  #instructions = 0;
  #cycles = 0;

  /** Cycles until here, 0 for none. */
  cyclesTo(cycles: number): number {
    return cycles - this.#cycles;
  }

  /** Take what has come since; null where that were no cycles. */
  take(instructions: number, cycles: number): { instructions: number; cycles: number } | null {
    if (cycles <= this.#cycles) return null;
    const since = { instructions: instructions - this.#instructions, cycles: cycles - this.#cycles };
    this.#instructions = instructions;
    this.#cycles = cycles;
    return since;
  }
}
