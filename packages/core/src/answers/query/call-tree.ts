import { checkOptionNames, type OptionNames } from '../../base/index.ts';
import { checkProfile, NONE, type Profile } from '../../profile/tables/index.ts';
import { type FrameFilter, frameTest } from './frame-filter.ts';
import { Functions } from './functions.ts';

/**
 * With a filter of functions only those are roots: with `callees` the tree begins at the
 * outermost one of each stack, with `callers` it is of the stacks whose innermost function is
 * one. Shares stay shares of the whole.
 */
export interface CallTreeOptions extends FrameFilter {
  /** Index of the event. Default: 0. */
  event?: number;
  /**
   * `callees`: from the roots down (top-down). `callers`: from the innermost
   * functions out to who called them.
   */
  direction?: 'callees' | 'callers';
  /** Leave out nodes below this share of all, in percent. Default 0.5. */
  minimumPercent?: number;
  /** Leave out nodes below this many levels; those above keep their shares. Default: all levels. */
  maxDepth?: number;
}

const OPTIONS: OptionNames<CallTreeOptions> = {
  event: true,
  direction: true,
  minimumPercent: true,
  maxDepth: true,
  dsos: true,
  symbols: true,
};

/** A function in one place of the tree. */
export interface CallTreeNode {
  /** The function. */
  name: string;
  /** The binary. */
  dso: string;
  /** Share of the event's sum with what it calls, in percent. */
  percent: number;
  /** Own share: time in the function itself, not in what it calls. Only with `callees`. */
  selfPercent: number;
  /** Samples in it and in what it calls. */
  samples: number;
  /** Sum of periods, decimal. */
  period: string;
  /** What it calls, or what calls it: the largest first. */
  children: CallTreeNode[];
}

/** The answer of `callTree()`. */
export interface CallTreeAnswer {
  /** Tells this answer from others. */
  type: 'call-tree';
  /** Version of the form of this answer. */
  version: 1;
  /** The name of the event. */
  event: string;
  /** From the roots down, or from the innermost functions out. */
  direction: 'callees' | 'callers';
  /** How many samples the event has. */
  samples: number;
  /** Sum of their periods, decimal. */
  sumPeriod: string;
  /** Where the tree begins, the largest first. */
  roots: CallTreeNode[];
  /** Share that is in nodes too small to be shown, in percent of all. */
  hiddenPercent: number;
}

interface Draft {
  function: number;
  weight: number;
  self: number;
  samples: number;
  children: Map<number, Draft>;
}

/** Stacks merged by function, from either end. */
export function callTree(profile: Profile, options: CallTreeOptions = {}): CallTreeAnswer {
  checkProfile('callTree()', profile);
  checkOptionNames('callTree()', options, OPTIONS);
  const eventIndex = options.event ?? 0;
  const direction = options.direction ?? 'callees';
  const functions = new Functions(profile);
  const isWanted = frameTest(profile, functions, options);
  const root: Draft = { function: -1, weight: 0, self: 0, samples: 0, children: new Map() };
  for (const [stack, { weight, samples }] of weightsByStack(profile, eventIndex)) {
    root.weight += weight;
    const path = framesOf(profile, functions, stack, direction, isWanted);
    addStack(root, path, options.maxDepth ?? path.length, weight, samples);
  }
  const event = profile.events[eventIndex];
  const minimum = ((options.minimumPercent ?? 0.5) / 100) * root.weight;
  const hidden = { weight: 0 };
  const roots = finishChildren(root, profile, functions, root.weight, minimum, hidden);
  return {
    type: 'call-tree',
    version: 1,
    event: event?.name ?? '',
    direction,
    samples: event?.samples ?? 0,
    sumPeriod: (event?.sumPeriod ?? 0n).toString(),
    roots,
    hiddenPercent: root.weight === 0 ? 0 : (100 * hidden.weight) / root.weight,
  };
}

function weightsByStack(profile: Profile, event: number): Map<number, { weight: number; samples: number }> {
  const { samples } = profile;
  const byStack = new Map<number, { weight: number; samples: number }>();
  for (let row = 0; row < samples.length; row++) {
    const stack = samples.stack.at(row);
    if (samples.event.at(row) !== event || stack === NONE) continue;
    const known = byStack.get(stack);
    if (known === undefined)
      byStack.set(stack, { weight: samples.weight.at(row), samples: samples.count.at(row) });
    else {
      known.weight += samples.weight.at(row);
      known.samples += samples.count.at(row);
    }
  }
  return byStack;
}

function framesOf(
  profile: Profile,
  functions: Functions,
  stack: number,
  direction: 'callees' | 'callers',
  isWanted: (frame: number) => boolean,
): number[] {
  const { prefix, frame } = profile.stacks;
  const path: number[] = [];
  // Frames up to the outermost wanted one.
  let wanted = 0;
  for (let row = stack; row !== NONE; row = prefix.at(row)) {
    const isRoot = isWanted(frame.at(row));
    if (direction === 'callers' && row === stack && !isRoot) return [];
    path.push(functions.ofFrame(frame.at(row)));
    if (isRoot) wanted = path.length;
  }
  return direction === 'callers' ? path : path.slice(0, wanted).reverse();
}

function addStack(root: Draft, path: number[], maxDepth: number, weight: number, samples: number): void {
  let node = root;
  for (const id of path.slice(0, maxDepth)) {
    let child = node.children.get(id);
    if (child === undefined) {
      child = { function: id, weight: 0, self: 0, samples: 0, children: new Map() };
      node.children.set(id, child);
    }
    child.weight += weight;
    child.samples += samples;
    node = child;
  }
  if (path.length <= maxDepth) node.self += weight;
}

/** Drafts to answers. Depth is bounded by the longest call chain, so this keeps its own stack. */
function finishChildren(
  root: Draft,
  profile: Profile,
  functions: Functions,
  total: number,
  minimum: number,
  hidden: { weight: number },
): CallTreeNode[] {
  const result: CallTreeNode[] = [];
  const work: { draft: Draft; into: CallTreeNode[] }[] = [{ draft: root, into: result }];
  for (let item = work.pop(); item !== undefined; item = work.pop()) {
    const sorted = [...item.draft.children.values()].sort((a, b) => b.weight - a.weight);
    for (const draft of sorted) {
      if (draft.weight < minimum) {
        hidden.weight += draft.weight;
        continue;
      }
      const node: CallTreeNode = {
        name: functions.name(draft.function),
        dso: profile.binaries[functions.binary(draft.function)]!.name,
        percent: total === 0 ? 0 : (100 * draft.weight) / total,
        selfPercent: total === 0 ? 0 : (100 * draft.self) / total,
        samples: draft.samples,
        period: BigInt(Math.round(draft.weight)).toString(),
        children: [],
      };
      item.into.push(node);
      work.push({ draft, into: node.children });
    }
  }
  return result;
}
