import { NONE, type Profile } from '@counterpoint/core/profile';
import {
  CATEGORIES,
  type CategoryShare,
  type Folding,
  type JavascriptView,
  viewJavascript,
} from '@counterpoint/core/query';
import { percentText } from './human.ts';
import type { OptionRow } from './option-row.ts';
import type { Output } from './output.ts';
import type { ParsedArguments } from './parsed-arguments.ts';
import { UsageError } from './usage-error.ts';

export type JavascriptName = 'js' | 'fold';

const VIEWS = ['charge', 'categories'] as const;

export function javascriptOption(byDefault: string): OptionRow<JavascriptName> {
  return {
    long: 'js',
    value: 'charge|categories',
    optionalValue: 'charge',
    negatable: true,
    help: `show a JavaScript program by its functions of JavaScript; what V8, libraries and the kernel did counts for the function that called them (charge), or is a row below it by category, such as (GC: scavenge) (categories); --no-js: show every function as it was recorded (${byDefault})`,
    group: 'Rows',
  };
}

/** How JavaScript is to be shown. `fitting`: where call chains of it are there. */
export function javascriptView(
  args: Pick<ParsedArguments<JavascriptName>, 'has' | 'boolean' | 'choice' | 'list'>,
): JavascriptView | 'fitting' | null {
  if (args.has('js') && !args.boolean('js')) {
    if (isFolding(args)) throw new UsageError('--no-js shows every function: --fold does not go with it');
    return null;
  }
  if (!args.has('js') && isFolding(args)) return 'charge';
  return args.choice('js', VIEWS) ?? 'fitting';
}

function isFolding(args: Pick<ParsedArguments<JavascriptName>, 'list'>): boolean {
  return args.list('fold').length > 0;
}

/** Changes the profile's stacks to what is to be shown. */
export function showJavascript(
  profile: Profile,
  view: JavascriptView | 'fitting' | null,
  err: Output,
  isFolded: Folding['isFolded'],
): void {
  if (view === null) return;
  // Functions without their callers would not be charged to anybody.
  if (view === 'fitting' && !profile.stacks.prefix.view().some((prefix) => prefix !== NONE)) return;
  const time = viewJavascript(profile, view === 'fitting' ? 'charge' : view, isFolded);
  if (time === null && view !== 'fitting') sayNoJavascript(err);
}

/** To be said where a view of JavaScript was asked for in so many words. */
export function sayNoJavascript(err: Output): void {
  err.line(
    err.style.yellow(
      'Note: no process of the recording has functions of JavaScript: --js and --fold change nothing',
    ),
  );
}

/** `JavaScript 41.20%, GC 12.01%` */
export function categoriesText(shares: readonly CategoryShare[]): string {
  return shares.map(({ category, percent }) => `${CATEGORIES[category]} ${percentText(percent)}`).join(', ');
}
