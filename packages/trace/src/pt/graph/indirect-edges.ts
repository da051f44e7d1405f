import { TripleTable } from '@counterpoint/core/base';
import { Int32Column } from '@counterpoint/core/profile';

/** Some 30 MiB. A program may have as many; a hostile trace has more. */
const MOST_EDGES = 1 << 20;

/**
 * How often each indirect branch went where: by node and address, with the node that the
 * address stands for beside it.
 */
export class IndirectEdges {
  readonly #edges = new TripleTable();
  readonly #target = new Int32Column();
  readonly #count = new Int32Column();
  /** By node: times that it was left for where the trace does not tell. */
  readonly #untold = new Int32Column();

  /** Too large: `drain`, then `clear`. */
  get isFull(): boolean {
    return this.#edges.length >= MOST_EDGES;
  }

  /** Count once more; the target's node, or 0 where the edge is new: then `setTarget` must follow. */
  count(node: number, lo: number, hi: number): number {
    const edge = this.#edges.find(node, lo, hi);
    if (edge >= 0) {
      this.#count.data[edge]! += 1;
      return this.#target.at(edge);
    }
    this.#count.push(1);
    this.#target.push(0);
    return 0;
  }

  /** Of the newest edge. */
  setTarget(target: number): void {
    this.#target.data[this.#target.length - 1] = target;
  }

  /** Tracing went off with the branch, and where that went is not told. */
  countUntold(node: number): void {
    while (this.#untold.length <= node) this.#untold.push(0);
    this.#untold.data[node]! += 1;
  }

  clear(): void {
    this.#edges.clear();
    this.#target.length = 0;
    this.#count.length = 0;
  }

  /**
   * All that was counted since the last time; begins at 0 again (32 bits: call it every 2^31
   * packets). Target 0: not told.
   */
  drain(visit: (node: number, target: number, count: number) => void): void {
    for (let edge = 0; edge < this.#edges.length; edge++) {
      const count = this.#count.at(edge) >>> 0;
      if (count === 0) continue;
      this.#count.data[edge] = 0;
      visit(this.#edges.firstAt(edge), this.#target.at(edge), count);
    }
    for (let node = 0; node < this.#untold.length; node++) {
      const count = this.#untold.at(node) >>> 0;
      if (count === 0) continue;
      this.#untold.data[node] = 0;
      visit(node, 0, count);
    }
  }
}
