import type { Profile } from '@counterpoint/core/profile';
import { type Folding, foldedFiles, type UnusedFold } from '@counterpoint/core/query';
import type { OptionRow } from './option-row.ts';
import type { Output } from './output.ts';
import type { ParsedArguments } from './parsed-arguments.ts';

const PACKAGES = 'node_modules';
const MOST_PACKAGES_SHOWN = 8;

type Arguments = Pick<ParsedArguments<'fold'>, 'has' | 'boolean' | 'list'>;

export function foldOption(byDefault: string): OptionRow<'fold'> {
  return {
    long: 'fold',
    value: 'NAME,...',
    repeat: true,
    negatable: true,
    help: `count functions from these places for the function of JavaScript that called them: node (the functions of Node itself, such as node:fs), node_modules (all packages), the name of a package, such as express or @babel/core, or of a folder, such as src/vendor (${byDefault})`,
    group: 'Rows',
  };
}

/** The names given; null with --no-fold, undefined without the option. */
export function foldedNames(args: Arguments): string[] | null | undefined {
  if (!args.has('fold')) return undefined;
  return args.boolean('fold') ? args.list('fold') : null;
}

/**
 * What is folded in these profiles: `byDefault`, and what is named. A note tells of names that fit nothing.
 */
export function foldingAsked(
  args: Arguments,
  byDefault: readonly string[],
  profiles: readonly Profile[],
  err: Output,
): Folding['isFolded'] {
  const names = foldedNames(args);
  if (names === null) return () => false;
  const { isFolded, unused } = foldedFiles(profiles, names ?? [], byDefault);
  sayUnusedFolds(unused, err);
  return isFolded;
}

/** Where there is no JavaScript at all, `sayNoJavascript` says so. */
export function sayUnusedFolds(unused: readonly UnusedFold[], err: Output): void {
  for (const one of unused) err.line(err.style.yellow(`Note: ${unusedFoldText(one)}`));
}

function unusedFoldText({ name, nearestPackage, packages }: UnusedFold): string {
  if (name === PACKAGES) return 'no function of a package was recorded: --fold node_modules changes nothing';
  const text = `no function of a package or folder ${name} was recorded: --fold ${name} changes nothing`;
  if (nearestPackage !== null) return `${text} (did you mean ${nearestPackage}?)`;
  if (packages.length === 0) return text;
  const shown = packages.slice(0, MOST_PACKAGES_SHOWN).join(', ');
  return `${text} (recorded packages: ${shown}${packages.length > MOST_PACKAGES_SHOWN ? ', …' : ''})`;
}
