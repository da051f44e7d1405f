/** Files that import each other, if only types of each other: the circles of a graph of imports. */
import { dirname, join } from 'node:path';

/** Paths that each file imports. */
export type ImportGraph = ReadonlyMap<string, readonly string[]>;

/** Groups of files of which each leads to each other, by Tarjan's algorithm; a file alone is none. */
export function importCircles(graph: ImportGraph): string[][] {
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const stack: string[] = [];
  const circles: string[][] = [];

  const visit = (path: string) => {
    const number = order.size;
    order.set(path, number);
    lowest.set(path, number);
    stack.push(path);
    for (const next of graph.get(path) ?? []) {
      if (!graph.has(next)) continue;
      if (!order.has(next)) visit(next);
      else if (!stack.includes(next)) continue;
      lowest.set(path, Math.min(lowest.get(path)!, lowest.get(next)!));
    }
    if (lowest.get(path) !== number) return;
    const circle = stack.splice(stack.indexOf(path));
    if (circle.length > 1) circles.push(circle.sort());
  };

  for (const path of graph.keys()) if (!order.has(path)) visit(path);
  return circles;
}

const IMPORT = /^(?:import|export)\s+(type\s+)?(?:([^;'"]*?)\s+from\s+)?['"](\.[^'"]+)['"]/gm;

/** Circles of the files (text by path) that would not be one without what is imported as types alone. */
export function typeOnlyCircles(texts: ReadonlyMap<string, string>): string[][] {
  const values = importCircles(graphOf(texts, (isType) => !isType)).map((circle) => circle.join());
  return importCircles(graphOf(texts, () => true)).filter((circle) => !values.includes(circle.join()));
}

function graphOf(texts: ReadonlyMap<string, string>, isWanted: (isType: boolean) => boolean): ImportGraph {
  const graph = new Map<string, string[]>();
  for (const [path, text] of texts) {
    const found = [...text.matchAll(IMPORT)].filter(([, type, names]) =>
      isWanted(type !== undefined || isOnlyTypes(names)),
    );
    graph.set(
      path,
      found.map(([, , , target]) => join(dirname(path), target!)),
    );
  }
  return graph;
}

/** `{ type A, type B }`. */
function isOnlyTypes(names: string | undefined): boolean {
  if (names === undefined || !names.startsWith('{')) return false;
  const each = names.replace(/[{}]/g, '').split(',');
  return each.every((name) => name.trim() === '' || name.trim().startsWith('type '));
}
