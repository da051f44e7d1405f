/**
 * Outcomes on a graph, whole bytes of them: which node is next, which calls are
 * open, which outcomes are left.
 */
import { RETURN_STACK_ENTRIES, type ReturnStack } from '../flow/return-stack.ts';
import type { LastIp } from '../packets/last-ip.ts';
import type { CodeGraph } from './code-graph.ts';
import { EdgeCache, MOST_EDGE_CALLS } from './edge-cache.ts';
import { type NodeListener, NodeTrail, type PathListener } from './node-trail.ts';
import { RowStack } from './row-stack.ts';
import { runSteps, StepRegisters } from './run-steps.ts';
import {
  EFFECT_COUNT,
  EFFECT_RARE_FACTS,
  EFFECT_RARE_PUSHES,
  NO_OUTCOMES,
  RARE_PEAK_SHIFT,
  RARE_PUSHES_MASK,
  restOf,
  STEP_POP,
  STEP_ROW_MASK,
} from './step-facts.ts';
import { type OutcomeCounts, StepTable } from './step-table.ts';

/** A long TNT is done in bytes of this many outcomes. */
const OUTCOMES_A_BYTE = 6;
const NO_LOG = new Int32Array(0);
const NO_BYTES = new Uint8Array(0);

export class StepRunner {
  /**
   * Outcomes of the packet before `position` that are not used yet: how many, and what, the oldest highest.
   */
  restCount = 0;
  restLo = 0;
  restHi = 0;
  /** What was executed, in order; null where it is counted. */
  readonly trail: NodeTrail | null;
  readonly #graph: CodeGraph;
  readonly #steps: StepTable;
  readonly #registers = new StepRegisters();
  readonly #calls = new RowStack();
  readonly #edges = new EdgeCache();
  readonly #cyc: number;
  /** Shared with the engine: targets move it on. */
  lastIp: LastIp;

  /** `cyc` is CYC_*. */
  constructor(
    graph: CodeGraph,
    lastIp: LastIp,
    cyc: number,
    nodes: NodeListener | undefined,
    paths: PathListener | undefined,
  ) {
    this.#graph = graph;
    this.lastIp = lastIp;
    this.#cyc = cyc;
    this.#steps = new StepTable(graph);
    this.trail =
      nodes === undefined && paths === undefined ? null : new NodeTrail(graph, this.#steps, nodes, paths);
  }

  /** The next packet, bytes. */
  get position(): number {
    return this.#registers.position;
  }

  set position(position: number) {
    this.#registers.position = position;
  }

  /** The node that is next. */
  get node(): number {
    return this.#steps.nodeOf(this.#registers.row);
  }

  set node(node: number) {
    this.#registers.row = this.#steps.rowOf(node);
  }

  /**
   * Too many steps are known: `drain` them, then `empty`. Outcomes are then left as if the
   * node needed something else.
   */
  get isFull(): boolean {
    return this.#steps.isFull || this.trail?.hasManyPaths === true;
  }

  /** Take over where returns go to. */
  setCalls(returns: ReturnStack): void {
    this.#calls.clear();
    returns.forEach((lo, hi) => {
      this.#calls.push(this.#steps.rowOf(this.#graph.nodeAt(lo, hi)));
    });
  }

  /** Give it back: on top of what is there. */
  copyCalls(returns: ReturnStack): void {
    this.#calls.forEach((row) => {
      const node = this.#steps.nodeOf(row);
      returns.push(this.#graph.loOf(node), this.#graph.hiOf(node));
    });
  }

  clearCalls(): void {
    this.#calls.clear();
  }

  /** The first calls of a node's way. */
  pushCalls(node: number, count: number): void {
    const { pushes, firstPush } = this.#graph;
    const last = firstPush.at(node) + count;
    // More than fit fall out at once.
    for (let push = last - Math.min(count, RETURN_STACK_ENTRIES); push < last; push++)
      this.#calls.push(this.#steps.rowOf(pushes.at(push)));
  }

