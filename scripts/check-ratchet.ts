/**
 * Counts of what should only become fewer. A count above its limit fails; a count
 * below it asks to lower the limit.
 */
import { readFileSync } from 'node:fs';
import { globSync } from './glob.ts';

const LIMITS: Record<string, number> = {
  'uses of any': 0,
  'suppressed type errors': 0,
  'files over 600 lines': 0,
};

const counts: Record<string, string[]> = {
  'uses of any': [],
  'suppressed type errors': [],
  'files over 600 lines': [],
};
for (const path of globSync(['packages', 'scripts', 'bench'], /\.ts$/)) {
  if (path.endsWith('check-ratchet.ts')) continue;
  const text = readFileSync(path, 'utf8');
  for (const _ of text.matchAll(/(?::|\bas|<)\s*any\b/g)) counts['uses of any']!.push(path);
  for (const _ of text.matchAll(/@ts-(?:ignore|expect-error|nocheck)/g))
    counts['suppressed type errors']!.push(path);
  if (!path.includes('/generated/') && text.split('\n').length > 600)
    counts['files over 600 lines']!.push(path);
}

let failed = false;
for (const [name, limit] of Object.entries(LIMITS)) {
  const found = counts[name] ?? [];
  if (found.length > limit) {
    console.error(
      `Ratchet: ${found.length} ${name}, at most ${limit}:\n${[...new Set(found)].map((path) => `  ${path}`).join('\n')}`,
    );
    failed = true;
  } else if (found.length < limit) {
    console.error(`Ratchet: ${found.length} ${name}; lower the limit from ${limit}.`);
    failed = true;
  }
}
if (failed) process.exit(1);
