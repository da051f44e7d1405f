import { closeSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { NamedFile, requireRegular } from '../../../host/files/index.ts';

const MOST_FILE_BYTES = 1 << 24;
/** What Node puts in the place of types: white space, and `;` where a line would go on otherwise. */
const FILLS = /[\s;]/;

/**
 * Whether code that ran was made from a file when it was loaded, so that its places are none of the file's.
 * Where the file cannot be read nobody knows, and false is the answer.
 *
 * `root`: of the process. `units`: length of the code, which is only read where the file has another one.
 */
export function isMadeFromFile(root: string, script: string, units: number, code: () => string): boolean {
  let fd = -1;
  try {
    const path = script.startsWith('file:') ? fileURLToPath(script) : script;
    if (!path.startsWith('/')) return false;
    using file = new NamedFile(`${root}${path}`);
    requireRegular(file);
    const { size } = file.facts;
    if (size === units || size === 0 || size > MOST_FILE_BYTES) return false;
    fd = file.openSync();
    const loaded = code();
    return loaded !== '' && !hasPlacesOf(loaded, readFileSync(fd, 'utf8'));
  } catch {
    return false;
  } finally {
    if (fd >= 0) closeSync(fd);
  }
}

/**
 * Whether each place of a file is the same place in the code. A wrapper may be
 * around it, and types may be blanks:
 *
 *     file   const a: number = f(b as T)  ;        code   const a         = f(b     );
 */
export function hasPlacesOf(code: string, file: string): boolean {
  const text = file.replace(/^\ufeff/, '');
  const start = code.indexOf(text);
  if (start >= 0 && !code.slice(0, start).includes('\n')) return true;
  const own = text.split('\n');
  const lines = code.split('\n');
  return own.every((line, row) => {
    const loaded = lines[row] ?? '';
    if (loaded === line || (row === 0 && loaded.endsWith(line)) || line.trim() === '') return true;
    for (let at = 0; at < line.length; at++)
      if (loaded[at] !== line[at] && !FILLS.test(loaded[at] ?? '')) return false;
    return true;
  });
}
