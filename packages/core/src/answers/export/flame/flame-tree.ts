import { NONE, type Profile } from '../../../profile/tables/index.ts';
import type { ExportPlan } from '../options.ts';
import { buildCommTree, type CommTree, childLists } from '../stacks/comm-tree.ts';
import { type FrameLabel, INLINED_SUFFIX, labelFrames } from '../stacks/frame-labels.ts';
import { buildLabelTree } from '../stacks/label-tree.ts';
import { visibleText } from './fit-text.ts';
import { FAMILIES } from './palette.ts';

/** Frames in a file whose limit is not given: 2 to 3 MB, and a redraw within a few milliseconds. */
const MAX_FRAMES = 40_000;

/** Longer names are cut: the file holds each once, but nobody reads on. */
const MAX_NAME_CHARS = 2000;

/** A box's text and colour. */
export interface FlameLabel {
  name: string;
  /** Source, line and column of a JavaScript function, else empty. */
  place: string;
  /** Path of the binary, or empty. */
  binary: string;
  /** Index into `FAMILIES`. */
  family: number;
  /** Marks of the tiers that made its code (`~*`), or empty. */
  tier: string;
}

/**
 * Boxes in the order in which they are drawn, callers first (pre-order), heaviest
 * callee first. Row 0 is everything.
 *
 *   0 all ── 1 node ─┬─ 2 main ── 3 fib
 *                    └─ 4 gc
 *
 * A box's weight is its own, that of its hidden callees, and that of its callees.
 */
export interface FlameTree {
  label: number[];
  depth: number[];
  selfWeight: number[];
  selfSamples: number[];
  hiddenWeight: number[];
  hiddenSamples: number[];
  labels: FlameLabel[];
  /** Of two recordings: how each box changed, as `shadesOf` says it. */
  shade: number[] | null;
  totalWeight: number;
  totalSamples: number;
  maxDepth: number;
  /** Boxes left out because they are narrower than the limit. */
  hiddenFrames: number;
  /** The limit, as a share of all: nothing narrower is in the tree. */
  limit: number;
}

export function buildFlameTree(
  profile: Profile,
  plan: ExportPlan,
  minimumPercent: number | undefined,
): FlameTree {
  const { labels, ofFrame } = labelFrames(profile);
  const tree = buildCommTree(profile, plan, buildLabelTree(profile, ofFrame));
  const weight = subtreeSums(tree.parent, tree.selfWeight);
  const samples = subtreeSums(tree.parent, tree.selfSamples);
  let totalWeight = 0;
  let totalSamples = 0;
  for (let row = 0; row < tree.length; row++) {
    if (tree.parent[row] !== NONE) continue;
    totalWeight += weight[row]!;
    totalSamples += samples[row]!;
  }
  const minimum =
    minimumPercent === undefined ? fittingMinimum(weight) : (minimumPercent / 100) * totalWeight;
  const out = new FlameBuilder(profile, labels, tree);
  out.result.totalWeight = totalWeight;
  out.result.totalSamples = totalSamples;
  out.result.limit = totalWeight > 0 ? minimum / totalWeight : 0;

  const children = childLists(tree.parent, (a, b) => weight[b]! - weight[a]! || a - b);
  out.add(NONE, 0);
  const pending: number[] = [];
  const depths: number[] = [];
  /** Heavy callees wait to be added; the others count for the box that was added last. */
  const expand = (row: number, depth: number) => {
    for (let at = children.start[row + 2]! - 1; at >= children.start[row + 1]!; at--) {
      const child = children.list[at]!;
      if (weight[child]! > 0 && weight[child]! >= minimum) {
        pending.push(child);
        depths.push(depth);
      } else {
        out.hide(weight[child]!, samples[child]!);
      }
    }
  };
  expand(NONE, 1);
  while (pending.length > 0) {
    const row = pending.pop()!;
    const depth = depths.pop()!;
    out.add(row, depth);
    expand(row, depth + 1);
  }
  out.result.hiddenFrames = tree.length - (out.result.label.length - 1);
  return out.result;
}

