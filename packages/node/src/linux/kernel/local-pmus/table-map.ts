import { join, resolve } from 'node:path';
import { type MapRow, type ProblemList, parseMapFile, type VendorMap } from '@counterpoint/core/pmus';

/** A `mapfile.csv` and the places that its rows name: files in Intel's collection, directories in perf's. */
export class TableMap implements VendorMap {
  readonly rows: readonly MapRow[];
  readonly problems: VendorMap['problems'];
  readonly problemCount: number;
  readonly #targets: ReadonlyMap<MapRow, string>;

  private constructor(map: VendorMap, targets: ReadonlyMap<MapRow, string>) {
    this.rows = map.rows;
    this.problems = map.problems;
    this.problemCount = map.problemCount;
    this.#targets = targets;
  }

  static read(text: string, dir: string, problems: ProblemList): TableMap {
    const map = parseMapFile(text, 'mapfile.csv');
    problems.addAll(map);
    const targets = new Map<MapRow, string>();
    for (const row of map.rows) {
      // Intel's begin with a slash, which is that of the collection.
      const target = resolve(join(dir, row.file));
      if (target !== dir && isInside(target, dir)) targets.set(row, target);
      else problems.add('mapfile.csv', `${row.file} is outside of its directory`);
    }
    return new TableMap(map, targets);
  }

  targetOf(row: MapRow): string | null {
    return this.#targets.get(row) ?? null;
  }

  /** Rows of a table, or of the directory that it is in. */
  rowsOf(path: string): MapRow[] {
    return this.rows.filter((row) => isInside(path, this.targetOf(row) ?? '\0'));
  }

  /** Whether the map says something of a path, or of what is inside. */
  names(path: string): boolean {
    return [...this.#targets.values()].some((target) => isInside(path, target) || isInside(target, path));
  }
}

/** `path` is `target`, or inside of it. */
function isInside(path: string, target: string): boolean {
  return path === target || path.startsWith(target.endsWith('/') ? target : `${target}/`);
}
