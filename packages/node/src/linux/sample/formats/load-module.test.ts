import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import * as nodeModule from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { CounterpointError } from '@counterpoint/core/base';
import { commandLineProcess } from '../../../test/command-line.ts';
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
        assert.equal(remedy?.includes('enum'), ['types.ts', 'enum.ts'].includes(name), name);
        return true;
      },
      name,
    );
  await assert.rejects(loadDefaultExport(join(folder, 'not-there.ts')), /there is no file/);
  await assert.rejects(loadDefaultExport(folder), /is a folder, not a module$/);
});

test('what is no source is shown without its control characters', async () => {
  const attempt = (name: string, text: string) =>
    loadDefaultExport(write(name, text)).then(
      () => assert.fail('it was loaded'),
      ({ message, remedy }: CounterpointError) => {
        assert.doesNotMatch(`${message}${remedy}`, /[\0-\x09\x0b-\x1f\x7f-\x9f]/);
        return { message, remedy };
      },
    );
  const { remedy } = await attempt('colours.ts', 'const a = 1;\n\tlet b = = \x01\x1b[31m 3;\n');
  assert.match(remedy, /^ {4}let b = = \\x01\\x1b\[31m 3;\n {12}\^\nTypeScript is read/m);
  const binary = await attempt('binary.js', `\x7fELF\x02\x01${'\0'.repeat(4000)}`);
  assert.match(binary.message, /binary\.js:1:1: /);
  assert.match(binary.remedy, /Give an ES module/);
});

test('a top-level await that nothing settles ends in words', async () => {
  const path = write('waits.ts', 'await new Promise(() => {});\nexport default 1;\n');
  await assert.rejects(loadDefaultExport(path, 200), {
    code: 'ERR_FORMAT_MODULE',
    message: /waits\.ts has not finished loading within 0\.2 s: a top-level await/,
  });
});

test('process.exit() while it is loaded is told, and is no success', () => {
  const path = write('exits.ts', 'process.exit(0);\n');
  const run = [...commandLineProcess(), 'list', 'formats', path];
  const { status, stderr } = spawnSync(process.execPath, run, { encoding: 'utf8' });
  assert.equal(status, 1, stderr);
  assert.match(stderr, /exits\.ts has called process\.exit\(0\) while it was loaded/);
});

test('a CommonJS module is told to be an ES module', {
  // Newer ones find this package by require(), too.
  skip: 'registerHooks' in nodeModule ? 'for Node before 22.15' : false,
}, async () => {
  const text = "const { defineFormat } = require('counterpoint');\nmodule.exports = defineFormat({});\n";
  for (const name of ['common.cjs', 'common.js'])
    await assert.rejects(loadDefaultExport(write(name, text)), {
      message: /common\.c?js.*: a format is an ES module, but this one loads counterpoint by require\(\)$/,
      remedy: /^Write import instead of require\(\)/,
    });
  await assert.rejects(loadDefaultExport(write('part.cjs', "require('./nowhere.cjs');\n")), {
    message: /part\.cjs.*: Cannot find module '\.\/nowhere\.cjs'$/,
  });
});

const BUILT = fileURLToPath(new URL('../../../../dist/module-hooks.js', import.meta.url));

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
