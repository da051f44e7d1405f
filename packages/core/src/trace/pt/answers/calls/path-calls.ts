import type { NodePaths } from '../../graph/index.ts';
import type { NodeCalls } from './node-calls.ts';

export const PATH_UNKNOWN = 0;
/** No calls, returns or far transfers. */
export const PATH_PLAIN = 1;
export const PATH_CALLS = 2;

/** What whole steps do to the call stack: mostly nothing. By place of the path. */
export class PathCalls {
  readonly calls: NodeCalls;
  /** PATH_*. */
  state = new Uint8Array(0);
  instructions = new Int32Array(0);
  branches = new Int32Array(0);
  readonly #paths: NodePaths;
  #generation = 0;

  constructor(calls: NodeCalls, paths: NodePaths) {
    this.calls = calls;
    this.#paths = paths;
  }

  /** Paths are other paths since the step table was emptied. */
  checkGeneration(): void {
    if (this.#generation === this.#paths.generation) return;
    this.#generation = this.#paths.generation;
    this.state.fill(PATH_UNKNOWN);
  }

  /** Work a path out; its state. */
  add(path: number): number {
    const { nodes } = this.#paths;
    const { calls } = this;
    if (path >= this.state.length) this.#grow(nodes.length);
    let isPlain = true;
    let instructions = 0;
    let branches = 0;
    const last = path + nodes[path]!;
    for (let at = path + 1; at <= last; at++) {
      const node = nodes[at]!;
      if (!calls.isPlain(node)) isPlain = false;
      instructions += calls.instructions.at(node);
      branches += calls.branches.at(node);
    }
    this.instructions[path] = instructions;
    this.branches[path] = branches;
    const state = isPlain ? PATH_PLAIN : PATH_CALLS;
    this.state[path] = state;
    return state;
  }

  #grow(length: number): void {
    const state = new Uint8Array(length);
    state.set(this.state);
    this.state = state;
    const instructions = new Int32Array(length);
    instructions.set(this.instructions);
    this.instructions = instructions;
    const branches = new Int32Array(length);
    branches.set(this.branches);
    this.branches = branches;
  }
}
