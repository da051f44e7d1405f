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

/** A profile as plain arrays, which may cross from thread to thread. Branches by row. */
export interface ProfileColumns {
  readonly lo: Int32Array<ArrayBuffer>;
  readonly hi: Int32Array<ArrayBuffer>;
  readonly executed: Float64Array<ArrayBuffer>;
  readonly size: Int32Array<ArrayBuffer>;
  readonly kind: Int32Array<ArrayBuffer>;
  readonly branchFrom: Int32Array<ArrayBuffer>;
  readonly branchTo: Int32Array<ArrayBuffer>;
  readonly branchCount: Float64Array<ArrayBuffer>;
  readonly cuts: number;
}

/** Above every size of an instruction. */
const SIZES = 16;

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
    // Two instructions at one address (another mode, or address space): which one is told must not depend on the order.
    if (kind * SIZES + size > this.kind.data[row]! * SIZES + this.size.data[row]!) {
      this.size.data[row] = size;
      this.kind.data[row] = kind;
    }
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
    counts.cuts.forEach((node, instructions, count) => {
      if (this.#addPart(graph, node, instructions, count) < KIND_CALL) this.cuts += count;
    });
    counts.passes.forEach((node, instructions, count) => {
      this.#addPart(graph, node, instructions, count);
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

  toColumns(): ProfileColumns {
    const { rows, branches } = this;
    const branchFrom = new Int32Array(branches.size);
    const branchTo = new Int32Array(branches.size);
    const branchCount = new Float64Array(branches.size);
    let at = 0;
    branches.forEach((from, to, count) => {
      branchFrom[at] = from;
      branchTo[at] = to;
      branchCount[at++] = count;
    });
    return {
      lo: Int32Array.from({ length: rows }, (_, row) => this.loOf(row)),
      hi: Int32Array.from({ length: rows }, (_, row) => this.hiOf(row)),
      executed: this.executed.data.slice(0, rows),
      size: this.size.data.slice(0, rows),
      kind: this.kind.data.slice(0, rows),
      branchFrom,
      branchTo,
      branchCount,
      cuts: this.cuts,
    };
  }

  /** Add all that another profile counted. */
  addColumns(columns: ProfileColumns): void {
    const { lo, hi, executed, size, kind, branchFrom, branchTo, branchCount } = columns;
    const rows = new Int32Array(lo.length);
    for (let row = 0; row < rows.length; row++)
      rows[row] = this.add(lo[row]!, hi[row]!, size[row]!, kind[row]!, executed[row]!);
    for (let at = 0; at < branchCount.length; at++)
      this.branches.add(rows[branchFrom[at]!]!, rows[branchTo[at]!]!, branchCount[at]!);
    this.cuts += columns.cuts;
  }

  /** The same with rows and branches in the order of addresses, however it was counted; without rows that say nothing. */
  sorted(): ExactProfile {
    const sorted = new ExactProfile();
    const columns = this.toColumns();
    const { branchFrom, branchTo, branchCount } = columns;
    const isTarget = new Uint8Array(this.rows);
    for (const to of branchTo) isTarget[to] = 1;
    const newRow = new Int32Array(this.rows);
    for (const row of this.sortedRows())
      if (columns.executed[row]! > 0 || isTarget[row] !== 0)
        newRow[row] = sorted.add(
          columns.lo[row]!,
          columns.hi[row]!,
          columns.size[row]!,
          columns.kind[row]!,
          columns.executed[row]!,
        );
    const order = Int32Array.from(branchCount, (_, at) => at).sort(
      (a, b) =>
        newRow[branchFrom[a]!]! - newRow[branchFrom[b]!]! || newRow[branchTo[a]!]! - newRow[branchTo[b]!]!,
    );
    for (const at of order)
      sorted.branches.add(newRow[branchFrom[at]!]!, newRow[branchTo[at]!]!, branchCount[at]!);
    sorted.cuts = this.cuts;
    return sorted;
  }

  /** Is `to` somewhere else than right behind the instruction of `from`, which has `size` bytes? */
  isJump(from: number, to: number, size: number = this.size.at(from)): boolean {
    const sum = (this.loOf(from) >>> 0) + size;
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

  /** The first instructions of a node's way; the kind of the last. */
  #addPart(graph: CodeGraph, node: number, instructions: number, count: number): number {
    let at = 0;
    let last = -1;
    let lastKind = 0;
    graph.walk(node, (lo, hi, size, kind) => {
      // What follows a direct branch is where that went, executed or not.
      if (at <= instructions && lastKind >= KIND_CALL) this.branches.add(last, this.rowOf(lo, hi), count);
      if (at++ >= instructions) return;
      last = this.add(lo, hi, size, kind, count);
      lastKind = kind;
    });
    return lastKind;
  }

  /** The row of the node's last instruction. */
  #addNode(graph: CodeGraph, node: number, executed: number, taken: number): number {
    let last = -1;
    let isBehindBranch = false;
    graph.walk(node, (lo, hi, size, kind) => {
      const row = this.add(lo, hi, size, kind, executed);
      // Inside a node only direct branches are gone over.
      if (isBehindBranch) this.branches.add(last, row, executed);
      last = row;
      isBehindBranch = kind >= KIND_CALL;
    });
    if (graph.end.at(node) === END_CONDITIONAL && taken > 0) {
      const target = graph.taken.at(node);
      this.branches.add(last, this.rowOf(graph.loOf(target), graph.hiOf(target)), taken);
    }
    return last;
  }
}
