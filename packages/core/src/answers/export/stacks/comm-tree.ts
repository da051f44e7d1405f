import { NONE, type Profile } from '../../../profile/tables/index.ts';
import type { ExportPlan } from '../options.ts';
import type { LabelTree } from './label-tree.ts';
import { groupSamples } from './sample-groups.ts';

/**
 * A call tree with commands as roots, self weights only.
 *
 *   node ─ main ─ fib        row 0: parent NONE, comm node; row 1: parent 0, label main; …
 *
 * Parents come before children.
 */
export interface CommTree {
  parent: Int32Array;
  /** Label of a frame; of a root -1 - comm, where comm is an index into `Profile.strings`. */
  label: Int32Array;
  selfSamples: Float64Array;
  selfWeight: Float64Array;
  length: number;
}

export function buildCommTree(profile: Profile, plan: ExportPlan, tree: LabelTree): CommTree {
  const { samples } = profile;
  const groups = groupSamples(profile, plan.eventIndex, (sample) => samples.comm.at(sample));
  const out = new Rows();
  // A label node's row in the current group is valid where its epoch is the group's.
  const rowOf = new Int32Array(tree.length);
  const epochOf = new Int32Array(tree.length).fill(-1);
  const missing: number[] = [];
  for (let group = 0; group < groups.keys.length; group++) {
    const root = out.add(NONE, -1 - groups.keys[group]!);
    for (let at = groups.start[group]!; at < groups.start[group + 1]!; at++) {
      const sample = groups.order[at]!;
      const stack = samples.stack.at(sample);
      let row = root;
      if (stack !== NONE) {
        let node = tree.ofStack[stack]!;
        while (node !== NONE && epochOf[node] !== group) {
          missing.push(node);
          node = tree.parent[node]!;
        }
        if (node !== NONE) row = rowOf[node]!;
        while (missing.length > 0) {
          node = missing.pop()!;
          row = out.add(row, tree.label[node]!);
          rowOf[node] = row;
          epochOf[node] = group;
        }
      }
      out.selfSamples[row]! += samples.count.at(sample);
      out.selfWeight[row]! +=
        plan.weight === 'samples' ? samples.count.at(sample) : samples.weight.at(sample);
    }
  }
  return out.finish();
}

class Rows {
  #length = 0;
  #parent = new Int32Array(1024);
  #label = new Int32Array(1024);
  selfSamples = new Float64Array(1024);
  selfWeight = new Float64Array(1024);

  add(parent: number, label: number): number {
    if (this.#length === this.#parent.length) this.#grow();
    this.#parent[this.#length] = parent;
    this.#label[this.#length] = label;
    return this.#length++;
  }

  finish(): CommTree {
    const length = this.#length;
    return {
      parent: this.#parent.subarray(0, length),
      label: this.#label.subarray(0, length),
      selfSamples: this.selfSamples.subarray(0, length),
      selfWeight: this.selfWeight.subarray(0, length),
      length,
    };
  }

  #grow(): void {
    const size = this.#length * 2;
    const { selfSamples, selfWeight } = this;
    const parent = this.#parent;
    const label = this.#label;
    this.#parent = new Int32Array(size);
    this.#parent.set(parent);
    this.#label = new Int32Array(size);
    this.#label.set(label);
    this.selfSamples = new Float64Array(size);
    this.selfSamples.set(selfSamples);
    this.selfWeight = new Float64Array(size);
    this.selfWeight.set(selfWeight);
  }
}

/**
 * Children of each row, roots first: `list[start[row + 1]] …` are the children of `row`,
 * `list[start[0]] …` the roots.
 */
export interface ChildLists {
  start: Int32Array;
  list: Int32Array;
}

/** Children in the order of `compare`. */
export function childLists(parent: Int32Array, compare: (a: number, b: number) => number): ChildLists {
  const start = new Int32Array(parent.length + 2);
  for (let row = 0; row < parent.length; row++) start[parent[row]! + 2]!++;
  for (let at = 1; at < start.length; at++) start[at]! += start[at - 1]!;
  const next = start.slice();
  const list = new Int32Array(parent.length);
  for (let row = 0; row < parent.length; row++) list[next[parent[row]! + 1]!++] = row;
  for (let at = 0; at + 1 < start.length; at++) {
    if (start[at + 1]! - start[at]! > 1) list.subarray(start[at]!, start[at + 1]!).sort(compare);
  }
  return { start, list };
}
