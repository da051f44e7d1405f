import { mkdtempSync, rmSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';

const folders = new Set<string>();

/**
 * A new folder in the system's place for such, gone when disposed or when this process ends, by a signal too.
 */
export function makeScratch(name: string): Disposable & { readonly path: string } {
  watchTheEnd();
  const path = mkdtempSync(join(tmpdir(), `counterpoint-${name}-`));
  folders.add(path);
  return {
    path,
    [Symbol.dispose]() {
      folders.delete(path);
      rmSync(path, { recursive: true, force: true });
    },
  };
}

let isWatching = false;
function watchTheEnd(): void {
  if (isWatching) return;
  isWatching = true;
  process.on('exit', () => {
    for (const path of folders) rmSync(path, { recursive: true, force: true });
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => process.exit(128 + constants.signals[signal]));
  }
}
