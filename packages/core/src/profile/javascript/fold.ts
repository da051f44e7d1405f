import { nearestNames } from '../../base/index.ts';
import { parseScriptName } from '../../code/jit/index.ts';
import type { Profile } from '../tables/index.ts';

/** The name of the functions that are built into Node. */
export const OF_NODE = 'node';

/** Of a file that is in a package: its name, `debug` or `@babel/core`. Packages lie in packages. */
const PACKAGE = /^.*(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/]+)\//;

/**
 * By file, `node:fs` or `/app/node_modules/a/b.js`: whether its functions count for those that called them.
 */
export type IsFolded = (file: string) => boolean;

/** A name of which nothing was recorded. */
export interface UnusedFold {
  /** The name, without slashes around it. */
  name: string;
  /** The recorded package that it may stand for; null if none is near. */
  nearestPackage: string | null;
  /** All recorded packages, by name. */
  packages: string[];
}

/** What names of places fold. */
export interface Folding {
  /** By file, `node:fs` or `/app/a.js`: whether its functions count for those that called them. */
  isFolded: (file: string) => boolean;
  /** Names that fold nothing. Empty where no function of JavaScript was recorded at all. */
  unused: UnusedFold[];
}

/**
 * What `names` fold in these profiles, and `byDefault` of which nothing is told: `node` (the functions of
 * Node itself), `node_modules` (all packages), a package, a folder. A name is that of a package if functions
 * of a package with that name were recorded: an application may lie in a folder `express` and use `express`.
 * Else it is that of folders, wherever they lie.
 */
export function foldedFiles(
  profiles: readonly Profile[],
  names: readonly string[],
  byDefault: readonly string[] = [],
): Folding {
  return foldingOf(names, byDefault, names.length === 0 ? [] : scriptFiles(profiles));
}

/** The same, of the files of recorded functions. */
export function foldingOf(
  names: readonly string[],
  byDefault: readonly string[],
  files: readonly string[],
): Folding {
  const packages = new Set(files.flatMap((file) => packageOf(file) ?? []));
  const plain = names.map((name) => name.replace(/^\/+|\/+$/g, '')).filter((name) => name !== '');
  const unused = plain.filter((name) => files.length > 0 && !files.some(isFoldedBy([name], packages)));
  return {
    isFolded: isFoldedBy([...byDefault, ...plain], packages),
    unused: unused.map((name) => ({
      name,
      nearestPackage: nearestNames(name, [...packages], 1)[0] ?? null,
      packages: [...packages].sort(),
    })),
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
