import type { StepPaths } from '../../graph/index.ts';
import type { NodeCalls } from './node-calls.ts';

export const STEP_UNKNOWN = 0;
/** Calls, returns or far transfers: its nodes must be looked at one by one. */
export const STEP_CALLS = -1;

/** What whole steps do to the call stack: mostly nothing. */
export class StepCalls {
  readonly calls: NodeCalls;
  /** At the slot of a step how many instructions, or STEP_*; behind it how many branches. */
  facts = new Int32Array(0);
  readonly #paths: StepPaths;
  #generation = 0;

  constructor(calls: NodeCalls, paths: StepPaths) {
    this.calls = calls;
    this.#paths = paths;
  }

  /** Make room for all slots there are now. */
  prepare(): void {
    const { slots, generation } = this.#paths;
    if (this.#generation !== generation) {
      this.#generation = generation;
      this.facts.fill(STEP_UNKNOWN);
    }
    if (this.facts.length >= slots) return;
    const longer = new Int32Array(slots);
    longer.set(this.facts);
    this.facts = longer;
  }

  /** Work a step out: its instructions, or STEP_CALLS. */
  add(slot: number): number {
    const place = this.#paths.placeOf(slot);
    const { nodes } = this.#paths;
    const { calls } = this;
    let isPlain = true;
    let instructions = 0;
    let branches = 0;
    const last = place + nodes[place]!;
    for (let at = place + 1; at <= last; at++) {
      const node = nodes[at]!;
      if (!calls.isPlain(node)) isPlain = false;
      instructions += calls.instructions.at(node);
      branches += calls.branches.at(node);
    }
    this.facts[slot] = isPlain ? instructions : STEP_CALLS;
    this.facts[slot + 1] = branches;
    return this.facts[slot]!;
  }
}
