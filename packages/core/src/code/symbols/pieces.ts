/** Which symbol covers which addresses: disjoint pieces in ascending order. */
export interface Pieces {
  start: Float64Array;
  end: Float64Array;
  symbol: Uint32Array;
}

/**
 * The pieces of those symbols that overlap others (few do; the rest need none). Symbols are sorted by
 * start, no two equal. The one that starts later has the bytes: the innermost function of a nest is found
 * and the outer one goes on after it.
 *
 *     starts, ends   [ outer                )  [ alone )
 *                        [ inner )
 *     pieces         [ o )[ inner )[ outer  )
 *
 * A label (a symbol that came without a size and was given all bytes up to the next one) does not
 * interrupt a function it stands in: it begins where that ends. perf leaves the choice among nested
 * symbols to the shape of its tree.
 */
export function overlapPieces(starts: Float64Array, ends: Float64Array, isLabel: Uint8Array): Pieces {
  const builder = new PieceBuilder(ends);
  const count = starts.length;
  let clusterStart = 0;
  let farthest = Number.NEGATIVE_INFINITY;
  for (let index = 0; index <= count; index++) {
    if (index < count && starts[index]! < farthest) {
      if (ends[index]! > farthest) farthest = ends[index]!;
      continue;
    }
    // Nothing open reaches here: a cluster of more than one symbol ends.
    if (index - clusterStart > 1) builder.addCluster(starts, isLabel, clusterStart, index);
    clusterStart = index;
    if (index < count) farthest = ends[index]!;
  }
  return builder.finish();
}

class PieceBuilder {
  readonly #ends: Float64Array;
  readonly #start: number[] = [];
  readonly #end: number[] = [];
  readonly #symbol: number[] = [];
  /** What is open at `from`, the innermost last. */
  readonly #open: number[] = [];
  #from = 0;

  constructor(ends: Float64Array) {
    this.#ends = ends;
  }

  /** Symbols from `first` up to `after`, which overlap in a chain. */
  addCluster(starts: Float64Array, isLabel: Uint8Array, first: number, after: number): void {
    let functionsEnd = Number.NEGATIVE_INFINITY;
    this.#from = starts[first]!;
    for (let index = first; index < after; index++) {
      const end = this.#ends[index]!;
      let start = starts[index]!;
      if (isLabel[index] === 0) functionsEnd = Math.max(functionsEnd, end);
      else start = Math.max(start, functionsEnd);
      if (start >= end) continue;
      this.#coverTo(start);
      this.#open.push(index);
    }
    this.#coverTo(Number.POSITIVE_INFINITY);
  }

  finish(): Pieces {
    return {
      start: Float64Array.from(this.#start),
      end: Float64Array.from(this.#end),
      symbol: Uint32Array.from(this.#symbol),
    };
  }

  /**
   * What is open has the bytes up to `to`, as far as it reaches: the innermost
   * first, then what it interrupted.
   */
  #coverTo(to: number): void {
    while (this.#open.length > 0) {
      const innermost = this.#open[this.#open.length - 1]!;
      const end = Math.min(this.#ends[innermost]!, to);
      if (end > this.#from) {
        this.#start.push(this.#from);
        this.#end.push(end);
        this.#symbol.push(innermost);
        this.#from = end;
      }
      if (this.#ends[innermost]! > to) break;
      this.#open.pop();
    }
    this.#from = to;
  }
}
