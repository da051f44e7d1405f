import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { globSync } from './glob.ts';

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
    // Tools ask for the manifest by its name: which version is installed, and where.
    const manifest = ['./package.json', './package.json'];
    assert.deepEqual(exportsOf(folder), Object.fromEntries([...expected, manifest]));
  });
}

for (const [folder, most] of [
  ['node', 35],
  ['core', 35],
] as const) {
  const { name } = JSON.parse(readFileSync(`${PACKAGES}/${folder}/package.json`, 'utf8'));

  test(`the root of ${name} has few names, and no other entry means something else by one of them`, async () => {
    const entries = await Promise.all(
      Object.keys(exportsOf(folder))
        .filter((key) => key !== './package.json')
        .map((key) => import(key.replace('.', name))),
    );
    const root = await import(name);
    assert.ok(Object.keys(root).length <= most, Object.keys(root).join(' '));
    for (const [key, value] of entries.flatMap((entry) => Object.entries(entry)))
      if (key in root) assert.equal(value, root[key], key);
  });
}

test('an entry is named: no pattern opens a package to what is inside', () => {
  for (const folder of readdirSync(PACKAGES))
    for (const [key, entry] of Object.entries(exportsOf(folder)))
      assert.ok(!/[*]|chunk/.test(key + Object.values(entry).join(' ')), `${folder}: ${key}`);
});

/** What stands behind `@internal` in an entry: `{ 'counterpoint/bpf': ['pidNamespace'] }`. */
function namesForUs(): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const folder of readdirSync(PACKAGES)) {
    const { name } = JSON.parse(readFileSync(`${PACKAGES}/${folder}/package.json`, 'utf8'));
    for (const file of readdirSync(`${PACKAGES}/${folder}/src/entries`).filter((one) =>
      one.endsWith('.ts'),
    )) {
      const text = readFileSync(`${PACKAGES}/${folder}/src/entries/${file}`, 'utf8');
      const lists = text.matchAll(/^\/\*\* @internal \*\/\nexport (?:type )?\{([^}]*)\}/gm);
      const names = [...lists].flatMap(([, list]) => list!.match(/\w+(?=,| \}|\s*$)/g) ?? []);
      if (names.length > 0) found.set(`${name}/${file.slice(0, -'.ts'.length)}`, names);
    }
  }
  return found;
}

test('what an entry has for this repository alone is imported by another part of it', () => {
  const root = fileURLToPath(new URL('..', import.meta.url));
  const texts = globSync(
    ['packages', 'scripts', 'bench'].map((name) => `${root}${name}`),
    /\.m?[jt]s$/,
  )
    .filter((path) => !path.includes('/src/entries/'))
    .map((path) => readFileSync(path, 'utf8'));
  const names = namesForUs();
  assert.ok((names.get('@counterpoint/core/base')?.length ?? 0) > 10);
  const unused = [...names].flatMap(([entry, all]) => {
    const importers = texts.filter((text) => text.includes(`'${entry}'`));
    return all
      .filter((name) => !importers.some((text) => new RegExp(`\\b${name}\\b`).test(text)))
      .map((name) => `${entry}: ${name}`);
  });
  assert.deepEqual(unused, []);
});
