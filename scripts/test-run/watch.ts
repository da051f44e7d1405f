/**
 * `--watch`: the chosen tests once, then again those that a change of a source concerns. Folders are watched,
 * not files: many editors save by renaming a new file to the old name, and `node --watch` of Node 20 sees
 * only the first of such changes.
 */
import { type FSWatcher, readFileSync, watch } from 'node:fs';
import { dirname, join } from 'node:path';
import { globSync } from '../glob.ts';
import { dependentsOf } from './import-graph.ts';

/** A save is some events one after the other; so are those of a formatter or of git. */
const QUIET_MS = 150;

/** Until Ctrl-C. `choose` is asked again after each change: there may be new files. */
export async function watchTests(
  roots: string[],
  choose: () => string[],
  run: (files: string[]) => Promise<unknown>,
): Promise<never> {
  const changes = new Changes(roots);
  for (let files = choose(); ; ) {
    await run(files);
    console.log('\nWaiting for a change of what they import. Press Ctrl-C to stop.');
    do {
      const concerned = dependentsOf(await changes.next(), textsOf(roots));
      files = choose().filter((path) => concerned.has(path));
    } while (files.length === 0);
  }
}

function textsOf(roots: string[]): Map<string, string> {
  return new Map(globSync(roots, /\.ts$/).map((path) => [path, readFileSync(path, 'utf8')]));
}

/** Paths below the roots that were written, renamed or removed. */
class Changes {
  readonly #roots: string[];
  readonly #watched = new Map<string, FSWatcher>();
  #changed = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #tell = () => {};

  constructor(roots: string[]) {
    this.#roots = roots;
    this.#watchFolders();
  }

  /** What has changed since the last time, as soon as there is something and no more comes. */
  async next(): Promise<Set<string>> {
    if (this.#changed.size === 0 || this.#timer !== undefined)
      await new Promise<void>((resolve) => {
        this.#tell = resolve;
      });
    const changed = this.#changed;
    this.#changed = new Set();
    this.#watchFolders();
    return changed;
  }

  #watchFolders(): void {
    for (const folder of new Set(globSync(this.#roots, /\.ts$/).map((path) => dirname(path)))) {
      if (this.#watched.has(folder)) continue;
      const watcher = watch(folder, (_, name) => {
        if (name !== null) this.#add(join(folder, name));
      });
      // A folder that is gone: should it come back, it is watched anew.
      watcher.on('error', () => this.#watched.delete(folder));
      this.#watched.set(folder, watcher);
    }
  }

  #add(path: string): void {
    this.#changed.add(path);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#tell();
    }, QUIET_MS);
  }
}
