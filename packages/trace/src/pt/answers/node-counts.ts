import { Float64Column } from '@counterpoint/core/profile';
import type { CodeGraph, CountListener, OutcomeCounts } from '../graph/index.ts';
import { BranchTable } from './branch-table.ts';

/** Some 14 MiB of each table. There may be as many pairs as the square of the nodes. */
const MOST_PAIRS = 1 << 19;

/** What one graph executed, summed up. Counts are exact below 2^53. */
export class NodeCounts implements CountListener {
  readonly graph: CodeGraph;
  /** Times executed to the end, by node. */
  executed = new Float64Column();
  /** Of these, times its conditional branch was taken. */
  taken = new Float64Column();
  /** Indirect branches, by node and target node. */
  targets = new BranchTable(MOST_PAIRS);
  /**
   * Nodes of which only the first instructions were executed, by node and how many: cut off
   * there, or gone on behind them.
   */
  cuts = new BranchTable(MOST_PAIRS);
  passes = new BranchTable(MOST_PAIRS);
  readonly #onFull: ((counts: NodeCounts) => void) | null;

  /** `onFull` must `take` what was counted: there is no room for more. */
  constructor(graph: CodeGraph, onFull: ((counts: NodeCounts) => void) | null) {
    this.graph = graph;
    this.#onFull = onFull;
  }

  outcomes(nodes: number): OutcomeCounts {
    this.#reserve(nodes);
    return { executed: this.executed.data, taken: this.taken.data };
  }

  onTarget(node: number, target: number, count: number): void {
    this.#reserve(node + 1);
    this.executed.data[node]! += count;
    if (target !== 0) this.#addPair(this.targets, node, target, count);
  }

  onPart(node: number, instructions: number, isCut: boolean, count: number): void {
    if (instructions > 0) this.#addPair(isCut ? this.cuts : this.passes, node, instructions, count);
  }

  /** All that was counted, which here begins at 0 again. */
  take(): NodeCounts {
    const taken = new NodeCounts(this.graph, null);
    [taken.executed, this.executed] = [this.executed, taken.executed];
    [taken.taken, this.taken] = [this.taken, taken.taken];
    [taken.targets, this.targets] = [this.targets, taken.targets];
    [taken.cuts, this.cuts] = [this.cuts, taken.cuts];
    [taken.passes, this.passes] = [this.passes, taken.passes];
    return taken;
  }

  /** Add what was counted for the same graph, which nobody else may hold. */
  add(other: NodeCounts): void {
    if (this.#isEmpty) {
      this.executed = other.executed;
      this.taken = other.taken;
      this.targets = other.targets;
      this.cuts = other.cuts;
      this.passes = other.passes;
      return;
    }
    const { length } = other.executed;
    this.#reserve(length);
    for (let node = 0; node < length; node++) {
      this.executed.data[node]! += other.executed.at(node);
      this.taken.data[node]! += other.taken.at(node);
    }
    for (const [table, of] of [
      ['targets', other.targets],
      ['cuts', other.cuts],
      ['passes', other.passes],
    ] as const)
      of.forEach((node, to, count) => {
        this.#addPair(this[table], node, to, count);
      });
  }

  get #isEmpty(): boolean {
    return this.executed.length + this.targets.size + this.cuts.size + this.passes.size === 0;
  }

  #addPair(table: BranchTable, node: number, to: number, count: number): void {
    table.add(node, to, count);
    if (table.isFull) this.#onFull?.(this);
  }

  #reserve(nodes: number): void {
    this.executed.lengthen(nodes);
    this.taken.lengthen(nodes);
  }
}
