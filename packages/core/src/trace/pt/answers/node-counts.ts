import { Float64Column } from '../../../profile/index.ts';
import type { CodeGraph, CountListener } from '../graph/index.ts';
import { BranchTable } from './branch-table.ts';

/** What one graph executed, summed up. Counts are exact below 2^53. */
export class NodeCounts implements CountListener {
  readonly graph: CodeGraph;
  /** Times executed to the end, by node. */
  readonly executed = new Float64Column();
  /** Of these, times its conditional branch was taken. */
  readonly taken = new Float64Column();
  /** Indirect branches, by node and target node. */
  readonly targets = new BranchTable();

  constructor(graph: CodeGraph) {
    this.graph = graph;
  }

  onOutcome(node: number, taken: boolean, count: number): void {
    this.#reserve(node);
    this.executed.data[node]! += count;
    if (taken) this.taken.data[node]! += count;
  }

  onTarget(node: number, target: number, count: number): void {
    this.#reserve(node);
    this.executed.data[node]! += count;
    this.targets.add(node, target, count);
  }

  #reserve(node: number): void {
    while (this.executed.length <= node) {
      this.executed.push(0);
      this.taken.push(0);
    }
  }
}
