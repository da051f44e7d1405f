/**
 * What was executed, in order. The engine writes down one number a step (a slot of the step table, or a node left for a target
 * that the trace gave, negative); read out, each becomes the nodes it stands for.
 *
 *   log    1318 1320 -9 0 2050 …       in the loop: one store a TNT byte; 0 where time has moved on
 *   nodes  5 6 5 6 5 8 | 8 2 … | 9 | 0 | …
 */
import type { CodeGraph } from './code-graph.ts';
import type { StepTable } from './step-table.ts';

/** Steps between two readings. */
const LOG_LENGTH = 1 << 14;
/** A step executes at most six nodes. */
const NODES_A_STEP = 6;

/**
 * Takes `nodes[0]` to `nodes[count - 1]`, executed in this order; 0, which is no node, is a mark of `markTime`. Borrowed: filled
 * again for the next.
 */
export type NodeListener = (graph: CodeGraph, nodes: Int32Array, count: number) => void;

/** What steps execute: at the place of a path how many nodes, and then these. Grows, until `generation` says that it began anew. */
export class NodePaths {
  nodes = new Int32Array(LOG_LENGTH);
  used = 1;
  generation = 0;
}

/**
 * The same for who need not look at each node: `log[0]` to `log[count - 1]` are places of paths, or negative a single node, or 0.
 * Borrowed.
 */
export type PathListener = (graph: CodeGraph, log: Int32Array, count: number, paths: NodePaths) => void;

export class NodeTrail {
  readonly log = new Int32Array(LOG_LENGTH);
  logged = 0;
  readonly #graph: CodeGraph;
  readonly #steps: StepTable;
  readonly #nodeListener: NodeListener | undefined;
  readonly #pathListener: PathListener | undefined;
  readonly #nodes = new Int32Array(LOG_LENGTH * NODES_A_STEP);
  readonly #paths = new NodePaths();
  /** Slot of a step -> where its path is. 0 is not known yet. */
  #pathOf = new Int32Array(0);

  constructor(
    graph: CodeGraph,
    steps: StepTable,
    nodeListener: NodeListener | undefined,
    pathListener: PathListener | undefined,
  ) {
    this.#graph = graph;
    this.#steps = steps;
    this.#nodeListener = nodeListener;
    this.#pathListener = pathListener;
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

  markTime(): void {
    if (this.logged === LOG_LENGTH) this.flush();
    this.log[this.logged++] = 0;
  }

  /** Tell the listener all that was written down. */
  flush(): void {
    const { logged } = this;
    if (logged === 0) return;
    this.logged = 0;
    if (this.#pathOf.length < this.#steps.table.length) {
      const longer = new Int32Array(this.#steps.table.length);
      longer.set(this.#pathOf);
      this.#pathOf = longer;
    }
    if (this.#pathListener !== undefined) this.#tellPaths(logged, this.#pathListener);
    else if (this.#nodeListener !== undefined) this.#tellNodes(logged, this.#nodeListener);
  }

  #tellNodes(logged: number, listener: NodeListener): void {
    const { log } = this;
    const nodes = this.#nodes;
    const pathOf = this.#pathOf;
    let paths = this.#paths.nodes;
    let count = 0;
    for (let at = 0; at < logged; at++) {
      const slot = log[at]!;
      if (slot <= 0) {
        nodes[count++] = -slot;
        continue;
      }
      let path = pathOf[slot]!;
      if (path === 0) {
        path = this.#addPath(slot);
        paths = this.#paths.nodes;
      }
      const last = path + paths[path]!;
      while (path < last) nodes[count++] = paths[++path]!;
    }
    listener(this.#graph, nodes, count);
  }

  #tellPaths(logged: number, listener: PathListener): void {
    const { log } = this;
    const pathOf = this.#pathOf;
    for (let at = 0; at < logged; at++) {
      const slot = log[at]!;
      if (slot <= 0) continue;
      const path = pathOf[slot]!;
      log[at] = path !== 0 ? path : this.#addPath(slot);
    }
    listener(this.#graph, log, logged, this.#paths);
  }

  /** The step table was emptied: its slots mean other steps from now on. */
  forget(): void {
    this.#pathOf.fill(0);
    this.#paths.used = 1;
    this.#paths.generation++;
  }

  #addPath(slot: number): number {
    const paths = this.#paths;
    const path = paths.used;
    if (path + NODES_A_STEP >= paths.nodes.length) {
      const longer = new Int32Array(paths.nodes.length * 2);
      longer.set(paths.nodes);
      paths.nodes = longer;
    }
    const { nodes } = paths;
    let at = path;
    this.#steps.replay(slot, (node) => {
      nodes[++at] = node;
    });
    nodes[path] = at - path;
    paths.used = at + 1;
    this.#pathOf[slot] = path;
    return path;
  }
}
