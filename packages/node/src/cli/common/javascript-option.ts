import { NONE, type Profile } from '@counterpoint/core/profile';
import {
  CATEGORIES,
  type Category,
  type JavascriptTime,
  type JavascriptView,
  viewJavascript,
} from '@counterpoint/core/query';
import { percentText } from './human.ts';
import type { OptionRow } from './option-row.ts';
import type { Output } from './output.ts';
import type { ParsedArguments } from './parsed-arguments.ts';

export type JavascriptName = 'js';

const VIEWS = ['charge', 'categories'] as const;

export function javascriptOption(byDefault: string): OptionRow<JavascriptName> {
  return {
    long: 'js',
    value: 'charge|categories',
    optionalValue: 'charge',
    negatable: true,
    help: `of JavaScript programs, show the functions of JavaScript; what V8, libraries and the kernel did counts for the function that called them (charge), or is a row of its category below it, such as (GC: scavenge) (categories); --no-js: every function as it was recorded (${byDefault})`,
    group: 'Rows',
  };
}

/** How JavaScript is to be shown. `fitting`: where call chains of it are there. */
export function javascriptView(
  args: Pick<ParsedArguments<JavascriptName>, 'has' | 'boolean' | 'choice'>,
): JavascriptView | 'fitting' | null {
  if (args.has('js') && !args.boolean('js')) return null;
  return args.choice('js', VIEWS) ?? 'fitting';
}

/** Changes the profile's stacks to what is to be shown; null where they stay. */
export function showJavascript(
  profile: Profile,
  view: JavascriptView | 'fitting' | null,
  err: Output,
): JavascriptTime | null {
  if (view === null) return null;
  // Functions without their callers would not be charged to anybody.
  if (view === 'fitting' && !profile.stacks.prefix.view().some((prefix) => prefix !== NONE)) return null;
  const time = viewJavascript(profile, view === 'fitting' ? 'charge' : view);
  if (time === null && view !== 'fitting')
    err.line(
      err.style.yellow('Note: no process of the recording has functions of JavaScript: --js changes nothing'),
    );
  return time;
}

/** A share of the time of JavaScript programs. */
export interface CategoryShare {
  category: Category;
  percent: number;
  samples: number;
}

/** Of one event; empty where it has no samples of JavaScript programs. */
export function categoryShares({ shares }: JavascriptTime, event: number): CategoryShare[] {
  const rows = shares[event]!;
  const total = rows.reduce((sum, { weight }) => sum + weight, 0);
  return rows.map(({ category, weight, samples }) => ({
    category,
    percent: total === 0 ? 0 : (100 * weight) / total,
    samples,
  }));
}

/** `JavaScript 41.20%, GC 12.01%` */
export function categoriesText(shares: readonly CategoryShare[]): string {
  return shares.map(({ category, percent }) => `${CATEGORIES[category]} ${percentText(percent)}`).join(', ');
}
