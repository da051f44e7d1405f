import { readFileSync } from 'node:fs';

/**
 * The version in this package's own package.json, which lies above this file in
 * the sources and in the bundle.
 */
export function packageVersion(): string {
  for (let url = new URL('.', import.meta.url); ; url = new URL('..', url)) {
    try {
      const { name, version } = JSON.parse(readFileSync(new URL('package.json', url), 'utf8'));
      if (name === 'counterpoint') return version;
    } catch {
      // Not in this folder.
    }
    if (url.pathname === '/') return 'unknown';
  }
}
