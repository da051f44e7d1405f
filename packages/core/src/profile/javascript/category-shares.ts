import type { Category } from './categories.ts';
import type { JavascriptTime } from './view.ts';

/** A share of the time of JavaScript programs. */
export interface CategoryShare {
  /** What the samples count as. */
  category: Category;
  /** Share of what the programs did in this event, in percent. */
  percent: number;
  /** How many samples. */
  samples: number;
}

/** Of one event, the largest first; empty where it has no samples of JavaScript programs. */
export function categoryShares({ shares }: JavascriptTime, event: number): CategoryShare[] {
  const rows = shares[event]!;
  const total = rows.reduce((sum, { weight }) => sum + weight, 0);
  return rows.map(({ category, weight, samples }) => ({
    category,
    percent: total === 0 ? 0 : (100 * weight) / total,
    samples,
  }));
}
