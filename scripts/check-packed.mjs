// Whether all that a package promises is there: what `prepack` runs behind the build, in the folder of the
// package. Another build that runs at the same time writes dist again, and a package without its types would
// be packed in silence. Prints what is missing; the status is 1 then.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

const folder = resolve(process.argv[2] ?? '.');
const facts = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));

/** The files of an export map; `counterpoint-source` is for this repository only. */
function targets(entry) {
  if (typeof entry === 'string') return [entry];
  return Object.entries(entry ?? {}).flatMap(([key, value]) =>
    key === 'counterpoint-source' ? [] : targets(value),
  );
}

const promised = [...targets(facts.exports), ...targets(facts.bin), ...(facts.man ?? [])];
const waiting = promised.map((path) => join(folder, path));
const seen = new Set(waiting);
const missing = [];
for (const path of waiting) {
  if (!existsSync(path)) {
    missing.push(relative(folder, path));
    continue;
  }
  if (!path.endsWith('.d.ts')) continue;
  // What types are made of: each `from './x.ts'` is a declaration beside it.
  for (const [, name] of readFileSync(path, 'utf8').matchAll(/(?:from|import\() ?'(\.[^']+)'/g)) {
    const next = join(dirname(path), name.replace(/\.[jt]s$/, '.d.ts'));
    if (seen.has(next)) continue;
    seen.add(next);
    waiting.push(next);
  }
}
for (const path of missing) console.error(`${facts.name} cannot be packed: ${path} is missing`);
if (missing.length > 0) {
  console.error('Wait until no other build runs, then pack again.');
  process.exitCode = 1;
}
