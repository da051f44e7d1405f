import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const PACKAGES = fileURLToPath(new URL('../packages', import.meta.url));
const exportsOf = (name: string) =>
  JSON.parse(readFileSync(`${PACKAGES}/${name}/package.json`, 'utf8')).exports as Record<string, object>;

for (const folder of readdirSync(PACKAGES)) {
  test(`each file of ${folder}'s entries is an entry of the package, under its own name`, () => {
    const files = readdirSync(`${PACKAGES}/${folder}/src/entries`)
      .filter((name) => name.endsWith('.ts'))
      .map((name) => name.slice(0, -'.ts'.length));
    const expected = files.map((name) => [
      name === 'index' ? '.' : `./${name}`,
      {
        'counterpoint-source': `./src/entries/${name}.ts`,
        types: `./dist/types/entries/${name}.d.ts`,
        default: `./dist/${name}.js`,
      },
    ]);
    assert.deepEqual(exportsOf(folder), Object.fromEntries(expected));
  });
}

test('the root has few names, and no other entry means something else by one of them', async () => {
  const entries = await Promise.all(
    Object.keys(exportsOf('node')).map(
      (key) => import(key === '.' ? 'counterpoint' : `counterpoint/${key.slice(2)}`),
    ),
  );
  const root = await import('counterpoint');
  assert.ok(Object.keys(root).length <= 35, Object.keys(root).join(' '));
  for (const [name, value] of entries.flatMap((entry) => Object.entries(entry)))
    if (name in root) assert.equal(value, root[name as keyof typeof root], name);
});