class FlameBuilder {
  readonly result: FlameTree = {
    label: [],
    depth: [],
    selfWeight: [],
    selfSamples: [],
    hiddenWeight: [],
    hiddenSamples: [],
    labels: [],
    shade: null,
    totalWeight: 0,
    totalSamples: 0,
    maxDepth: 0,
    hiddenFrames: 0,
    limit: 0,
  };
  readonly #known = new Map<number, number>();
  readonly #profile: Profile;
  readonly #frameLabels: FrameLabel[];
  readonly #tree: CommTree;

  constructor(profile: Profile, frameLabels: FrameLabel[], tree: CommTree) {
    this.#profile = profile;
    this.#frameLabels = frameLabels;
    this.#tree = tree;
  }

  add(row: number, depth: number): void {
    const { result } = this;
    const tree = this.#tree;
    result.label.push(row === NONE ? this.#labelOfAll() : this.#labelOf(tree.label[row]!));
    result.depth.push(depth);
    result.selfWeight.push(row === NONE ? 0 : tree.selfWeight[row]!);
    result.selfSamples.push(row === NONE ? 0 : tree.selfSamples[row]!);
    result.hiddenWeight.push(0);
    result.hiddenSamples.push(0);
    if (depth > result.maxDepth) result.maxDepth = depth;
  }

  hide(weight: number, samples: number): void {
    const { result } = this;
    const last = result.label.length - 1;
    result.hiddenWeight[last]! += weight;
    result.hiddenSamples[last]! += samples;
  }

  #labelOfAll(): number {
    return this.result.labels.push({ name: 'all', place: '', binary: '', family: 0, tier: '' }) - 1;
  }

  #labelOf(label: number): number {
    let index = this.#known.get(label);
    if (index === undefined) {
      const made =
        label < 0
          ? { ...NO_FACTS, name: this.#profile.strings.get(-1 - label) || '[unknown]' }
          : flameLabel(this.#profile, this.#frameLabels[label]!);
      index = this.result.labels.push({ ...made, name: shorten(made.name), place: shorten(made.place) }) - 1;
      this.#known.set(label, index);
    }
    return index;
  }
}

const NO_FACTS: FlameLabel = { name: '', place: '', binary: '', family: 0, tier: '' };

function flameLabel(profile: Profile, label: FrameLabel): FlameLabel {
  const family = FAMILIES.indexOf(label.family);
  const binary = shorten(profile.binaries[label.binary]?.path ?? '');
  const { script, tier } = label;
  if (script !== null) {
    const numbers = [script.line, script.column].filter((number) => number !== null);
    return {
      name: script.name,
      place: [script.file, ...numbers].join(':'),
      binary,
      family,
      tier,
    };
  }
  const name = label.family === 'inlined' ? label.text.slice(0, -INLINED_SUFFIX.length) : label.text;
  return { ...NO_FACTS, name, binary, family, tier };
}

function shorten(text: string): string {
  return visibleText(text.length > MAX_NAME_CHARS ? `${text.slice(0, MAX_NAME_CHARS)}…` : text);
}

/** Callees come after callers, so one sweep from the end sums whole subtrees. */
function subtreeSums(parent: Int32Array, self: Float64Array): Float64Array {
  const sums = self.slice();
  for (let row = parent.length - 1; row >= 0; row--) {
    if (parent[row] !== NONE) sums[parent[row]!]! += sums[row]!;
  }
  return sums;
}

/** The smallest weight with which at most `MAX_FRAMES` boxes remain; 0 where all do. */
function fittingMinimum(weight: Float64Array): number {
  if (weight.length <= MAX_FRAMES) return 0;
  const sorted = weight.slice().sort();
  // Boxes as heavy as the heaviest that must go have to go too.
  const tooLight = sorted[sorted.length - MAX_FRAMES - 1]!;
  return sorted.find((value) => value > tooLight) ?? tooLight;
}
