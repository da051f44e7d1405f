/** Outcomes on a graph, whole bytes of them: which node is next, which calls are open, which outcomes are left. */
import { RETURN_STACK_ENTRIES, type ReturnStack } from '../flow/return-stack.ts';
import type { CodeGraph } from './code-graph.ts';
import { type NodeListener, NodeTrail, type PathListener } from './node-trail.ts';
import { RowStack } from './row-stack.ts';
import { runSteps, StepRegisters } from './run-steps.ts';
import {
  EFFECT_KIND,
  EFFECT_PEAK,
  EFFECT_POP,
  EFFECT_PUSH_COUNT,
  EFFECT_PUSHES,
  EFFECT_REST,
  EFFECT_ROW,
  NO_OUTCOMES,
} from './step-facts.ts';
import { type OutcomeCounts, StepTable } from './step-table.ts';

/** A long TNT is done in bytes of this many outcomes. */
const OUTCOMES_A_BYTE = 6;
const NO_LOG = new Int32Array(0);
const NO_BYTES = new Uint8Array(0);

export class StepRunner {
  /** Outcomes of the packet before `position` that are not used yet: how many, and what, the oldest highest. */
  restCount = 0;
  restLo = 0;
  restHi = 0;
  /** What was executed, in order; null where it is counted. */
  readonly trail: NodeTrail | null;
  readonly #graph: CodeGraph;
  readonly #steps: StepTable;
  readonly #registers = new StepRegisters();
  readonly #calls = new RowStack();
  readonly #cyc: number;

  /** `cyc` is CYC_*. */
  constructor(
    graph: CodeGraph,
    cyc: number,
    nodes: NodeListener | undefined,
    paths: PathListener | undefined,
  ) {
    this.#graph = graph;
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

  /** Too many steps are known: `drain` them, then `empty`. Outcomes are then left as if the node needed something else. */
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

  /** TNT packets of one byte up to another kind. False: outcomes are left, for `node` needs something else before them. */
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
    this.node = node;
    this.#calls.clear();
    for (const call of calls) this.#calls.push(this.#steps.rowOf(call));
  }

  /**
   * Steps up to a packet of another kind. False: outcomes are left, for `node` needs something else before them, or there is no room;
   * `isFinal`: then there is for a few.
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
    const next = steps.table[slot]!;
    if (next === 0) {
      if ((this.isFull || this.#graph.isFull) && !isFinal) return false;
      steps.build(registers.row, registers.outcomes);
      return true;
    }
    if (this.trail?.isFull === true) {
      this.trail.flush();
      return true;
    }
    const { effects } = steps;
    if (effects[EFFECT_KIND - next] === EFFECT_POP) {
      this.#stopBeforeReturn(effects[EFFECT_REST - next]!);
      return false;
    }
    if (this.trail !== null) this.trail.addStep(slot);
    else steps.table[slot + 1]! += 1;
    this.#calls.makeRoom(effects[EFFECT_PEAK - next]!);
    const firstPush = EFFECT_PUSHES - next;
    const lastPush = firstPush + effects[EFFECT_PUSH_COUNT - next]!;
    for (let push = firstPush; push < lastPush; push++) this.#calls.push(effects[push]!);
    registers.row = effects[EFFECT_ROW - next]!;
    registers.outcomes = effects[EFFECT_REST - next]!;
    return false;
  }

  /** A return without its call, which needs explaining: execute what comes before it, and leave it and the rest. */
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
