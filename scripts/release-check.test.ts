import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { changelogProblems, type Manifest, manifestProblems } from './release-check.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const page = (name: string) => readFileSync(join(root, name), 'utf8');

test('a release needs one version, in packages and in what they depend on, and a repository', () => {
  const places = { repository: 'there', homepage: 'there', bugs: 'there' };
  const core = { name: 'core', version: '1.0.0', ...places };
  const node = {
    name: 'node',
    version: '1.0.0',
    ...places,
    dependencies: { core: '1.0.0', x: '3' },
  };
  assert.deepEqual(manifestProblems([core, node]), []);
  assert.match(manifestProblems([core, { ...node, version: '1.0.1' }]).join(), /node has version 1\.0\.1/);
  assert.match(
    manifestProblems([core, { ...node, dependencies: { core: '0.9.0' } }]).join(),
    /depends on core 0\.9\.0/,
  );
  assert.match(manifestProblems([{ name: 'core', version: '1.0.0' }]).join(), /no "repository"/);
  for (const field of ['homepage', 'bugs'] as const) {
    const { [field]: _, ...rest } = core;
    assert.match(manifestProblems([rest]).join(), new RegExp(`^core has no "${field}"`));
  }
});

test('a release needs a section of the changelog that says something', () => {
  assert.deepEqual(changelogProblems('# C\n\n## 1.0.0 (2027-01-01)\n\n- new\n', '1.0.0'), []);
  assert.match(changelogProblems('# C\n\n## Unreleased\n\n- new\n', '1.0.0').join(), /no section/);
  assert.match(changelogProblems('# C\n\n## 1.0.0\n\n## 0.9.0\n\n- old\n', '1.0.0').join(), /is empty/);
});

test('between releases the packages have one version', () => {
  const manifests: Manifest[] = readdirSync(join(root, 'packages')).map((folder) =>
    JSON.parse(page(`packages/${folder}/package.json`)),
  );
  assert.deepEqual(
    manifestProblems(
      manifests.map((one) => ({ ...one, repository: 'later', homepage: 'later', bugs: 'later' })),
    ),
    [],
  );
});

test('the checklist calls scripts that exist, and SECURITY names files that exist', () => {
  const { scripts } = JSON.parse(page('package.json'));
  for (const [, name] of `${page('RELEASING.md')}${page('SECURITY.md')}`.matchAll(/\bnpm run ([\w:]+)/g))
    assert.ok(name! in scripts, `npm run ${name}`);
  for (const name of ['RELEASING.md', 'SECURITY.md'])
    for (const [, path] of page(name).matchAll(/`((?:packages|scripts|docs|\.ci)\/[\w/.-]+)`/g))
      assert.ok(existsSync(join(root, path!)), `${name}: ${path}`);
});
