import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { loadDefaultExport } from './load-module.ts';

const folder = mkdtempSync(join(tmpdir(), 'counterpoint-modules-'));
after(() => rmSync(folder, { recursive: true }));

function write(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

test('TypeScript that imports TypeScript, and this package, from a folder that has no packages', async () => {
  write('part.ts', 'export interface Part { size: number }\nexport const part: Part = { size: 7 };\n');
  const path = write(
    'whole.ts',
    "import { LOSS_KINDS } from '@counterpoint/core/loss';\nimport { type Part, part } from './part.ts';\n" +
      "export default { size: (part satisfies Part).size as number, kinds: typeof LOSS_KINDS['ring-full'] };\n",
  );
  assert.deepEqual(await loadDefaultExport(path), { size: 7, kinds: 'string' });
});

test('JavaScript', async () => {
  assert.equal(await loadDefaultExport(write('plain.mjs', 'export default 5;\n')), 5);
});

test('what cannot be loaded is told with its place', async () => {
  const cases: [string, string, RegExp][] = [
    ['types.ts', 'const a = 1;\nlet b: = 3;\n', /types\.ts:2:8: /],
    ['enum.ts', 'enum Kind { A }\nexport default Kind;\n', /enum\.ts:1:1: .*enum/],
    ['script.mjs', 'const a = 1;\nlet b = = 3;\n', /script\.mjs:2:9: /],
    ['throws.ts', "\n  throw new Error('not today');\n", /throws\.ts:2:9: not today$/],
    ['missing.ts', "import './nowhere.ts';\n", /nowhere\.ts/],
    [
      'unknown.ts',
      "import { nothing } from 'counterpoint';\nexport default nothing;\n",
      /unknown\.ts:1: .*nothing/,
    ],
    ['nothing.ts', 'export const a = 1;\n', /has no default export/],
  ];
  for (const [name, text, message] of cases)
    await assert.rejects(
      loadDefaultExport(write(name, text)),
      (error: Error & { code?: string }) => {
        assert.equal(error.code, 'ERR_FORMAT_MODULE');
        assert.match(error.message, message);
        // One line, behind `counterpoint:`; and nothing of enums where they are not the reason.
        assert.ok(!error.message.includes('\n'));
        const { remedy } = error as Error & { remedy?: string };
        assert.equal(remedy?.includes('enum'), ['types.ts', 'enum.ts', 'script.mjs'].includes(name), name);
        return true;
      },
      name,
    );
  await assert.rejects(loadDefaultExport(join(folder, 'not-there.ts')), /there is no file/);
  await assert.rejects(loadDefaultExport(folder), /is a folder, not a module$/);
});

const BUILT = fileURLToPath(new URL('../../dist/module-hooks.js', import.meta.url));

test('the built package needs nothing beside it', {
  skip: existsSync(BUILT) ? false : 'it is not built',
}, () => {
  const apart = join(folder, 'apart');
  mkdirSync(apart);
  writeFileSync(
    join(apart, 'own.ts'),
    "import { openRecording } from 'counterpoint';\nexport default typeof openRecording as string;\n",
  );
  const run = `
    import { register } from 'node:module';
    register(${JSON.stringify(`file://${BUILT}`)}, { data: { ownModule: ${JSON.stringify(`file://${BUILT}`)}, ownFolder: 'file:///none/' } });
    console.log((await import(${JSON.stringify(join(apart, 'own.ts'))})).default);
  `;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', run], {
    encoding: 'utf8',
    env: { ...process.env, NODE_OPTIONS: '' },
  });
  assert.equal(stdout, 'function\n', stderr);
});
