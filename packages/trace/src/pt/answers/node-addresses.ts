import { Int32Column } from '@counterpoint/core/profile';
import type { CodeGraph } from '../graph/index.ts';

/** 32 MiB; nodes that share their ways may have many more. */
const MOST_ADDRESSES = 1 << 22;

/** The addresses of the instructions on each node's way, written down when first asked for. */
export class NodeAddresses {
  /** int32 halves; those of a node stand together. */
  readonly lo = new Int32Column(1024);
  readonly hi = new Int32Column(1024);
  readonly #graph: CodeGraph;
  /** By node: where its addresses begin, plus 1; 0 is not known yet. */
  #first = new Int32Array(1024);

  constructor(graph: CodeGraph) {
    this.#graph = graph;
  }

  /**
   * Where the node's addresses begin, until another node is asked for; there are
   * `graph.instructions.at(node)`.
   */
  firstOf(node: number): number {
    const known = node < this.#first.length ? this.#first[node]! : 0;
    return (known !== 0 ? known : this.#add(node)) - 1;
  }

  #add(node: number): number {
    if (node >= this.#first.length) {
      const longer = new Int32Array(Math.max(this.#first.length * 2, node + 1));
      longer.set(this.#first);
      this.#first = longer;
    }
    if (this.lo.length > MOST_ADDRESSES) {
      this.lo.length = 0;
      this.hi.length = 0;
      this.#first.fill(0);
    }
    const first = this.lo.length + 1;
    this.#first[node] = first;
    this.#graph.walk(node, (lo, hi) => {
      this.lo.push(lo);
      this.hi.push(hi);
    });
    return first;
  }
}
