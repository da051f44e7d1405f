/**
 * What the table of floors lists is what is there, and has its words: in docs/architecture.md and in READMEs.
 */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { FLOORS } from './floors.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const page = readFileSync(join(root, 'docs/architecture.md'), 'utf8');
const foldersOf = (folder: string) =>
  readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== 'test')
    .map((entry) => entry.name);

for (const [name, floors] of Object.entries(FLOORS)) {
  const source = join(root, 'packages', name, 'src');

  test(`each floor and each room of packages/${name} has a row in the architecture page, and a README`, () => {
    const section = page.slice(page.indexOf(`\`packages/${name}/src\``)).split('\n## ', 1)[0]!;
    const rows = [...section.matchAll(/^\| (?:\*\*)?`([\w/-]+)`(?:\*\*)? *\|/gm)].map(([, row]) => row!);
    // Rooms of the command line are verbs: its READMEs have them.
    const expected = floors.flatMap((floor) => [
      floor.name,
      ...(floor.name.startsWith('cli') ? [] : floor.rooms.filter((room) => room !== 'index')),
    ]);
    assert.deepEqual(rows, expected);
    for (const floor of floors.filter((one) => !one.name.startsWith('cli')))
      for (const place of ['', ...floor.rooms].filter((room) => room !== 'index'))
        assert.ok(existsSync(join(source, floor.name, place, 'README.md')), join(floor.name, place));
  });

  test(`each folder of packages/${name} is a floor or a room of one`, () => {
    const tops = new Set(floors.map((floor) => floor.name.split('/')[0]!));
    assert.deepEqual(foldersOf(source).toSorted(), [...tops].toSorted());
    for (const floor of floors.filter((one) => one.rooms.length > 0)) {
      const folder = join(source, floor.name);
      // A folder of a floor can be a floor, too: `cli/reading`.
      const floorsInside = floors.map((one) => one.name).filter((one) => one.startsWith(`${floor.name}/`));
      const inside = foldersOf(folder).filter((one) => !floorsInside.includes(`${floor.name}/${one}`));
      assert.deepEqual(
        inside.toSorted(),
        floor.rooms.filter((room) => !existsSync(join(folder, `${room}.ts`))).toSorted(),
      );
    }
  });
}

for (const folder of ['cli', 'cli/reading', 'cli/measuring'])
  test(`each folder of ${folder} has a row in its README`, () => {
    const path = join(root, 'packages/node/src', folder);
    const [table] = readFileSync(join(path, 'README.md'), 'utf8').split('\n## ', 1) as [string];
    const rows = [...table.matchAll(/^\| `([\w-]+)` *\|/gm)].map(([, name]) => name!);
    assert.deepEqual(rows.toSorted(), foldersOf(path).toSorted());
  });
