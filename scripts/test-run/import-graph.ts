/** Who imports whom, among the sources of all packages and their tests. */
import { dirname, join } from 'node:path';

/** What is gone when a test runs: a change of a type alone changes no result. */
const TYPES = /^(?:import|export) type [^;]*;/gm;
/** Of `import`, `export … from`, `import()`, and of a worker's or a program's `new URL`. */
const SPECIFIER = /(?:\bfrom|\bimport|\bnew URL)\s*\(?\s*['"]([^'"]+)['"]/g;
const PACKAGE = /^(?:@counterpoint\/)?(core|trace|counterpoint)(?:\/([\w-]+))?$/;

/** Paths that a source imports, whether they are there or not; what is installed is left out. */
export function importsOf(path: string, text: string): string[] {
  return [...text.replace(TYPES, '').matchAll(SPECIFIER)].flatMap(([, specifier]) => {
    if (specifier!.startsWith('.')) return [join(dirname(path), specifier!)];
    const [, name, entry = 'index'] = PACKAGE.exec(specifier!) ?? [];
    if (name === undefined) return [];
    return [`packages/${name === 'counterpoint' ? 'node' : name}/src/entries/${entry}.ts`];
  });
}

/** The changed paths themselves and all that import one of them, however far. */
export function dependentsOf(changed: Iterable<string>, texts: ReadonlyMap<string, string>): Set<string> {
  const importers = new Map<string, string[]>();
  for (const [path, text] of texts)
    for (const imported of importsOf(path, text))
      importers.set(imported, [...(importers.get(imported) ?? []), path]);
  const found = new Set(changed);
  for (const path of found) for (const importer of importers.get(path) ?? []) found.add(importer);
  return found;
}
