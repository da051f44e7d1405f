/**
 * When code changes, and where: between two changes the image has one answer for each address.
 *
 *   time     -inf ... 10          20          30 ...
 *   change             a begins    b begins    a ends
 *   epoch      0       1           2           3
 */
import { FOREVER, type Layer } from './layer.ts';

/** Code is told apart in pieces of this many bytes. */
const GRANULE_SHIFT = 4;
const GRANULES_BELOW_2_32: number = 2 ** (32 - GRANULE_SHIFT);

/** Number of the piece that has an address (int32 halves): exact for all canonical addresses. */
export function granuleOf(lo: number, hi: number): number {
  return hi * GRANULES_BELOW_2_32 + (lo >>> GRANULE_SHIFT);
}

function granuleOfAddress(address: bigint): number {
  return Number(BigInt.asIntN(64, address) >> BigInt(GRANULE_SHIFT));
}

export class CodeChanges {
  /** Of each change, ascending; one layer may make two. */
  readonly #times: Float64Array;
  readonly #layers: readonly Layer[];

  constructor(layers: readonly Layer[]) {
    const changes = layers.flatMap((layer) =>
      [layer.from, layer.to].filter((time) => Math.abs(time) !== FOREVER).map((time) => ({ time, layer })),
    );
    changes.sort((a, b) => a.time - b.time);
    this.#times = Float64Array.from(changes, ({ time }) => time);
    this.#layers = changes.map(({ layer }) => layer);
  }

  /** Changes at or before a time. */
  epochOf(time: number): number {
    const times = this.#times;
    let from = 0;
    let to = times.length;
    while (from < to) {
      const middle = (from + to) >>> 1;
      if (times[middle]! <= time) from = middle + 1;
      else to = middle;
    }
    return from;
  }

  /** The times of an epoch: from the first up to but not including the second. */
  startOf(epoch: number): number {
    return epoch === 0 ? -FOREVER : this.#times[epoch - 1]!;
  }

  endOf(epoch: number): number {
    return epoch === this.#times.length ? FOREVER : this.#times[epoch]!;
  }

  /** Is any of these granules where code changes between two epochs, whichever comes first? */
  touch(granules: ReadonlySet<number>, oneEpoch: number, otherEpoch: number): boolean {
    const last = Math.max(oneEpoch, otherEpoch);
    for (let change = Math.min(oneEpoch, otherEpoch); change < last; change++)
      if (hasAny(granules, this.#layers[change]!)) return true;
    return false;
  }
}

function hasAny(granules: ReadonlySet<number>, layer: Layer): boolean {
  const first = granuleOfAddress(layer.first);
  const last = granuleOfAddress(layer.last);
  // Both halves of memory: the numbers go round.
  if (last < first) return true;
  // Numbers of addresses that no processor has may be too large to count up.
  if (last - first >= granules.size || !Number.isSafeInteger(first) || !Number.isSafeInteger(last)) {
    for (const granule of granules) if (granule >= first && granule <= last) return true;
    return false;
  }
  for (let granule = first; granule <= last; granule++) if (granules.has(granule)) return true;
  return false;
}
