import { hiOf, loOf } from '@counterpoint/core/base';
import { LAST_ADDRESS, type Layer } from './layer.ts';

/** When each layer is on top within one interval of addresses. */
export interface Timeline {
  first: bigint;
  last: bigint;
  /** Beginnings of the stretches, ascending; a stretch ends where the next begins. The first is -Infinity. */
  from: Float64Array;
  /** Layer on top in each stretch, or null. */
  layers: (Layer | null)[];
}

/**
 * Which layer is on top at an address and a time. Every first address and every one behind a last address is
 * a border; between two borders the set of layers is the same, and its timeline is made when first asked for:
 *
 *     layers      a [-------------------)      borders    | a  | a b | a b c | a c | c |
 *                 b      [--------)                       0    1     2       3     4   5
 *                 c            [-----------)
 *
 * Making all timelines at once could cost the square of the number of layers; those asked for are few.
 */
export class LayerIndex {
  readonly #borders: bigint[];
  readonly #borderLo: Uint32Array;
  readonly #borderHi: Uint32Array;
  readonly #layers: readonly Layer[];
  /** Layers by number of their first interval. */
  readonly #order: Int32Array;
  readonly #firstInterval: Int32Array;
  readonly #lastInterval: Int32Array;
  /** Largest last interval in the subtree of each place of `order`, seen as a binary search tree. */
  readonly #largestLast: Int32Array;
  readonly #timelines = new Map<number, Timeline>();

  constructor(layers: readonly Layer[]) {
    this.#layers = layers;
    const unique = new Set<bigint>([0n]);
    for (const { first, last } of layers) {
      unique.add(first);
      if (last !== LAST_ADDRESS) unique.add(last + 1n);
    }
    this.#borders = [...unique].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
    this.#borderLo = Uint32Array.from(this.#borders, loOf);
    this.#borderHi = Uint32Array.from(this.#borders, hiOf);
    const count = layers.length;
    this.#firstInterval = Int32Array.from(layers, ({ first }) => this.intervalOf(loOf(first), hiOf(first)));
    this.#lastInterval = Int32Array.from(layers, ({ last }) => this.intervalOf(loOf(last), hiOf(last)));
    this.#order = Int32Array.from({ length: count }, (_, layer) => layer).sort(
      (a, b) => this.#firstInterval[a]! - this.#firstInterval[b]!,
    );
    this.#largestLast = new Int32Array(count);
    this.#fillLargest(0, count);
  }

  /** Number of the interval that has the address. */
  intervalOf(lo: number, hi: number): number {
    const low = lo >>> 0;
    const high = hi >>> 0;
    let from = 0;
    let to = this.#borderHi.length;
    while (to - from > 1) {
      const middle = (from + to) >>> 1;
      const borderHi = this.#borderHi[middle]!;
      if (borderHi < high || (borderHi === high && this.#borderLo[middle]! <= low)) from = middle;
      else to = middle;
    }
    return from;
  }

  timelineOf(interval: number): Timeline {
    const known = this.#timelines.get(interval);
    if (known !== undefined) return known;
    const covering: number[] = [];
    this.#collect(0, this.#order.length, interval, covering);
    covering.sort((a, b) => a - b);
    const next = this.#borders[interval + 1];
    const timeline = makeTimeline(
      this.#borders[interval]!,
      next === undefined ? LAST_ADDRESS : next - 1n,
      covering.map((layer) => this.#layers[layer]!),
    );
    this.#timelines.set(interval, timeline);
    return timeline;
  }

  #fillLargest(from: number, to: number): number {
    if (from >= to) return -1;
    const middle = (from + to) >>> 1;
    const largest = Math.max(
      this.#lastInterval[this.#order[middle]!]!,
      this.#fillLargest(from, middle),
      this.#fillLargest(middle + 1, to),
    );
    this.#largestLast[middle] = largest;
    return largest;
  }

  #collect(from: number, to: number, interval: number, into: number[]): void {
    if (from >= to) return;
    const middle = (from + to) >>> 1;
    if (this.#largestLast[middle]! < interval) return;
    this.#collect(from, middle, interval, into);
    const layer = this.#order[middle]!;
    if (this.#firstInterval[layer]! > interval) return;
    if (this.#lastInterval[layer]! >= interval) into.push(layer);
    this.#collect(middle + 1, to, interval, into);
  }
}

/** Lays the topmost layer first and lets each lower one have only what is still free. */
function makeTimeline(first: bigint, last: bigint, covering: readonly Layer[]): Timeline {
  const times = new Set<number>([Number.NEGATIVE_INFINITY]);
  for (const { from, to } of covering) {
    times.add(from);
    if (to !== Number.POSITIVE_INFINITY) times.add(to);
  }
  const from = Float64Array.from(times).sort();
  const layers: (Layer | null)[] = new Array<Layer | null>(from.length).fill(null);
  // For each stretch the next one at or after it that is free: a chain that is shortened as it is walked.
  const nextFree = Int32Array.from({ length: from.length + 1 }, (_, stretch) => stretch);
  const freeFrom = (stretch: number): number => {
    let at = stretch;
    while (nextFree[at]! !== at) {
      nextFree[at] = nextFree[nextFree[at]!]!;
      at = nextFree[at]!;
    }
    return at;
  };
  for (let index = covering.length - 1; index >= 0; index--) {
    const layer = covering[index]!;
    let at = freeFrom(firstAtLeast(from, layer.from));
    while (at < from.length && from[at]! < layer.to) {
      layers[at] = layer;
      nextFree[at] = at + 1;
      at = freeFrom(at);
    }
  }
  return { first, last, from, layers };
}

/** Place of the first value that is at least `value`. */
function firstAtLeast(sorted: Float64Array, value: number): number {
  let from = 0;
  let to = sorted.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (sorted[middle]! < value) from = middle + 1;
    else to = middle;
  }
  return from;
}
