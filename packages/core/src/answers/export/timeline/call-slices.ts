import { NONE, type Profile } from '../../../profile/tables/index.ts';
import type { ExportPlan } from '../options.ts';
import type { LabelTree } from '../stacks/label-tree.ts';
import { groupSamples } from '../stacks/sample-groups.ts';

/** A function begins or ends on a thread. */
export interface SliceEdge {
  /** Row of `Profile.threads`. */
  thread: number;
  timeNs: number;
  /** Node of the tree. */
  node: number;
  isBegin: boolean;
}

/**
 * What begins and ends on each thread, thread by thread, in order of time: each stack is true until the
 * thread's next sample. The last ones end with the thread's last sample. Samples without a time are
 * left out. One object, used again.
 *
 *   time     10            20            30          40
 *   stack    main          main parse    main        main parse
 *   edges    +main         +parse        -parse      +parse -parse -main
 */
export function* sliceEdges(
  profile: Profile,
  { eventIndex }: ExportPlan,
  tree: LabelTree,
): Generator<Readonly<SliceEdge>> {
  const { samples } = profile;
  const groups = groupSamples(profile, eventIndex, (sample) => samples.thread.at(sample));
  const edge: SliceEdge = { thread: NONE, timeNs: 0, node: NONE, isBegin: true };
  const open: number[] = [];
  const path: number[] = [];
  for (const [group, thread] of groups.keys.entries()) {
    edge.thread = thread;
    for (let at = groups.start[group]!; at < groups.start[group + 1]!; at++) {
      const sample = groups.order[at]!;
      const timeNs = samples.timeNs.at(sample);
      if (Number.isNaN(timeNs)) continue;
      edge.timeNs = timeNs;
      const stack = samples.stack.at(sample);
      pathTo(tree, stack === NONE ? NONE : tree.ofStack[stack]!, path);
      const kept = commonLength(open, path);
      yield* endAfter(kept, open, edge);
      edge.isBegin = true;
      for (let depth = kept; depth < path.length; depth++) {
        edge.node = path[depth]!;
        open.push(edge.node);
        yield edge;
      }
    }
    yield* endAfter(0, open, edge);
  }
}

/** From the root on. */
function pathTo(tree: LabelTree, innermost: number, path: number[]): void {
  path.length = 0;
  for (let node = innermost; node !== NONE; node = tree.parent[node]!) path.push(node);
  path.reverse();
}

function commonLength(one: readonly number[], other: readonly number[]): number {
  let length = 0;
  while (length < one.length && length < other.length && one[length] === other[length]) length++;
  return length;
}

function* endAfter(kept: number, open: number[], edge: SliceEdge): Generator<Readonly<SliceEdge>> {
  edge.isBegin = false;
  while (open.length > kept) {
    edge.node = open.pop()!;
    yield edge;
  }
}
