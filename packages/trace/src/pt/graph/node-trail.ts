/**
 * What was executed, in order. The engine writes down one number a step (a slot of the step table, or a node
 * left for a target that the trace gave, negative); read out, each becomes the nodes it stands for.
 *
 *   log    1318 1320 -9 2050 …       in the loop: one store a TNT byte
 *   nodes  5 6 5 6 5 8 | 8 2 … | 9 | …
 */
import type { CodeGraph } from './code-graph.ts';
import { EFFECT_COUNT } from './step-facts.ts';
import type { StepTable } from './step-table.ts';

/** Steps between two readings. */
const LOG_LENGTH = 1 << 14;
/** A step executes at most six nodes. */
const NODES_A_STEP = 6;
/** 16 MiB, for which the last log before it is emptied has room. */
const MOST_PATHS: number = (1 << 22) - LOG_LENGTH * (NODES_A_STEP + 1);

/** Takes `nodes[0]` to `nodes[count - 1]`, executed in this order. Borrowed: filled again for the next. */
export type NodeListener = (graph: CodeGraph, nodes: Int32Array, count: number) => void;

/**
 * The nodes that steps execute, worked out when asked for. In order nothing is counted, so the place
 * of a step's count has its path.
 */
export class StepPaths {
  /** At the place of a path: how many nodes, and then these. */
  nodes = new Int32Array(LOG_LENGTH);
  /** Slots mean other steps from when this changes. */
  generation = 0;
  #used = 1;
  readonly #steps: StepTable;

  constructor(steps: StepTable) {
    this.#steps = steps;
  }

  /** Slots are below this. */
  get slots(): number {
    return this.#steps.table.length;
  }

  /** Where in `nodes` the path of a slot is. May replace `nodes`. */
  placeOf(slot: number): number {
    const { table, effects } = this.#steps;
    const place = effects[table[slot + 1]! + EFFECT_COUNT]!;
    return place !== 0 ? place : this.#add(slot);
  }

  /** Too many are known: forget them with their steps. */
  get isFull(): boolean {
    return this.#used > MOST_PATHS;
  }

  /** The step table was emptied, and with it the places. */
  forget(): void {
    this.#used = 1;
    this.generation++;
  }

  #add(slot: number): number {
    const place = this.#used;
    if (place + NODES_A_STEP >= this.nodes.length) {
      const longer = new Int32Array(this.nodes.length * 2);
      longer.set(this.nodes);
      this.nodes = longer;
    }
    const { nodes } = this;
    let at = place;
    this.#steps.replay(slot, (node) => {
      nodes[++at] = node;
    });
    nodes[place] = at - place;
    this.#used = at + 1;
    const { table, effects } = this.#steps;
    effects[table[slot + 1]! + EFFECT_COUNT] = place;
    return place;
  }
}

/**
 * The same for listeners that need not look at each node: `log[0]` to `log[count - 1]` are slots of steps, or
 * negative a single node, or at most CYCLES_LOGGED: cycles that passed then. Borrowed.
 */
export type PathListener = (graph: CodeGraph, log: Int32Array, count: number, paths: StepPaths) => void;

export class NodeTrail {
  readonly log = new Int32Array(LOG_LENGTH);
  logged = 0;
  readonly #graph: CodeGraph;
  readonly #nodeListener: NodeListener | undefined;
  readonly #pathListener: PathListener | undefined;
  readonly #nodes = new Int32Array(LOG_LENGTH * NODES_A_STEP);
  readonly #paths: StepPaths;

  constructor(
    graph: CodeGraph,
    steps: StepTable,
    nodeListener: NodeListener | undefined,
    pathListener: PathListener | undefined,
  ) {
    this.#graph = graph;
    this.#nodeListener = nodeListener;
    this.#pathListener = pathListener;
    this.#paths = new StepPaths(steps);
  }

  get isFull(): boolean {
    return this.logged === LOG_LENGTH;
  }

  /** Its steps must be emptied. */
  get hasManyPaths(): boolean {
    return this.#paths.isFull;
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
    const { logged } = this;
    if (logged === 0) return;
    this.logged = 0;
    if (this.#pathListener !== undefined) this.#pathListener(this.#graph, this.log, logged, this.#paths);
    else if (this.#nodeListener !== undefined) this.#tellNodes(logged, this.#nodeListener);
  }

  /** The step table was emptied. */
  forget(): void {
    this.#paths.forget();
  }

  #tellNodes(logged: number, listener: NodeListener): void {
    const { log } = this;
    const nodes = this.#nodes;
    const paths = this.#paths;
    let count = 0;
    for (let at = 0; at < logged; at++) {
      const slot = log[at]!;
      if (slot < 0) {
        nodes[count++] = -slot;
        continue;
      }
      let place = paths.placeOf(slot);
      const steps = paths.nodes;
      const last = place + steps[place]!;
      while (place < last) nodes[count++] = steps[++place]!;
    }
    listener(this.#graph, nodes, count);
  }
}
