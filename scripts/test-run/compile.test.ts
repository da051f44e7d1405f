/** Small files, compiled and run as `npm test` does it. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { FROM_SOURCES, pathsFromSources } from './from-sources.ts';

const SCRIPT = fileURLToPath(new URL('../test.ts', import.meta.url));
const PRELOAD = fileURLToPath(new URL('typescript.mjs', import.meta.url));

function runIn(t: TestContext, files: Record<string, string>) {
  const folder = mkdtempSync(join(tmpdir(), 'counterpoint-compile-'));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const name of ['packages', 'scripts', 'bench', '.test-build/999999999-left'])
    mkdirSync(join(folder, name), { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, 'packages', name), text);
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const options = { cwd: folder, env, encoding: 'utf8' as const, timeout: 120_000 };
  const words = ['--import', PRELOAD, SCRIPT, '--no-second-try'];
  const { status, stdout, stderr } = spawnSync(process.execPath, words, options);
  return { folder, status, text: stdout + stderr };
}

// In this file it would be taken for its own.
const META = ['import', 'meta'].join('.');
const HEAD = `import assert from 'node:assert/strict';
import { test } from 'node:test';
`;

test('a compiled test knows where its source is, and a failure names the line of the source', (t) => {
  const { folder, status, text } = runIn(t, {
    'answer.ts': 'export const answer: number = 41;\n',
    'places.test.ts': `${HEAD}import { answer } from './answer.ts';

interface Nothing { erased: string }
test('places', async () => {
  console.log('url', ${META}.url, ${META}.dirname, ${META}.resolve('./answer.ts'), process.argv[1]);
  assert.equal((await import('./answer.ts')).answer, 41);
});
test('wrong', () => {
  const none: Nothing | null = null;
  assert.equal(answer, 42, String(none));
});
`,
  });
  assert.equal(status, 1);
  const [, url, dirname, resolved, program] = /^url (\S+) (\S+) (\S+) (\S+)$/m.exec(text)!;
  assert.deepEqual(
    [url, dirname, resolved],
    [`file://${folder}/packages/places.test.ts`, `${folder}/packages`, `file://${folder}/packages/answer.ts`],
  );
  assert.match(program!, /\.test-build\/\d+-\w+\/tests\/packages\/places\.test\.js$/);
  assert.match(text, /packages\/places\.test\.ts:12:10/);
  assert.match(text, /1 passed, 1 failed, 0 skipped\n$/);
  assert.deepEqual(readdirSync(join(folder, '.test-build')), []);
});

test('a source that cannot be compiled makes only the tests red that reach it', (t) => {
  const { status, text } = runIn(t, {
    'broken.test.ts': `${HEAD}test('broken', () => { let let = 1 });\n`,
    'good.test.ts': `${HEAD}test('good', () => assert.ok(true));\n`,
  });
  assert.equal(status, 1);
  assert.match(
    text,
    /The tests run from their sources, because not all could be compiled: .*\n.*broken\.test\.ts:3/,
  );
  assert.match(text, /✖ packages\/broken\.test\.ts/);
  assert.match(text, /1 passed, 1 failed, 0 skipped\n$/);
});

test('each file of the list is there, with a reason', () => {
  const paths = [...pathsFromSources(readFileSync(FROM_SOURCES, 'utf8'))];
  assert.deepEqual(
    paths.filter((path) => !existsSync(path)),
    [],
  );
  assert.throws(() => pathsFromSources('a.test.ts\n'), /has no reason/);
});
