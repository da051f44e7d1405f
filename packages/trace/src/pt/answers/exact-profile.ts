/**
 * How often every instruction and every branch was executed: exact, from whole nodes (the compiled graph) and
 * single instructions (the exact decoder, around events).
 *
 *   A run of instructions ends with a branch, of whatever kind, or is cut off by an event.
 *   blocks = branches + cuts;  calls are near calls.
 *
 * A trace that is damaged, or made for it, names every byte of the code as an instruction, and pairs of them
 * without end: there is room for so many of each, far more than programs have. What finds none is counted
 * together, so that totals stay exact.
 */
import { TripleTable, TWO_32 } from '@counterpoint/core/base';
import { Float64Column, Int32Column } from '@counterpoint/core/profile';
import { KIND_CALL, KIND_CALL_INDIRECT } from '../../code/instructions/index.ts';
import { type CodeGraph, END_CONDITIONAL, END_RETURN } from '../graph/index.ts';
import { BranchTable } from './branch-table.ts';
import type { NodeCounts } from './node-counts.ts';

/** How often instructions and branches were executed in all. */
export interface ExactTotals {
  /** Executed instructions. */
  instructions: number;
  /** Runs of instructions: each ends with a branch, or is cut off by an event. */
  blocks: number;
  /** Executed branches of every kind, taken or not. */
  branches: number;
  /** Executed near calls, direct and indirect. */
  calls: number;
}

/** Executed, but without rows of its own: times. */
export interface LeftOut {
  /** Executed instructions without a row. */
  readonly instructions: number;
  /** Those of them that are branches. */
  readonly branches: number;
  /** Those of them that are near calls. */
  readonly calls: number;
  /**
   * Branches without a row for where they were and where they went, whether or not
   * the instructions have theirs.
   */
  readonly edges: number;
}

/** How much a profile keeps apart. */
export interface ProfileRoom {
  /** Most instructions, by address. */
  readonly rows: number;
  /** Most pairs of branch and target. */
  readonly edges: number;
}

/** A profile as plain arrays, which may cross from thread to thread. Branches by row. */
export interface ProfileColumns {
  /** By row: low half of the address, as int32. */
  readonly lo: Int32Array<ArrayBuffer>;
  /** By row: high half of the address. */
  readonly hi: Int32Array<ArrayBuffer>;
  /** By row: times executed; 0 for an address that was only gone to. */
  readonly executed: Float64Array<ArrayBuffer>;
  /** By row: bytes of the instruction. */
  readonly size: Int32Array<ArrayBuffer>;
  /** By row: KIND_*. */
  readonly kind: Int32Array<ArrayBuffer>;
  /** By branch: row of the branch. */
  readonly branchFrom: Int32Array<ArrayBuffer>;
  /** By branch: row of where it went. */
  readonly branchTo: Int32Array<ArrayBuffer>;
  /** By branch: times that it went there. */
  readonly branchCount: Float64Array<ArrayBuffer>;
  /** Runs that an event cut off. */
  readonly cuts: number;
  /** What had no room. */
  readonly leftOut: LeftOut;
}

/**
 * 4 million instructions, some 17 MB of code that was executed, and 2 million pairs of
 * branch and target: about 250 MiB.
 */
const PROFILE_ROOM: ProfileRoom = { rows: 1 << 22, edges: 1 << 21 };
/** Where a 64-bit number has its low 32 bits: 0 on all machines but a few. */
const LOW_HALF: number = new Uint32Array(BigUint64Array.of(1n).buffer)[0] === 1 ? 0 : 1;
/** Instead of a row. */
const NO_ROOM = -2;
/** Above every size of an instruction. */
const SIZES = 16;

/**
 * How often every instruction and every branch was executed, by row: each address has one.
 *
 *     for (let row = 0; row < profile.rows; row++)
 *       console.log(toBigInt(profile.loOf(row) >>> 0, profile.hiOf(row) >>> 0), profile.executed.at(row));
 *
 * `branchList`, `hotRuns`, `FileCounts` and `profileOfExact` make more of it. What finds no room is counted
 * together, so that totals stay exact.
 */
export class ExactProfile {
  #addresses = new TripleTable();
  /** By row: times executed; 0 for an address that was only gone to. */
  executed = new Float64Column();
  /** By row: bytes of the instruction; 0 for an address that was only gone to. */
  size = new Int32Column();
  /** By row: KIND_* of the instruction. */
  kind = new Int32Column();
  /**
   * Branches, by the rows of where they were and where they went; conditional ones only where they were
   * taken. Returns are not among them: they went behind their calls.
   */
  branches: BranchTable;
  /** Runs that an event cut off. */
  cuts = 0;
  readonly #mostRows: number;
  #instructionsLeftOut = 0;
  #branchesLeftOut = 0;
  #callsLeftOut = 0;

  constructor(room: ProfileRoom = PROFILE_ROOM) {
    this.#mostRows = room.rows;
    this.branches = new BranchTable(room.edges);
  }

