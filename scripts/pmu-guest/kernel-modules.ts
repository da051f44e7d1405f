import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { run } from './commands.ts';

const MODULE_FILE = /\.ko(\.xz)?$/;

/**
 * The modules that `names` need, themselves included, each after those it depends on, as plain ELF
 * bytes. Every module says what it depends on in its section .modinfo: NUL-terminated `depends=a,b`.
 * What is not a file is built in.
 */
export async function collectModules(folder: string, names: string[]): Promise<Map<string, Uint8Array>> {
  const paths = new Map<string, string>();
  for (const path of readdirSync(folder, { recursive: true }).map(String)) {
    if (MODULE_FILE.test(path)) paths.set(moduleName(path), join(folder, path));
  }
  const collected = new Map<string, Uint8Array>();
  const add = async (name: string): Promise<void> => {
    const path = paths.get(name);
    if (path === undefined || collected.has(name)) return;
    const bytes = await readModule(path);
    for (const dependency of dependencies(bytes)) await add(dependency);
    collected.set(name, bytes);
  };
  for (const name of names) await add(moduleName(name));
  return collected;
}

/** File names and `depends=` differ in dashes and underscores. */
function moduleName(path: string): string {
  return basename(path).replace(MODULE_FILE, '').replaceAll('-', '_');
}

async function readModule(path: string): Promise<Buffer> {
  if (!path.endsWith('.xz')) return readFileSync(path);
  await run('xz', ['--decompress', '--keep', path]);
  return readFileSync(path.slice(0, -'.xz'.length));
}

function dependencies(bytes: Buffer): string[] {
  const start = bytes.indexOf('\0depends=') + '\0depends='.length;
  const text = bytes.subarray(start, bytes.indexOf(0, start)).toString();
  return text === '' ? [] : text.split(',').map(moduleName);
}
