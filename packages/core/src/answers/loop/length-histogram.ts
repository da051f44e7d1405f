/** Steps for each doubling of a length: a percentile is right to 1 %. */
const STEPS_PER_OCTAVE = 64;
/** From a nanosecond to 35 years. */
const STEPS = 60 * STEPS_PER_OCTAVE;

/** Lengths of any number of turns in bounded memory. */
export class LengthHistogram {
  readonly #counts = new Float64Array(STEPS);
  #total = 0;
  #sumNs = 0;
  #maxNs = 0;

  get total(): number {
    return this.#total;
  }

  get sumNs(): number {
    return this.#sumNs;
  }

  get maxNs(): number {
    return this.#maxNs;
  }

  add(lengthNs: number): void {
    const step = lengthNs < 1 ? 0 : Math.floor(Math.log2(lengthNs) * STEPS_PER_OCTAVE);
    this.#counts[Math.min(step, STEPS - 1)]! += 1;
    this.#total++;
    this.#sumNs += lengthNs;
    if (lengthNs > this.#maxNs) this.#maxNs = lengthNs;
  }

  /** The length that this percentage of all do not exceed; null if there are none. */
  percentileNs(percent: number): number | null {
    if (this.#total === 0) return null;
    const wanted = Math.max(1, Math.ceil((percent / 100) * this.#total));
    let seen = 0;
    for (let step = 0; step < STEPS; step++) {
      seen += this.#counts[step]!;
      if (seen >= wanted) return Math.min(this.#maxNs, middleOf(step));
    }
    return this.#maxNs;
  }

  /** How many lengths are below each of `edgesNs` (ascending), and above the one before it. */
  counts(edgesNs: readonly number[]): number[] {
    const counts = new Array<number>(edgesNs.length + 1).fill(0);
    for (let step = 0; step < STEPS; step++) {
      const count = this.#counts[step]!;
      if (count === 0) continue;
      const length = middleOf(step);
      const at = edgesNs.findIndex((edge) => length < edge);
      counts[at < 0 ? edgesNs.length : at]! += count;
    }
    return counts;
  }
}

function middleOf(step: number): number {
  return 2 ** ((step + 0.5) / STEPS_PER_OCTAVE);
}
