import { readdirSync } from 'node:fs';

/** Paths below `roots` whose name matches, sorted; build output and installed packages are left out. */
export function globSync(roots: string[], pattern: RegExp): string[] {
  const found: string[] = [];
  const walk = (dir: string) => {
    for (const entry of readdirSync(dir, { withFileTypes: true })) {
      if (entry.name === 'node_modules' || entry.name === 'dist') continue;
      const path = `${dir}/${entry.name}`;
      if (entry.isDirectory()) walk(path);
      else if (pattern.test(entry.name)) found.push(path);
    }
  };
  for (const root of roots) walk(root);
  return found.sort();
}
