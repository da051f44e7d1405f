import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { isProof } from '../packages/core/src/test/proof.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Tests, fuzzers, fakes, and what helps them. */
const TESTING = /\.(test|fuzz|pmu)\.|(^|\/)(test|tests|fixtures|test-types)\/|fake/i;

/**
 * Of a clone. Packing builds one that nobody has built, in a minute: that is the long form. The short one
 * packs what this checkout was built to.
 */
const NOT_COPIED = isProof ? ['dist', 'node_modules'] : ['node_modules'];

test('packages that are packed in a fresh clone are complete', (t) => {
  const clone = mkdtempSync(join(tmpdir(), 'counterpoint-pack-'));
  t.after(() => rmSync(clone, { recursive: true }));
  const isCopied = (path: string) => !NOT_COPIED.includes(basename(path)) && !path.endsWith('.tsbuildinfo');
  for (const name of [
    'package.json',
    'tsconfig.json',
    'tsconfig.base.json',
    'scripts',
    'packages',
    'examples',
  ])
    cpSync(join(root, name), join(clone, name), { recursive: true, filter: isCopied });
  if (!isProof) {
    mkdirSync(join(clone, 'dist'));
    writeFileSync(join(clone, 'dist/complete'), '');
  }
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
  for (const folder of readdirSync(join(root, 'packages'))) {
    const { name, exports } = JSON.parse(
      readFileSync(join(root, 'packages', folder, 'package.json'), 'utf8'),
    );
    const offered = Object.values<string | { types: string; default: string }>(exports)
      .flatMap((entry) => (typeof entry === 'string' ? [entry] : [entry.types, entry.default]))
      .map((path) => path.replace('./', ''));
    for (const path of [...offered, 'README.md', 'LICENSE'])
      assert.ok(filesOf(name).includes(path), `${name}: ${path}`);
  }
  for (const name of ['counterpoint', '@counterpoint/core'])
    assert.ok(filesOf(name).includes('dist/LICENSE-fzstd'), `${name}: licence of what is bundled`);
  // What tests are made of stays here: what is installed runs.
  for (const { name, files } of packed) {
    const strange = files.map(({ path }) => path).filter((path) => TESTING.test(path));
    assert.deepEqual(strange, [], name);
    const sources = files.filter(({ path }) => path.endsWith('.ts') && !path.endsWith('.d.ts'));
    assert.ok(
      sources.every(({ path }) => path.startsWith('dist/examples/')),
      `${name}: sources`,
    );
  }
  const examples = ['dist/examples/intel-pt/make-trace.js', 'dist/examples/formats/threshold.ts'];
  for (const path of [
    'bin/counterpoint',
    'bin/counterpoint.js',
    'dist/cli.js',
    'dist/help/record.txt',
    ...examples,
  ])
    assert.ok(filesOf('counterpoint').includes(path), path);
});

test('packing builds where no build is complete, or one is older than a source', (t) => {
  const clone = mkdtempSync(join(tmpdir(), 'counterpoint-build-once-'));
  t.after(() => rmSync(clone, { recursive: true }));
  for (const name of ['core', 'trace', 'node'])
    mkdirSync(join(clone, 'packages', name, 'src'), { recursive: true });
  for (const name of ['scripts', 'examples', 'dist']) mkdirSync(join(clone, name));
  cpSync(join(root, 'scripts/build-once.mjs'), join(clone, 'scripts/build-once.mjs'));
  const build = (script: string) =>
    writeFileSync(join(clone, 'package.json'), JSON.stringify({ scripts: { build: script } }));
  for (const name of ['tsconfig.json', 'tsconfig.base.json']) writeFileSync(join(clone, name), '{}');
  const once = () => spawnSync(process.execPath, [join(clone, 'scripts/build-once.mjs')]).status;
  const builds = () => readFileSync(join(clone, 'dist/builds'), 'utf8').length;
  build('echo >> dist/builds && touch dist/complete');
  for (let packages = 0; packages < 3; packages++) assert.equal(once(), 0);
  assert.equal(builds(), 1);
  writeFileSync(join(clone, 'packages/trace/src/new.ts'), '');
  for (let packages = 0; packages < 2; packages++) assert.equal(once(), 0);
  assert.equal(builds(), 2);
  // What cannot be built is not packed.
  build('exit 3');
  assert.equal(once(), 3);
});

