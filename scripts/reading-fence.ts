import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { globSync } from './glob.ts';

const NODE = 'packages/node/src';
/**
 * What reads recordings runs on every system, where the library that calls the kernel may not be installed.
 */
const READERS = [
  'host/open/index.ts',
  'host/locate/index.ts',
  'host/trace-threads/part-worker.ts',
  ...['report/report', 'report/script', 'export/export', 'convert/convert'].map((verb) => `cli/${verb}.ts`),
  ...globSync([`${NODE}/cli/pt`], /\.ts$/)
    .filter((path) => !/\.(?:test|pmu)\.ts$/.test(path))
    .map((path) => path.slice(NODE.length + 1)),
];
/** The one file that loads it. */
const FORBIDDEN = `${NODE}/sys/ffi.ts`;

/** Imports that are there at run time, also those that are made later; not those of types. */
const IMPORTS = [
  /^(?:import|export)\s+(?!type\b)([^;'"]*?from\s*)?['"](\.[^'"]+)['"]/gm,
  /\b(import\()\s*['"](\.[^'"]+)['"]/g,
];

/** One line for each reader from which the library can be reached, with the way there. */
export function readersThatCallTheKernel(read = (path: string) => readFileSync(path, 'utf8')): string[] {
  return READERS.flatMap((reader) => {
    const way = wayTo(`${NODE}/${reader}`, read);
    return way === null
      ? []
      : [
          `${way[0]}: what reads recordings may not load the library that calls the kernel: ${way.join(' > ')}`,
        ];
  });
}

function wayTo(start: string, read: (path: string) => string): string[] | null {
  const from = new Map<string, string | null>([[start, null]]);
  for (const path of from.keys()) {
    if (path === FORBIDDEN) return wayBack(from, path);
    for (const target of importsOf(read(path))) {
      const next = join(dirname(path), target);
      if (!from.has(next) && existsSync(next)) from.set(next, path);
    }
  }
  return null;
}

function importsOf(text: string): string[] {
  return IMPORTS.flatMap((pattern) =>
    [...text.matchAll(pattern)].filter(([, clause = '']) => !isOfTypes(clause)).map(([, , path]) => path!),
  );
}

/** `{ type A, type B } from`. */
function isOfTypes(clause: string): boolean {
  const names = /^\{([^}]*)\}/.exec(clause)?.[1];
  if (names === undefined) return false;
  return names.split(',').every((name) => name.trim() === '' || name.trim().startsWith('type '));
}

function wayBack(from: ReadonlyMap<string, string | null>, end: string): string[] {
  const way: string[] = [];
  for (let path: string | null = end; path !== null; path = from.get(path) ?? null) way.unshift(path);
  return way;
}
