/** What docs/architecture.md lists is what is there: each room of each package. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const page = readFileSync(join(root, 'docs/architecture.md'), 'utf8');

for (const name of ['core', 'trace', 'node']) {
  const source = join(root, 'packages', name, 'src');
  const rooms = readdirSync(source, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== 'test')
    .map((entry) => entry.name);

  test(`each room of packages/${name} has a row in the architecture page, and a README`, () => {
    const section = page.slice(page.indexOf(`\`packages/${name}/src\``)).split('\n## ', 1)[0]!;
    const rows = [...section.matchAll(/^\| `([\w-]+)` *\|/gm)].map(([, room]) => room!);
    assert.deepEqual(rows.toSorted(), rooms.toSorted());
    for (const room of rooms) assert.ok(existsSync(join(source, room, 'README.md')), room);
  });
}

test('each folder of the command line has a row in its README', () => {
  const folder = join(root, 'packages/node/src/cli');
  const folders = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const [table] = readFileSync(join(folder, 'README.md'), 'utf8').split('\n## ', 1) as [string];
  const rows = [...table.matchAll(/^\| `([\w-]+)` *\|/gm)].map(([, name]) => name!);
  assert.deepEqual(rows.toSorted(), folders.map(({ name }) => name).toSorted());
});