  /**
   * The branch at the end of `node` went to an address, where `next` is: the loop does it from now on. False
   * where so many edges are known that they must be drained and forgotten first.
   */
  learnEdge(node: number, lo: number, hi: number, next: number): boolean {
    const { pushes, firstPush, pushCount } = this.#graph;
    const count = pushCount.at(node);
    if (count > MOST_EDGE_CALLS) return true;
    if (this.#edges.isFull) return false;
    const calls: number[] = [];
    for (let push = 0; push < count; push++)
      calls.push(this.#steps.rowOf(pushes.at(firstPush.at(node) + push)));
    this.#edges.add(this.#steps.rowOf(node), lo, hi, this.#steps.rowOf(next), node, calls);
    return true;
  }

  /** Times that edges were gone since the last time. */
  drainEdges(visit: (node: number, target: number, count: number) => void): void {
    this.#edges.drain((node, row, count) => visit(node, this.#steps.nodeOf(row), count));
  }

  /** Learn edges anew. */
  forgetEdges(): void {
    this.#edges.clear();
  }

  /** Outcomes, the oldest highest. False: `node` needs something else before those that are left. */
  execute(lo: number, hi: number, count: number): boolean {
    let left = count;
    this.restCount = 0;
    while (left > 0) {
      const taken = Math.min(left, OUTCOMES_A_BYTE);
      left -= taken;
      this.#registers.outcomes = ((1 << taken) | bitsAt(lo, hi, left, taken)) << 1;
      if (this.#runSteps(NO_BYTES, 0)) continue;
      this.restCount = left + outcomesIn(this.#registers.outcomes);
      this.restLo = lo;
      this.restHi = hi;
      return false;
    }
    return true;
  }

  /** The outcomes that are left. */
  executeRest(): boolean {
    return this.execute(this.restLo, this.restHi, this.restCount);
  }

  /**
   * TNT packets of one byte up to another kind. False: outcomes are left, for `node` needs
   * something else before them.
   */
  run(bytes: Uint8Array, end: number): boolean {
    if (this.#runSteps(bytes, end)) return true;
    const { outcomes } = this.#registers;
    this.restCount = outcomesIn(outcomes);
    this.restLo = outcomes >>> 1;
    this.restHi = 0;
    return false;
  }

  /** Nothing more for now. */
  finish(): void {
    this.#registers.outcomes = NO_OUTCOMES;
    this.trail?.flush();
  }

  /** What was done since the last time: as StepTable's. In order steps are not counted. */
  drain(counts: OutcomeCounts): void {
    if (this.trail === null) this.#steps.drain(counts);
  }

  /** Forget all steps, and stay where it is. */
  empty(): void {
    this.trail?.flush();
    this.trail?.forget();
    const { node } = this;
    const calls: number[] = [];
    this.#calls.forEach((row) => {
      calls.push(this.#steps.nodeOf(row));
    });
    this.#steps.clear();
    this.#edges.clear();
    this.node = node;
    this.#calls.clear();
    for (const call of calls) this.#calls.push(this.#steps.rowOf(call));
  }

  /**
   * Steps up to a packet of another kind. False: outcomes are left, for `node` needs something else before
   * them, or there is no room; `isFinal`: then there is for a few.
   */
  #runSteps(bytes: Uint8Array, end: number, isFinal = false): boolean {
    const steps = this.#steps;
    const registers = this.#registers;
    const trail = this.trail;
    do {
      registers.logged = trail?.logged ?? 0;
      runSteps(
        bytes,
        end,
        steps.table,
        steps.effects,
        this.#calls,
        registers,
        this.#edges,
        this.lastIp,
        trail?.log ?? NO_LOG,
        this.#cyc,
      );
      if (trail !== null) trail.logged = registers.logged;
      if (registers.outcomes === NO_OUTCOMES) return true;
    } while (this.#prepareStep(isFinal));
    return false;
  }

  /** The step that is next could not be done. True: now it can. */
  #prepareStep(isFinal: boolean): boolean {
    const steps = this.#steps;
    const registers = this.#registers;
    const slot = registers.row + registers.outcomes;
    const step = steps.table[slot]!;
    if (step === 0) {
      if ((this.isFull || this.#graph.isFull) && !isFinal) return false;
      steps.build(registers.row, registers.outcomes);
      return true;
    }
    if (this.trail?.isFull === true) {
      this.trail.flush();
      return true;
    }
    if ((step & STEP_POP) !== 0) {
      this.#stopBeforeReturn(restOf(step));
      return false;
    }
    // Those that stop are rare ones.
    const { effects } = steps;
    const effect = steps.table[slot + 1]!;
    const facts = effects[effect + EFFECT_RARE_FACTS]!;
    if (this.trail !== null) this.trail.addStep(slot);
    else effects[effect + EFFECT_COUNT]! += 1;
    this.#calls.makeRoom(facts >>> RARE_PEAK_SHIFT);
    const firstPush = effect + EFFECT_RARE_PUSHES;
    const lastPush = firstPush + (facts & RARE_PUSHES_MASK);
    for (let push = firstPush; push < lastPush; push++) this.#calls.push(effects[push]!);
    registers.row = step & STEP_ROW_MASK;
    registers.outcomes = restOf(step);
    return false;
  }

  /**
   * A return without its call, which needs explaining: execute what comes before
   * it, and leave it and the rest.
   */
  #stopBeforeReturn(rest: number): void {
    const registers = this.#registers;
    const left = outcomesIn(rest) + 1;
    const before = (registers.outcomes >>> (left + 1)) << 1;
    if (before !== NO_OUTCOMES) {
      registers.outcomes = before;
      this.#runSteps(NO_BYTES, 0, true);
    }
    registers.outcomes = rest | (1 << (left + 1));
  }
}

/** Outcomes in a TNT byte. */
function outcomesIn(byte: number): number {
  return 30 - Math.clz32(byte);
}

/** Bits `from` to `from + count` of a 64-bit value. */
function bitsAt(lo: number, hi: number, from: number, count: number): number {
  const mask = (1 << count) - 1;
  if (from >= 32) return (hi >>> (from - 32)) & mask;
  if (from === 0) return lo & mask;
  return ((lo >>> from) | (hi << (32 - from))) & mask;
}
