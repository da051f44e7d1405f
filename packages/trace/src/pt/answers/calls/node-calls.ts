/**
 * What the nodes of a graph do to the call stack, worked out once for each:
 *
 *   node     mov  call f  mov  call g  push  je ─>        ops   call f (2 instructions in), call g (4)
 *                                             ^ its end: nothing, a return, an indirect call or jump, a far transfer
 */
import { TWO_32 } from '@counterpoint/core/base';
import { Int32Column } from '@counterpoint/core/profile';
import {
  KIND_CALL,
  KIND_CALL_INDIRECT,
  KIND_CONDITIONAL,
  KIND_FAR_CALL,
  KIND_FAR_JUMP,
  KIND_FAR_RETURN,
  KIND_JUMP,
  KIND_JUMP_INDIRECT,
  KIND_RETURN,
  MODE_64,
} from '../../../code/instructions/index.ts';
import type { CodeGraph } from '../../graph/index.ts';
import type { AddressTable } from './address-table.ts';
import { NO_ROW } from './call-record.ts';
import type { FunctionRows } from './function-rows.ts';

/** Numbers of an op in `ops`. */
export const OP_INSTRUCTIONS = 0;
export const OP_BRANCHES = 1;
/** Rows: the branch, where it goes, what is behind it. NO_ROW where one has no room. */
export const OP_AT = 2;
export const OP_TARGET = 3;
/** NO_ROW for a jump: then it leaves its function. */
export const OP_RETURN = 4;
export const OP_LENGTH = 5;

export class NodeCalls {
  readonly graph: CodeGraph;
  /** As in the graph; 0 where the node was not worked out yet. */
  readonly instructions = new Int32Column();
  readonly branches = new Int32Column();
  /** The kind of its last instruction where that matters, else 0. */
  readonly endKind = new Int32Column();
  readonly endRow = new Int32Column();
  readonly nextRow = new Int32Column();
  readonly firstOp = new Int32Column();
  readonly opCount = new Int32Column();
  readonly ops = new Int32Column();
  readonly #addresses: AddressTable;
  readonly #functions: FunctionRows;
  #rowOfNode = new Int32Array(1024);

  constructor(graph: CodeGraph, addresses: AddressTable, functions: FunctionRows) {
    this.graph = graph;
    this.#addresses = addresses;
    this.#functions = functions;
  }

  /** The row of a node's address. */
  rowOf(node: number): number {
    if (node >= this.#rowOfNode.length) {
      const longer = new Int32Array(Math.max(node + 1, this.#rowOfNode.length * 2));
      longer.set(this.#rowOfNode);
      this.#rowOfNode = longer;
    }
    const known = this.#rowOfNode[node]!;
    if (known !== 0) return known - 1;
    const row = this.#addresses.rowOf(this.graph.loOf(node), this.graph.hiOf(node));
    this.#rowOfNode[node] = row + 1;
    return row;
  }

  /** Nodes below have their place in the columns. */
  get known(): number {
    return this.instructions.length;
  }

  /** It does nothing but execute instructions. */
  isPlain(node: number): boolean {
    if (node >= this.known || this.instructions.at(node) === 0) this.add(node);
    return this.opCount.at(node) === 0 && this.endKind.at(node) === 0;
  }

  /** Work a node out. */
  add(node: number): void {
    while (this.known <= node)
      for (const column of [
        this.instructions,
        this.branches,
        this.endKind,
        this.endRow,
        this.nextRow,
        this.firstOp,
        this.opCount,
      ])
        column.push(0);
    const { graph } = this;
    const addresses = this.#addresses;
    const functions = this.#functions;
    const firstOp = this.ops.length;
    let instructions = 0;
    let branches = 0;
    let lastLo = 0;
    let lastHi = 0;
    let nextLo = 0;
    let nextHi = 0;
    let lastKind = 0;
    // Only places of calls have rows: all instructions would be many more.
    const lastRow = () => addresses.rowOf(lastLo, lastHi);
    const nextRow = () => addresses.rowOf(nextLo, nextHi);
    /** A direct branch inside the node: where it goes is where the next instruction is. */
    graph.walk(node, (lo, hi, size, kind) => {
      if (lastKind === KIND_CALL) {
        // A call to the next instruction only asks where it is.
        if (lo !== nextLo || hi !== nextHi)
          this.#addOp(instructions, branches, lastRow(), addresses.rowOf(lo, hi), nextRow());
      } else if (lastKind === KIND_JUMP && functions.isKnown) {
        const at = addresses.rowOf(lo, hi);
        if (functions.crosses(lastRow(), at)) this.#addOp(instructions, branches, lastRow(), at, NO_ROW);
      }
      instructions++;
      if (kind >= KIND_CALL) branches++;
      const sum = (lo >>> 0) + size;
      nextLo = sum | 0;
      nextHi = sum < TWO_32 ? hi : graph.mode === MODE_64 ? (hi + 1) | 0 : 0;
      lastLo = lo;
      lastHi = hi;
      lastKind = kind;
    });
    this.instructions.data[node] = instructions;
    this.branches.data[node] = branches;
    this.firstOp.data[node] = firstOp;
    this.opCount.data[node] = (this.ops.length - firstOp) / OP_LENGTH;
    let end = endsOpen(lastKind) ? lastKind : 0;
    if (lastKind === KIND_CONDITIONAL && functions.isKnown) {
      const taken = graph.taken.at(node);
      if (functions.crosses(lastRow(), addresses.rowOf(graph.loOf(taken), graph.hiOf(taken))))
        end = KIND_CONDITIONAL;
    }
    this.endRow.data[node] = end === 0 ? NO_ROW : lastRow();
    this.nextRow.data[node] = end === 0 ? NO_ROW : nextRow();
    this.endKind.data[node] = end;
  }

  #addOp(instructions: number, branches: number, at: number, target: number, behind: number): void {
    for (const value of [instructions, branches, at, target, behind]) this.ops.push(value);
  }
}

/** What it does is decided by where the path goes on. */
function endsOpen(kind: number): boolean {
  switch (kind) {
    case KIND_CALL_INDIRECT:
    case KIND_RETURN:
    case KIND_JUMP_INDIRECT:
    case KIND_FAR_CALL:
    case KIND_FAR_RETURN:
    case KIND_FAR_JUMP:
      return true;
    default:
      return false;
  }
}
