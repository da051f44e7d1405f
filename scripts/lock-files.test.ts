/**
 * `npm ci` takes a lock file only where it has each dependency of each package in it, the builds for other
 * systems too. npm leaves those out where it does not find them while it writes the file.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

interface Locked {
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
}

/** From the folder of a package up to the root, as Node looks for what it imports. */
function isFound(packages: Record<string, Locked>, from: string, name: string): boolean {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/node_modules/')))) {
    if (packages[folder === '' ? `node_modules/${name}` : `${folder}/node_modules/${name}`]) return true;
    if (folder === '') return false;
  }
}

for (const path of ['package-lock.json', 'docs/package-lock.json']) {
  test(`${path} is whole: npm ci takes it, on every system`, () => {
    const text = readFileSync(fileURLToPath(new URL(`../${path}`, import.meta.url)), 'utf8');
    const { packages } = JSON.parse(text) as { packages: Record<string, Locked> };
    const missing = Object.entries(packages).flatMap(([from, { dependencies, optionalDependencies }]) =>
      Object.keys({ ...dependencies, ...optionalDependencies })
        .filter((name) => !isFound(packages, from, name))
        .map((name) => `${from} needs ${name}`),
    );
    assert.deepEqual(missing, []);
  });
}
