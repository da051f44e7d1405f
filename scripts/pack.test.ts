import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

test('packages that are packed in a fresh clone are complete', (t) => {
  const clone = mkdtempSync(join(tmpdir(), 'counterpoint-pack-'));
  t.after(() => rmSync(clone, { recursive: true }));
  const isSource = (path: string) =>
    !['dist', 'node_modules'].includes(basename(path)) && !path.endsWith('.tsbuildinfo');
  for (const name of ['package.json', 'tsconfig.json', 'tsconfig.base.json', 'scripts', 'packages'])
    cpSync(join(root, name), join(clone, name), { recursive: true, filter: isSource });
  symlinkSync(join(root, 'node_modules'), join(clone, 'node_modules'));
  const text = execFileSync('npm', ['pack', '--workspaces', '--dry-run', '--json', '--loglevel=error'], {
    cwd: clone,
    encoding: 'utf8',
  });
  const packed: { name: string; files: { path: string }[] }[] = JSON.parse(
    // Some versions of npm print what the build is called before it.
    text.slice(text.indexOf('[\n')),
  );
  const filesOf = (name: string) => packed.find((one) => one.name === name)!.files.map(({ path }) => path);
  for (const name of ['@counterpoint/core', 'counterpoint']) {
    for (const path of ['dist/index.js', 'dist/types/index.d.ts', 'README.md', 'LICENSE'])
      assert.ok(filesOf(name).includes(path), `${name}: ${path}`);
  }
  for (const path of ['bin/counterpoint', 'bin/counterpoint.js', 'dist/cli.js', 'dist/help/record.txt'])
    assert.ok(filesOf('counterpoint').includes(path), path);
});
