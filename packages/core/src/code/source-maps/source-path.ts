/** `file:`, `webpack:`; a single letter is a drive of Windows, and no scheme. */
const SCHEME = /^[a-z][a-z0-9+.-]+:/i;
const ORIGIN = /^[a-z][a-z0-9+.-]+:\/\/[^/]*/i;
const FILE = 'file://';

/** Of a `file:` URL its path; everything else as it is. */
export function pathOfScript(script: string): string {
  if (!script.startsWith(FILE)) return script;
  const path = script.slice(FILE.length).replace(/[?#].*$/s, '');
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/**
 * Where a name inside a map leads, from the place of the map. Paths stay paths: a `%20` in one is what its
 * directory is called.
 *
 *     /app/dist/a.js.map   ../src/a.ts               /app/src/a.ts
 *     /app/dist/a.js.map   webpack://app/./src/a.ts  webpack://app/src/a.ts
 */
export function resolveSource(map: string, sourceRoot: string, source: string): string {
  const rooted =
    sourceRoot === '' || isAbsolute(source) ? source : `${sourceRoot.replace(/\/$/, '')}/${source}`;
  if (SCHEME.test(rooted)) return normalised(pathOfScript(rooted));
  if (rooted.startsWith('/')) return normalised(rooted);
  const base = pathOfScript(map);
  return normalised(`${base.slice(0, base.lastIndexOf('/') + 1)}${rooted}`);
}

function isAbsolute(path: string): boolean {
  return path.startsWith('/') || SCHEME.test(path);
}

/** Without `.`, `..` and empty names. */
function normalised(path: string): string {
  const origin = ORIGIN.exec(path)?.[0] ?? '';
  const rest = path.slice(origin.length);
  const names: string[] = [];
  for (const name of rest.split('/')) {
    if (name === '' || name === '.') continue;
    if (name === '..' && names.length > 0 && names.at(-1) !== '..') names.pop();
    else if (name !== '..' || !rest.startsWith('/')) names.push(name);
  }
  return `${origin}${rest.startsWith('/') ? '/' : ''}${names.join('/')}`;
}
