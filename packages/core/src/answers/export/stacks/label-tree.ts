import { TripleTable } from '../../../base/index.ts';
import { Int32Column, NONE, type Profile } from '../../../profile/tables/index.ts';

/**
 * The stacks of a profile by function: rows that differ only in the address
 * within a function become one node.
 *
 *   main+0x10 ─ parse+0x4  ┐
 *   main+0x22 ─ parse+0x9  ┴─>  main ─ parse
 *
 * Parents come before children, as in `Profile.stacks`.
 */
export interface LabelTree {
  /** Node of the caller, or `NONE`. */
  parent: Int32Array;
  label: Int32Array;
  /** Node of each row of `Profile.stacks`. */
  ofStack: Int32Array;
  length: number;
}

export function buildLabelTree(profile: Profile, labelOfFrame: Int32Array): LabelTree {
  const { stacks } = profile;
  const nodes = new TripleTable();
  const parents = new Int32Column(1024);
  const labels = new Int32Column(1024);
  const ofStack = new Int32Array(stacks.length);
  for (let row = 0; row < stacks.length; row++) {
    const prefix = stacks.prefix.at(row);
    const parent = prefix === NONE ? NONE : ofStack[prefix]!;
    const label = labelOfFrame[stacks.frame.at(row)]!;
    let node = nodes.find(parent, label, 0);
    if (node < 0) {
      node = -1 - node;
      parents.push(parent);
      labels.push(label);
    }
    ofStack[row] = node;
  }
  return { parent: parents.view(), label: labels.view(), ofStack, length: parents.length };
}
