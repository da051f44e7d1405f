import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { FLOORS } from './floors.ts';

// `core` and `trace` run in Node, a browser and a worker: nothing of a host, nothing
// native, whoever adds an import.

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const DEPENDENCIES = { core: ['fzstd'], trace: ['@counterpoint/core'] };
const read = (path: string) => JSON.parse(readFileSync(join(ROOT, path), 'utf8'));

/** All files below a folder. */
function walk(dir: string): string[] {
  return readdirSync(dir, { recursive: true }).map((name) => join(dir, String(name)));
}

for (const [name, dependencies] of Object.entries(DEPENDENCIES)) {
  const folder = `packages/${name}`;
  const manifest = read(`${folder}/package.json`);
  const sources = join(ROOT, folder, 'src');

  test(`${name} depends on few pure packages only`, () => {
    assert.deepEqual(Object.keys(manifest.dependencies), dependencies);
    assert.equal(manifest.optionalDependencies, undefined);
    assert.equal(manifest.peerDependencies, undefined);
    assert.equal(manifest.scripts?.postinstall, undefined);
  });

  test(`what ${name} takes from others has no native code, no dependencies and no install step`, () => {
    const require = createRequire(join(ROOT, folder, 'package.json'));
    for (const other of dependencies.filter((one) => !one.startsWith('@counterpoint/'))) {
      let dir = dirname(require.resolve(other));
      while (!existsSync(join(dir, 'package.json'))) dir = dirname(dir);
      const facts = read(join(relative(ROOT, dir), 'package.json'));
      assert.equal(facts.name, other);
      assert.deepEqual(Object.keys(facts.dependencies ?? {}), []);
      for (const step of ['preinstall', 'install', 'postinstall'])
        assert.equal(facts.scripts?.[step], undefined);
      assert.deepEqual(
        walk(dir).filter((path) => /\.(node|wasm|so|gyp)$/.test(path)),
        [],
      );
    }
  });

  test(`the sources of ${name} are compiled without any host’s types`, () => {
    const options = {
      ...read('tsconfig.base.json').compilerOptions,
      ...read(`${folder}/tsconfig.json`).compilerOptions,
    };
    assert.deepEqual(options.types, []);
    assert.ok(options.lib.every((lib: string) => !/dom|worker/i.test(lib)));
  });

  test(`the sources of ${name} name no host API`, () => {
    const isSource = (path: string) =>
      /\.ts$/.test(path) && !/\.(test|fuzz|d)\.ts$|\/test\/|\/page\//.test(path);
    const host = /from 'node:|import\('node:|\brequire\(|\bprocess\.(?:env|argv|platform)|\bBuffer\./;
    const offenders = walk(sources).filter(
      (path) => isSource(path) && !path.includes('/generated/') && host.test(readFileSync(path, 'utf8')),
    );
    assert.deepEqual(offenders, []);
  });

  test(`every room of ${name} has a README, and what others import of it is its index, or that of its floor`, () => {
    for (const floor of FLOORS[name]!) {
      const folder = join(sources, floor.name);
      assert.ok(existsSync(join(folder, 'README.md')), folder);
      for (const room of floor.rooms.filter((one) => one !== 'index')) {
        const faces = [join(folder, room, 'index.ts'), join(folder, 'index.ts')];
        assert.ok(
          faces.some((path) => existsSync(path)),
          room,
        );
        assert.ok(existsSync(join(folder, room, 'README.md')), room);
      }
    }
  });
}
