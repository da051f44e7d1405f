import { StringTable, TripleTable } from '../../../base/index.ts';
import type { LineHeader } from './line-header.ts';

/** The source files of all units; one that several units name is one file. File 0 is none. */
export class SourceFiles {
  readonly #texts = new StringTable();
  /** By folder and name. */
  readonly #pairs = new TripleTable();

  constructor() {
    this.#pairs.find(0, 0, 0);
  }

  get count(): number {
    return this.#pairs.length;
  }

  path(file: number): string {
    const { all } = this.#texts;
    return joinPath(all[this.#pairs.firstAt(file)] ?? '', all[this.#pairs.secondAt(file)] ?? '');
  }

  /**
   * Numbers of a header's files. `unitFolder`: where it was compiled, if the header does not say.
   *
   * @internal
   */
  ofUnit(header: LineHeader, unitFolder: string): (file: number) => number {
    const known: number[] = [];
    const home = header.folders[0] || unitFolder;
    return (file) => {
      const found = known[file];
      if (found !== undefined) return found;
      const entry = header.files[file];
      if (entry === undefined) return 0;
      const { name, folder } = entry;
      const path = folder === 0 ? home : joinPath(home, header.folders[folder] ?? '');
      const row = this.#pairs.find(this.#texts.intern(path), this.#texts.intern(name), 0);
      const number = row < 0 ? -1 - row : row;
      known[file] = number;
      return number;
    };
  }
}

/**
 * `name` as seen from `folder`, without `.` and `..` where that can be told: the same file then has one name.
 */
export function joinPath(folder: string, name: string): string {
  const whole = name.startsWith('/') || folder === '' ? name : name === '' ? folder : `${folder}/${name}`;
  if (!whole.includes('/.') && !whole.startsWith('./') && !whole.includes('//')) return whole;
  const parts: string[] = [];
  for (const part of whole.split('/')) {
    if (part === '' || part === '.') continue;
    const last = parts[parts.length - 1];
    if (part === '..' && last !== undefined && last !== '..') parts.pop();
    else if (part !== '..' || !whole.startsWith('/')) parts.push(part);
  }
  return (whole.startsWith('/') ? '/' : '') + parts.join('/');
}
