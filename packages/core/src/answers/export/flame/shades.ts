/** How much each box changed between two recordings, as a shade: blue shrank, grey is noise, red grew. */
import { usualDeviations } from '../../diff/row-deviations.ts';
import { shareDifference } from '../../diff/share-interval.ts';
import { totals } from './boxes.ts';
import { type ComparedTotals, SHARE_OF_EACH } from './compared-profiles.ts';
import type { FlameTree } from './flame-tree.ts';
import { SHADES } from './palette.ts';

/** Change in percentage points from which on a box has the next stronger shade. */
const STEPS = [0.5, 2, 5, 10] as const;

/** For all boxes together, as the ranges of `compareFunctions()`. */
const CONFIDENCE = 0.99;

/** For each box of a merged tree, whose samples are what the later recording weighs. */
export function shadesOf(tree: FlameTree, before: ComparedTotals, after: ComparedTotals): number[] {
  const { depth } = tree;
  const both = totals(depth, tree.selfWeight, tree.hiddenWeight);
  const later = totals(depth, tree.selfSamples, tree.hiddenSamples);
  const deviations = usualDeviations(
    depth.map((_, row) => share(both[row]! / 2)),
    1 - CONFIDENCE,
  );
  return depth.map((_, row) => {
    const from = share(both[row]! - later[row]!);
    const to = share(later[row]!);
    const { samples, beforeWidth, afterWidth } = deviations[row]!;
    const { difference, low, high } = shareDifference(
      { share: from, samples: before.equalSamples, runWidth: beforeWidth },
      { share: to, samples: after.equalSamples, runWidth: afterWidth },
      samples,
    );
    if (low <= 0 && high >= 0) return SHADES;
    const points = 100 * Math.abs(difference);
    const strength = 1 + STEPS.filter((step) => points >= step).length;
    return difference > 0 ? SHADES + strength : SHADES - strength;
  });
}

function share(weight: number): number {
  return Math.min(1, Math.max(0, weight / SHARE_OF_EACH));
}
