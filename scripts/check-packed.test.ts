import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'counterpoint-packed-'));
after(() => rmSync(folder, { recursive: true }));

function check(path: string) {
  const { status, stderr } = spawnSync(process.execPath, [join(root, 'scripts/check-packed.mjs'), path]);
  return { status, err: String(stderr) };
}

test('a package that lacks something that it promises is not packed', () => {
  for (const name of ['core', 'trace', 'node']) {
    const source = join(root, 'packages', name);
    assert.match(
      JSON.parse(readFileSync(join(source, 'package.json'), 'utf8')).scripts.prepack,
      /build-once\.mjs && node \.\.\/\.\.\/scripts\/check-packed\.mjs$/,
    );
    assert.deepEqual(check(source), { status: 0, err: '' }, name);
  }
  cpSync(join(root, 'packages/trace/package.json'), join(folder, 'package.json'));
  cpSync(join(root, 'packages/trace/dist'), join(folder, 'dist'), { recursive: true });
  assert.equal(check(folder).status, 0);
  // A type that only another type names, and a program.
  const lost = ['dist/types/code/image/code-image.d.ts', 'dist/perf.js'];
  for (const path of lost) rmSync(join(folder, path));
  const { status, err } = check(folder);
  assert.equal(status, 1);
  for (const path of lost) assert.match(err, new RegExp(`cannot be packed: ${path} is missing`));
  assert.match(err, /Wait until no other build runs/);
});
