/**
 * What was executed, in order. The engine writes down one number a step (a slot of the step table, or a node left for a target
 * that the trace gave, negative); read out, each becomes the nodes it stands for.
 *
 *   log    1318 1320 -9 2050 …       in the loop: one store a TNT byte
 *   nodes  5 6 5 6 5 8 | 8 2 … | 9 | …
 */
import type { CodeGraph } from './code-graph.ts';
import type { StepTable } from './step-table.ts';

/** Steps between two readings. */
const LOG_LENGTH = 1 << 14;
/** A step executes at most six nodes. */
const NODES_A_STEP = 6;

/** Takes `nodes[0]` to `nodes[count - 1]`, executed in this order. Borrowed: filled again for the next. */
export type NodeListener = (graph: CodeGraph, nodes: Int32Array, count: number) => void;

export class NodeTrail {
  readonly log = new Int32Array(LOG_LENGTH);
  logged = 0;
  readonly #graph: CodeGraph;
  readonly #steps: StepTable;
  readonly #listener: NodeListener;
  readonly #nodes = new Int32Array(LOG_LENGTH * NODES_A_STEP);
  /** Slot of a step -> where its path begins in #paths: a count, then nodes. 0 is not known yet. */
  #pathOf = new Int32Array(0);
  #paths = new Int32Array(LOG_LENGTH);
  #pathsUsed = 1;

  constructor(graph: CodeGraph, steps: StepTable, listener: NodeListener) {
    this.#graph = graph;
    this.#steps = steps;
    this.#listener = listener;
  }

  get isFull(): boolean {
    return this.logged === LOG_LENGTH;
  }

  addStep(slot: number): void {
    if (this.logged === LOG_LENGTH) this.flush();
    this.log[this.logged++] = slot;
  }

  addNode(node: number): void {
    if (this.logged === LOG_LENGTH) this.flush();
    this.log[this.logged++] = -node;
  }

  /** Tell the listener all that was written down. */
  flush(): void {
    const { log } = this;
    const logged = this.logged;
    if (logged === 0) return;
    this.logged = 0;
    if (this.#pathOf.length < this.#steps.table.length) {
      const longer = new Int32Array(this.#steps.table.length);
      longer.set(this.#pathOf);
      this.#pathOf = longer;
    }
    const nodes = this.#nodes;
    const pathOf = this.#pathOf;
    let paths = this.#paths;
    let count = 0;
    for (let at = 0; at < logged; at++) {
      const slot = log[at]!;
      if (slot < 0) {
        nodes[count++] = -slot;
        continue;
      }
      let path = pathOf[slot]!;
      if (path === 0) {
        path = this.#addPath(slot);
        paths = this.#paths;
      }
      const last = path + paths[path]!;
      while (path < last) nodes[count++] = paths[++path]!;
    }
    this.#listener(this.#graph, nodes, count);
  }

  /** The step table was emptied: its slots mean other steps from now on. */
  forget(): void {
    this.#pathOf.fill(0);
    this.#pathsUsed = 1;
  }

  #addPath(slot: number): number {
    const path = this.#pathsUsed;
    if (path + NODES_A_STEP >= this.#paths.length) {
      const longer = new Int32Array(this.#paths.length * 2);
      longer.set(this.#paths);
      this.#paths = longer;
    }
    const paths = this.#paths;
    let at = path;
    this.#steps.replay(slot, (node) => {
      paths[++at] = node;
    });
    paths[path] = at - path;
    this.#pathsUsed = at + 1;
    this.#pathOf[slot] = path;
    return path;
  }
}
