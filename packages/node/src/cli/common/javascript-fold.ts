import { nearestNames } from '@counterpoint/core/base';
import { parseScriptName } from '@counterpoint/core/jit';
import type { Profile } from '@counterpoint/core/profile';
import type { OptionRow } from './option-row.ts';
import type { Output } from './output.ts';
import type { ParsedArguments } from './parsed-arguments.ts';

/** The name of the functions that are built into Node. */
export const OF_NODE = 'node';

const PACKAGES = 'node_modules';
/** Of a file that is in a package: its name, `debug` or `@babel/core`. Packages lie in packages. */
const PACKAGE = /^.*(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/]+)\//;
const MOST_PACKAGES_SHOWN = 8;

/**
 * By file, `node:fs` or `/app/node_modules/a/b.js`: whether its functions count for those that called them.
 */
export type IsFolded = (file: string) => boolean;

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

/**
 * What is folded in these profiles: `byDefault`, and what is named. A note tells of names that fit nothing.
 */
export function foldedFiles(
  args: Pick<ParsedArguments<'fold'>, 'has' | 'boolean' | 'list'>,
  byDefault: readonly string[],
  profiles: readonly Profile[],
  err: Output,
): IsFolded {
  if (args.has('fold') && !args.boolean('fold')) return () => false;
  const names = args.list('fold');
  const { isFolded, notes } = foldingOf(names, byDefault, names.length === 0 ? [] : scriptFiles(profiles));
  for (const note of notes) err.line(err.style.yellow(`Note: ${note}`));
  return isFolded;
}

/**
 * A name is that of a package if functions of a package with that name were recorded: an application may lie
 * in a folder `express` and use `express`. Else it is that of folders, wherever they lie.
 */
export function foldingOf(
  names: readonly string[],
  byDefault: readonly string[],
  files: readonly string[],
): { isFolded: IsFolded; notes: string[] } {
  const packages = new Set(files.flatMap((file) => packageOf(file) ?? []));
  const plain = names.map((name) => name.replace(/^\/+|\/+$/g, '')).filter((name) => name !== '');
  // Where there is no JavaScript at all, `showJavascript` says so.
  const unused = plain.filter((name) => files.length > 0 && !files.some(isFoldedBy([name], packages)));
  return {
    isFolded: isFoldedBy([...byDefault, ...plain], packages),
    notes: unused.map((name) => nothingOf(name, packages)),
  };
}

function isFoldedBy(names: readonly string[], packages: ReadonlySet<string>): IsFolded {
  const isNodeFolded = names.includes(OF_NODE);
  const others = names.filter((name) => name !== OF_NODE);
  const foldedPackages = new Set(others.filter((name) => packages.has(name)));
  const folders = others.filter((name) => !packages.has(name)).map((name) => `/${name}/`);
  return (file) => {
    if (isNodeFolded && file.startsWith('node:')) return true;
    // Sources in source maps may have no root: `node_modules/a/b.ts`.
    const path = `/${file}`;
    if (folders.some((folder) => path.includes(folder))) return true;
    if (foldedPackages.size === 0) return false;
    const name = packageOf(file);
    return name !== null && foldedPackages.has(name);
  };
}

function packageOf(file: string): string | null {
  return PACKAGE.exec(file)?.[1] ?? null;
}

function scriptFiles(profiles: readonly Profile[]): string[] {
  const files = new Set<string>();
  for (const { strings, symbols } of profiles)
    for (const name of new Set(symbols.name.view())) {
      const file = parseScriptName(strings.get(name))?.file ?? '';
      if (file !== '') files.add(file);
    }
  return [...files];
}

function nothingOf(name: string, packages: ReadonlySet<string>): string {
  if (name === PACKAGES) return 'no function of a package was recorded: --fold node_modules changes nothing';
  const text = `no function of a package or folder ${name} was recorded: --fold ${name} changes nothing`;
  if (packages.size === 0) return text;
  const near = nearestNames(name, [...packages], 1);
  if (near.length > 0) return `${text} (did you mean ${near[0]}?)`;
  const shown = [...packages].sort().slice(0, MOST_PACKAGES_SHOWN).join(', ');
  return `${text} (recorded packages: ${shown}${packages.size > MOST_PACKAGES_SHOWN ? ', …' : ''})`;
}