/** Prints what `instanceof` says of errors of each package, thrown and made, by the classes of both. */
const ERRORS = `
import * as core from '@counterpoint/core';
import * as node from 'counterpoint';
const thrown = [];
await node.openRecording(new Uint8Array(20)).catch((error) => thrown.push(error));
await core.openPerfData(new Uint8Array(20)).catch((error) => thrown.push(error));
await node.openRecording('/does/not/exist').catch((error) => thrown.push(error));
thrown.push(new Error('another'), null, 'text', new (class Own extends core.CounterpointError {})('ERR_OWN', ''));
class Mine extends node.FormatError {}
console.log(JSON.stringify({
  apart: core.FormatError !== node.FormatError,
  base: [core, node].map(({ CounterpointError }) => thrown.map((error) => error instanceof CounterpointError)),
  format: [core, node].map(({ FormatError }) => thrown.map((error) => error instanceof FormatError)),
  extended: thrown.map((error) => error instanceof Mine),
  own: [new Mine('ERR', 0, '', '') instanceof Mine, new Mine('ERR', 0, '', '') instanceof core.FormatError],
}));
`;

test('instanceof holds for errors across the packages as they are installed, and in a bundle of both', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'counterpoint-installed-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const modules = join(folder, 'node_modules');
  mkdirSync(join(modules, '@counterpoint'), { recursive: true });
  for (const [name, target] of [
    ['core', '@counterpoint/core'],
    ['trace', '@counterpoint/trace'],
    ['node', 'counterpoint'],
  ] as const) {
    const packed = JSON.parse(
      execFileSync(
        'npm',
        ['pack', '--json', '--ignore-scripts', '--loglevel=error', '--pack-destination', folder],
        {
          cwd: join(root, 'packages', name),
          encoding: 'utf8',
        },
      ),
    );
    mkdirSync(join(modules, target));
    execFileSync('tar', [
      'xf',
      join(folder, packed[0].filename),
      '--strip-components=1',
      '-C',
      join(modules, target),
    ]);
  }
  // Tools for developers look for the maps that programs name, and complain of each that is not there.
  for (const path of readdirSync(modules, { recursive: true, encoding: 'utf8' }).filter((one) =>
    one.endsWith('.js'),
  )) {
    const map = /^\/\/# sourceMappingURL=(\S+)/m.exec(readFileSync(join(modules, path), 'utf8'))?.[1];
    assert.ok(map === undefined || existsSync(join(modules, path, '..', map)), `${path} names ${map}`);
  }
  for (const name of ['fzstd', 'koffi', '@koromix', '@swc']) {
    const source = join(root, 'node_modules', name);
    if (existsSync(source)) symlinkSync(source, join(modules, name));
  }
  writeFileSync(join(folder, 'errors.mjs'), ERRORS);
  await build({
    entryPoints: [join(folder, 'errors.mjs')],
    outfile: join(folder, 'bundle.mjs'),
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'node',
    external: ['koffi', '@swc/wasm-typescript'],
    logLevel: 'error',
  });
  for (const program of ['errors.mjs', 'bundle.mjs']) {
    const { apart, ...answers } = JSON.parse(
      execFileSync(process.execPath, [join(folder, program)], { cwd: folder, encoding: 'utf8' }),
    );
    const base = [true, true, true, false, false, false, true];
    const format = [true, true, false, false, false, false, false];
    assert.deepEqual(answers, {
      base: [base, base],
      format: [format, format],
      extended: format.map(() => false),
      own: [true, true],
    });
    t.diagnostic(`${program}: ${apart ? 'two copies' : 'one copy'} of the classes`);
  }
});