  /** Number of rows. */
  get rows(): number {
    return this.#addresses.length;
  }

  /** Low half of a row's address, as int32: `>>> 0` makes it unsigned. */
  loOf(row: number): number {
    return this.#addresses.firstAt(row);
  }

  /** High half of a row's address, as int32. */
  hiOf(row: number): number {
    return this.#addresses.secondAt(row);
  }

  /** All zero where everything had room. */
  get leftOut(): LeftOut {
    return {
      instructions: this.#instructionsLeftOut,
      branches: this.#branchesLeftOut,
      calls: this.#callsLeftOut,
      edges: this.branches.leftOut,
    };
  }

  /** The row of an address; negative where it has no room. */
  rowOf(lo: number, hi: number): number {
    if (this.rows >= this.#mostRows) {
      const known = this.#addresses.lookUp(lo, hi, 0);
      return known >= 0 ? known : NO_ROOM;
    }
    const row = this.#addresses.find(lo, hi, 0);
    if (row >= 0) return row;
    this.executed.push(0);
    this.size.push(0);
    this.kind.push(0);
    return -1 - row;
  }

  /** Count a branch from the instruction of a row to an address. */
  addBranch(from: number, lo: number, hi: number, count: number): void {
    // Where the pair can have no room, its target needs none.
    const isNew = from >= 0 && !this.branches.isFull;
    this.branches.add(from, isNew ? this.rowOf(lo, hi) : this.#addresses.lookUp(lo, hi, 0), count);
  }

  /** Add instructions executed at an address; its row, negative where it has no room. */
  add(lo: number, hi: number, size: number, kind: number, count: number): number {
    const row = this.rowOf(lo, hi);
    if (row < 0) {
      this.#leaveOut(kind, count);
      return row;
    }
    this.executed.data[row]! += count;
    // Two instructions at one address (another mode, or address space): which one is told
    // must not depend on the order.
    if (kind * SIZES + size > this.kind.data[row]! * SIZES + this.size.data[row]!) {
      this.size.data[row] = size;
      this.kind.data[row] = kind;
    }
    return row;
  }

  /**
   * Spread what a graph counted over its instructions.
   *
   * @internal
   */
  addGraph(counts: NodeCounts): void {
    const { graph, executed } = counts;
    const lastRow = new Int32Array(executed.length);
    for (let node = 1; node < executed.length; node++)
      if (executed.at(node) > 0)
        lastRow[node] = this.#addNode(graph, node, executed.at(node), counts.taken.at(node));
    counts.targets.forEach((node, target, count) => {
      if (graph.end.at(node) === END_RETURN) return;
      this.addBranch(lastRow[node]!, graph.loOf(target), graph.hiOf(target), count);
    });
    counts.cuts.forEach((node, instructions, count) => {
      if (this.#addPart(graph, node, instructions, count) < KIND_CALL) this.cuts += count;
    });
    counts.passes.forEach((node, instructions, count) => {
      this.#addPart(graph, node, instructions, count);
    });
  }

  /** Over all rows, and what had no room. */
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
    instructions += this.#instructionsLeftOut;
    branches += this.#branchesLeftOut;
    calls += this.#callsLeftOut;
    return { instructions, blocks: branches + this.cuts, branches, calls };
  }

  /** A copy as plain arrays: to be sent to another thread, or kept. */
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
    const lo = new Int32Array(rows);
    const hi = new Int32Array(rows);
    for (let row = 0; row < rows; row++) {
      lo[row] = this.loOf(row);
      hi[row] = this.hiOf(row);
    }
    return {
      lo,
      hi,
      executed: this.executed.data.slice(0, rows),
      size: this.size.data.slice(0, rows),
      kind: this.kind.data.slice(0, rows),
      branchFrom,
      branchTo,
      branchCount,
      cuts: this.cuts,
      leftOut: this.leftOut,
    };
  }

  /** Add all that another profile counted. */
  addProfile(other: ExactProfile): void {
    const rows = new Int32Array(other.rows);
    for (let row = 0; row < rows.length; row++)
      rows[row] = this.add(
        other.loOf(row),
        other.hiOf(row),
        other.size.at(row),
        other.kind.at(row),
        other.executed.at(row),
      );
    other.branches.forEach((from, to, count) => {
      this.branches.add(rows[from]!, rows[to]!, count);
    });
    this.cuts += other.cuts;
    this.#addLeftOut(other.leftOut);
  }

  /** Add all that a profile counted which was sent as plain arrays. */
  addColumns(columns: ProfileColumns): void {
    const { lo, hi, executed, size, kind, branchFrom, branchTo, branchCount } = columns;
    const rows = new Int32Array(lo.length);
    if (this.rows === 0) this.#expect(lo.length, branchCount.length);
    for (let row = 0; row < rows.length; row++)
      rows[row] = this.add(lo[row]!, hi[row]!, size[row]!, kind[row]!, executed[row]!);
    for (let at = 0; at < branchCount.length; at++)
      this.branches.add(rows[branchFrom[at]!]!, rows[branchTo[at]!]!, branchCount[at]!);
    this.cuts += columns.cuts;
    this.#addLeftOut(columns.leftOut);
  }

