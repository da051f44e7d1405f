import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

// `core` runs in Node, a browser and a worker: nothing of a host, nothing native, whoever adds an import.

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));

/** All files below a folder. */
function walk(dir: string): string[] {
  return readdirSync(dir, { recursive: true }).map((name) => join(dir, String(name)));
}

test('core depends on few pure packages only', () => {
  assert.deepEqual(Object.keys(manifest.dependencies), ['fzstd']);
  assert.equal(manifest.optionalDependencies, undefined);
  assert.equal(manifest.peerDependencies, undefined);
  assert.equal(manifest.scripts?.postinstall, undefined);
});

test('what core depends on has no native code, no dependencies and no install step', () => {
  const require = createRequire(join(ROOT, 'package.json'));
  for (const name of Object.keys(manifest.dependencies)) {
    let dir = dirname(require.resolve(name));
    while (!existsSync(join(dir, 'package.json'))) dir = dirname(dir);
    const facts = JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8'));
    assert.equal(facts.name, name);
    assert.deepEqual(Object.keys(facts.dependencies ?? {}), []);
    for (const step of ['preinstall', 'install', 'postinstall'])
      assert.equal(facts.scripts?.[step], undefined);
    assert.deepEqual(
      walk(dir).filter((path) => /\.(node|wasm|so|gyp)$/.test(path)),
      [],
    );
  }
});

test('the sources of core are compiled without any host’s types', () => {
  const project = JSON.parse(readFileSync(join(ROOT, 'tsconfig.json'), 'utf8'));
  const base = JSON.parse(readFileSync(join(ROOT, '../../tsconfig.base.json'), 'utf8'));
  const options = { ...base.compilerOptions, ...project.compilerOptions };
  assert.deepEqual(options.types, []);
  assert.ok(options.lib.every((name: string) => !/dom|worker/i.test(name)));
});

test('the sources of core name no host API', () => {
  const isSource = (path: string) =>
    /\.ts$/.test(path) && !/\.(test|fuzz|d)\.ts$|\/test\/|\/page\//.test(path);
  const host = /from 'node:|import\('node:|\brequire\(|\bprocess\.(?:env|argv|platform)|\bBuffer\./;
  const offenders = walk(join(ROOT, 'src')).filter(
    (path) => isSource(path) && !path.includes('/generated/') && host.test(readFileSync(path, 'utf8')),
  );
  assert.deepEqual(offenders, []);
});

test('every room that is exported exists, with an index and a README', () => {
  const rooms = readdirSync(join(ROOT, 'src'), { withFileTypes: true }).filter(
    (entry) => entry.isDirectory() && entry.name !== 'test',
  );
  for (const { name } of rooms) {
    assert.ok(existsSync(join(ROOT, 'src', name, 'index.ts')), `${name}/index.ts`);
    assert.ok(existsSync(join(ROOT, 'src', name, 'README.md')), `${name}/README.md`);
  }
});
