/**
 * Nodes that were left on their way: before the instruction at an address, for an interrupt or because
 * tracing went off; or behind one that writes CR3.
 *
 *   node 7     push  mov  call f  test  cmp  je          FUP at `cmp`: a part of 4 instructions, with one call
 *              `-----------------------´
 */
import { TripleTable } from '@counterpoint/core/base';
import { Int32Column } from '@counterpoint/core/profile';
import { KIND_CALL } from '../../code/instructions/index.ts';
import type { CodeGraph } from './code-graph.ts';

/**
 * Addresses that were asked for may come from damaged packets: more of them than this (11 MiB) are not kept.
 */
const MOST_PARTS = 1 << 18;

/** `isCut`: it went on somewhere else. Else right behind, with another node. */
export type PartVisitor = (node: number, instructions: number, isCut: boolean, count: number) => void;

export class NodeParts {
  /** Instructions of the node before the address; -1 where it is not on the node's way. */
  readonly instructions = new Int32Column();
  /** Calls among them. */
  readonly pushes = new Int32Column();
  /** The last instruction of the part. */
  readonly lastLo = new Int32Column();
  readonly lastHi = new Int32Column();
  readonly #graph: CodeGraph;
  readonly #places = new TripleTable();
  readonly #cuts = new Int32Column();
  readonly #passes = new Int32Column();

  constructor(graph: CodeGraph) {
    this.#graph = graph;
  }

  /** Too large: `drain`, then `clear`. */
  get isFull(): boolean {
    return this.#places.length >= MOST_PARTS;
  }

  /** The part of a node that ends before an address (int32 halves). */
  find(node: number, lo: number, hi: number): number {
    const part = this.#places.find(node, lo, hi);
    return part >= 0 ? part : this.#add(node, lo, hi);
  }

  countCut(part: number): void {
    this.#cuts.data[part]! += 1;
  }

  countPass(part: number): void {
    this.#passes.data[part]! += 1;
  }

  /** All that was counted since the last time; begins at 0 again. */
  drain(visit: PartVisitor): void {
    for (let part = 0; part < this.#places.length; part++) {
      const node = this.#places.firstAt(part);
      const instructions = this.instructions.at(part);
      const cuts = this.#cuts.at(part) >>> 0;
      const passes = this.#passes.at(part) >>> 0;
      if (cuts > 0) visit(node, instructions, true, cuts);
      if (passes > 0) visit(node, instructions, false, passes);
      this.#cuts.data[part] = 0;
      this.#passes.data[part] = 0;
    }
  }

  clear(): void {
    this.#places.clear();
    const { instructions, pushes, lastLo, lastHi } = this;
    for (const column of [instructions, pushes, lastLo, lastHi, this.#cuts, this.#passes]) column.length = 0;
  }

  #add(node: number, lo: number, hi: number): number {
    let instructions = -1;
    let pushes = 0;
    let before = 0;
    let lastLo = 0;
    let lastHi = 0;
    this.#graph.endOf(node);
    this.#graph.walk(node, (atLo, atHi, _size, kind, displacement) => {
      if (instructions >= 0) return;
      if (atLo === lo && atHi === hi) {
        instructions = before;
        return;
      }
      if (kind === KIND_CALL && displacement !== 0) pushes++;
      before++;
      lastLo = atLo;
      lastHi = atHi;
    });
    this.instructions.push(instructions);
    this.pushes.push(pushes);
    this.lastLo.push(lastLo);
    this.lastHi.push(lastHi);
    this.#cuts.push(0);
    this.#passes.push(0);
    return this.#places.length - 1;
  }
}