  /**
   * The same with rows and branches in the order of addresses, however it was counted;
   * without rows that say nothing.
   */
  sorted(): ExactProfile {
    const sorted = new ExactProfile({ rows: this.rows, edges: this.branches.size });
    sorted.#expect(this.rows, this.branches.size);
    const isTarget = new Uint8Array(this.rows);
    this.branches.forEach((_from, to) => {
      isTarget[to] = 1;
    });
    const { rows } = this;
    const oldRow = this.sortedRows();
    const newRow = new Int32Array(rows);
    for (const row of oldRow) {
      if (this.executed.at(row) === 0 && isTarget[row] === 0) continue;
      const { size, kind, executed } = this;
      newRow[row] = sorted.add(this.loOf(row), this.hiOf(row), size.at(row), kind.at(row), executed.at(row));
      oldRow[newRow[row]!] = row;
    }
    // As numbers: with a function that compares, sorting takes several times the room and the time.
    // Rows squared are below 2^53.
    const pairs = new Float64Array(this.branches.size);
    let filled = 0;
    this.branches.forEach((from, to) => {
      pairs[filled++] = newRow[from]! * rows + newRow[to]!;
    });
    for (const pair of pairs.sort()) {
      const from = Math.floor(pair / rows);
      const to = pair % rows;
      sorted.branches.add(from, to, this.branches.countOf(oldRow[from]!, oldRow[to]!));
    }
    sorted.cuts = this.cuts;
    sorted.#addLeftOut(this.leftOut);
    return sorted;
  }

  /** Is `to` somewhere else than right behind the instruction of `from`? */
  isJump(from: number, to: number): boolean {
    return isJump(this.loOf(from), this.hiOf(from), this.size.at(from), this.loOf(to), this.hiOf(to));
  }

  /** Rows in the order of their addresses. */
  sortedRows(): Int32Array {
    const addresses = new BigUint64Array(this.rows);
    const halves = new Int32Array(addresses.buffer);
    for (let row = 0; row < this.rows; row++) {
      halves[row * 2 + LOW_HALF] = this.loOf(row);
      halves[row * 2 + 1 - LOW_HALF] = this.hiOf(row);
    }
    addresses.sort();
    const rows = new Int32Array(this.rows);
    for (let at = 0; at < rows.length; at++)
      rows[at] = this.#addresses.lookUp(halves[at * 2 + LOW_HALF]!, halves[at * 2 + 1 - LOW_HALF]!, 0);
    return rows;
  }

  /** The first instructions of a node's way; the kind of the last. */
  #addPart(graph: CodeGraph, node: number, instructions: number, count: number): number {
    let at = 0;
    let last = NO_ROOM;
    let lastKind = 0;
    graph.walk(node, (lo, hi, size, kind) => {
      // What follows a direct branch is where that went, executed or not.
      if (at <= instructions && lastKind >= KIND_CALL) this.addBranch(last, lo, hi, count);
      if (at++ >= instructions) return;
      last = this.add(lo, hi, size, kind, count);
      lastKind = kind;
    });
    return lastKind;
  }

  /** The row of the node's last instruction. */
  #addNode(graph: CodeGraph, node: number, executed: number, taken: number): number {
    let last = NO_ROOM;
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
      this.addBranch(last, graph.loOf(target), graph.hiOf(target), taken);
    }
    return last;
  }

  /** Nothing is there yet, and so much will be: tables that grow leave twice as much behind. */
  #expect(rows: number, edges: number): void {
    const most = Math.min(rows, this.#mostRows);
    this.#addresses = new TripleTable(most);
    this.executed = new Float64Column(most);
    this.size = new Int32Column(most);
    this.kind = new Int32Column(most);
    this.branches = this.branches.emptied(edges);
  }

  #leaveOut(kind: number, count: number): void {
    this.#instructionsLeftOut += count;
    if (kind >= KIND_CALL) this.#branchesLeftOut += count;
    if (kind === KIND_CALL || kind === KIND_CALL_INDIRECT) this.#callsLeftOut += count;
  }

  #addLeftOut({ instructions, branches, calls, edges }: LeftOut): void {
    this.#instructionsLeftOut += instructions;
    this.#branchesLeftOut += branches;
    this.#callsLeftOut += calls;
    this.branches.leftOut += edges;
  }
}

/** Is an address somewhere else than right behind an instruction of `size` bytes? */
export function isJump(fromLo: number, fromHi: number, size: number, toLo: number, toHi: number): boolean {
  const sum = (fromLo >>> 0) + size;
  const hi = sum >= TWO_32 ? (fromHi + 1) | 0 : fromHi;
  return toLo !== (sum | 0) || toHi !== hi;
}
