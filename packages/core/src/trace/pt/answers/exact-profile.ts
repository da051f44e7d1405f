/**
 * How often every instruction and every branch was executed: exact, from whole nodes (the compiled graph) and single
 * instructions (the exact decoder, around events).
 *
 *   A run of instructions ends with a branch, of whatever kind, or is cut off by an event.
 *   blocks = branches + cuts;  calls are near calls.
 */
import { TripleTable, TWO_32 } from '../../../base/index.ts';
import { Float64Column, Int32Column } from '../../../profile/index.ts';
import { KIND_CALL, KIND_CALL_INDIRECT } from '../../insn/index.ts';
import { type CodeGraph, END_CONDITIONAL, END_RETURN } from '../graph/index.ts';
import { BranchTable } from './branch-table.ts';
import type { NodeCounts } from './node-counts.ts';

export interface ExactTotals {
  instructions: number;
  blocks: number;
  branches: number;
  calls: number;
}

/** Instructions by address, in rows. */
export class ExactProfile {
  readonly #addresses = new TripleTable();
  /** Times executed. */
  readonly executed = new Float64Column();
  /** Bytes; 0 for an address that was only gone to. */
  readonly size = new Int32Column();
  /** KIND_*. */
  readonly kind = new Int32Column();
  /**
   * Branches, by the rows of where they were and where they went; conditional ones only where they were taken. Returns are not
   * among them: they went behind their calls.
   */
  readonly branches = new BranchTable();
  /** Runs that an event cut off. */
  cuts = 0;

  get rows(): number {
    return this.#addresses.length;
  }

  loOf(row: number): number {
    return this.#addresses.firstAt(row);
  }

  hiOf(row: number): number {
    return this.#addresses.secondAt(row);
  }

  /** The row of an address. */
  rowOf(lo: number, hi: number): number {
    const row = this.#addresses.find(lo, hi, 0);
    if (row >= 0) return row;
    this.executed.push(0);
    this.size.push(0);
    this.kind.push(0);
    return -1 - row;
  }

  /** Add instructions executed at an address; its row. */
  add(lo: number, hi: number, size: number, kind: number, count: number): number {
    const row = this.rowOf(lo, hi);
    this.executed.data[row]! += count;
    this.size.data[row] = size;
    this.kind.data[row] = kind;
    return row;
  }

  /** Spread what a graph counted over its instructions. */
  addGraph(counts: NodeCounts): void {
    const { graph, executed } = counts;
    const lastRow = new Int32Array(executed.length);
    for (let node = 1; node < executed.length; node++)
      if (executed.at(node) > 0)
        lastRow[node] = this.#addNode(graph, node, executed.at(node), counts.taken.at(node));
    counts.targets.forEach((node, target, count) => {
      if (graph.end.at(node) === END_RETURN) return;
      this.branches.add(lastRow[node]!, this.rowOf(graph.loOf(target), graph.hiOf(target)), count);
    });
  }

  totals(): ExactTotals {
    let instructions = 0;
    let branches = 0;
    let calls = 0;
    for (let row = 0; row < this.rows; row++) {
      const count = this.executed.at(row);
      const kind = this.kind.at(row);
      instructions += count;
      if (kind >= KIND_CALL) branches += count;
      if (kind === KIND_CALL || kind === KIND_CALL_INDIRECT) calls += count;
    }
    return { instructions, blocks: branches + this.cuts, branches, calls };
  }

  /** Is `to` somewhere else than right behind the instruction of `from`? */
  isJump(from: number, to: number): boolean {
    const sum = (this.loOf(from) >>> 0) + this.size.at(from);
    const hi = sum >= TWO_32 ? (this.hiOf(from) + 1) | 0 : this.hiOf(from);
    return this.loOf(to) !== (sum | 0) || this.hiOf(to) !== hi;
  }

  /** Rows in the order of their addresses. */
  sortedRows(): Int32Array {
    const rows = Int32Array.from({ length: this.rows }, (_, row) => row);
    return rows.sort(
      (a, b) => (this.hiOf(a) >>> 0) - (this.hiOf(b) >>> 0) || (this.loOf(a) >>> 0) - (this.loOf(b) >>> 0),
    );
  }

  /** The row of the node's last instruction. */
  #addNode(graph: CodeGraph, node: number, executed: number, taken: number): number {
    let last = -1;
    graph.walk(node, (lo, hi, size, kind) => {
      const row = this.add(lo, hi, size, kind, executed);
      // Inside a node only direct branches are gone over.
      if (last >= 0 && this.kind.at(last) >= KIND_CALL) this.branches.add(last, row, executed);
      last = row;
    });
    if (graph.end.at(node) === END_CONDITIONAL && taken > 0) {
      const target = graph.taken.at(node);
      this.branches.add(last, this.rowOf(graph.loOf(target), graph.hiOf(target)), taken);
    }
    return last;
  }
}
