/**
 * The browser examples of the READMEs as somebody builds them: from the packed packages, by esbuild and by
 * Vite, run in Chromium. And what a page loads for them: the decompressor only with a compressed recording.
 */
import assert from 'node:assert/strict';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import * as esbuild from 'esbuild';
import { chromium, type Page } from 'playwright-core';
import { memorySource } from '../packages/core/src/base/index.ts';
import { findSection, openElf, readSectionBytes } from '../packages/core/src/code/elf/index.ts';
import { addElf, CodeImage } from '../packages/trace/src/code/image/index.ts';
import { calledFunctions, ExecutionEncoder, RandomWalk } from '../packages/trace/src/pt/index.ts';
import { installPacked } from './installed-packages.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const FIXTURES = join(ROOT, 'fixtures/perfdata');
/** What `openPerfData` and `collectStats` may be at most as one file, minified, in bytes. */
const MAX_BYTES = 70_000;
const MAX_GZIP_BYTES = 25_000;
/** And where the bundler splits: what a page loads before it meets a compressed recording. */
const MAX_BYTES_AT_ONCE = 60_000;
const MAX_GZIP_BYTES_AT_ONCE = 22_500;
/** The half minute that is usual is soon over where others have the machine. */
const PATIENCE_MS = 180_000;

const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(
  existsSync,
);
const skip = CHROMIUM === undefined && 'no Chromium here';
/** x86-64, and on every machine. */
const PROGRAM = '/bin/gzip';
const lacksProgram = process.arch === 'x64' && existsSync(PROGRAM) ? false : `no ${PROGRAM} for x86-64`;
const TYPES: Record<string, string> = { '.html': 'text/html', '.js': 'text/javascript' };

const folder = mkdtempSync(join(tmpdir(), 'counterpoint-bundles-'));
before(() => {
  installPacked(folder);
  writeFileSync(join(folder, 'package.json'), '{ "type": "module", "private": true }');
  // The one that needs no kernel.
  writeFileSync(join(folder, 'page.js'), page('README.md', "'@counterpoint/core/perfdata'", 'file'));
  writeFileSync(join(folder, 'index.html'), '<!doctype html><script type="module" src="/page.js"></script>');
});
after(() => rmSync(folder, { recursive: true }));

/** The example of a README that imports something, with what it prints as the answer of a function. */
function page(readme: string, imports: string, parameters: string): string {
  const text = readFileSync(join(ROOT, readme), 'utf8');
  const blocks = [...text.matchAll(/^```js\n(.*?)^```/gms)].map(([, block]) => block!);
  const example = blocks.find((block) => block.includes(imports));
  assert.ok(example !== undefined, `${readme} has an example for browsers`);
  const isImport = (line: string) => line.startsWith('import ');
  const lines = example.split('\n');
  return `${lines.filter(isImport).join('\n')}
window.read = async (${parameters}) => {
  const printed = [];
  const console = { log: (...values) => printed.push(...values) };
  ${lines.filter((line) => !isImport(line)).join('\n  ')}
  return printed;
};`;
}

/** Every file that the page loads before it is used: not what is imported later, if at all. */
function loadedAtOnce(outputs: esbuild.Metafile['outputs'], entry: string): string[] {
  const files = new Set([entry]);
  for (const file of files)
    for (const { path, kind } of outputs[file]?.imports ?? [])
      if (kind === 'import-statement') files.add(path);
  return [...files];
}

async function bundleByEsbuild(out: string, splitting = true): Promise<string[]> {
  mkdirSync(out);
  writeFileSync(join(out, 'index.html'), readFileSync(join(folder, 'index.html')));
  const { metafile } = await esbuild.build({
    absWorkingDir: folder,
    entryPoints: ['page.js'],
    outdir: out,
    bundle: true,
    minify: true,
    splitting,
    format: 'esm',
    platform: 'browser',
    metafile: true,
    logLevel: 'error',
  });
  const entry = Object.keys(metafile.outputs).find((path) => path.endsWith('page.js'))!;
  return loadedAtOnce(metafile.outputs, entry).map((path) => join(folder, path));
}

async function bundleByVite(out: string, from = folder): Promise<void> {
  const { build } = await import('vite');
  await build({ root: from, configFile: false, logLevel: 'error', build: { outDir: out } });
}

/** A tab with the page that a bundler wrote, and the paths that it asks the server for. */
async function openPage(t: TestContext, out: string): Promise<{ tab: Page; requests: string[] }> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    const path = request.url === '/' ? '/index.html' : (request.url ?? '');
    const file = join(out, path);
    requests.push(path);
    response.statusCode = existsSync(file) ? 200 : 404;
    response.setHeader('content-type', TYPES[extname(file)] ?? 'application/octet-stream');
    response.end(response.statusCode === 200 ? readFileSync(file) : '');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const browser = await chromium.launch({
    executablePath: CHROMIUM!,
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update'],
  });
  t.after(async () => {
    await browser.close();
    server.close();
  });
  const tab = await browser.newPage();
  tab.setDefaultTimeout(PATIENCE_MS);
  await tab.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  await tab.waitForFunction('window.read !== undefined');
  return { tab, requests };
}

/** Reads a plain and a compressed recording in the page, and tells what was requested for each. */
async function readIn(t: TestContext, out: string): Promise<{ samples: number; requests: string[] }[]> {
  const { tab, requests } = await openPage(t, out);
  const answers = [];
  for (const name of ['plain', 'compressed']) {
    const before = requests.length;
    const bytes = JSON.stringify([...readFileSync(join(FIXTURES, `${name}.data`))]);
    const [stats] = (await tab.evaluate(
      `window.read(new File([Uint8Array.from(${bytes})], 'perf.data'))`,
    )) as { samples: number; damage: object[] }[];
    assert.deepEqual(stats?.damage, [], name);
    answers.push({ samples: stats.samples, requests: requests.slice(before) });
  }
  return answers;
}

function assertAnswers(answers: readonly { samples: number; requests: string[] }[]): void {
  const [plain, compressed] = answers;
  assert.ok(plain !== undefined && compressed !== undefined);
  assert.ok(plain.samples > 0);
  assert.equal(compressed.samples, plain.samples);
  assert.deepEqual(plain.requests, []);
  assert.ok(
    compressed.requests.some((path) => path.includes('zstd')),
    'the decompressor comes with the first compressed recording',
  );
}

test('the example of the README, by esbuild', { skip }, async (t) => {
  const out = join(folder, 'by-esbuild');
  await bundleByEsbuild(out);
  assertAnswers(await readIn(t, out));
});

test('the example of the README, by Vite', { skip }, async (t) => {
  const out = join(folder, 'by-vite');
  await bundleByVite(out);
  assertAnswers(await readIn(t, out));
});

/** The path is random; that it is found again shows that worker, code and names are what the README says. */
test('the raw trace of the README of @counterpoint/trace, by Vite, with its workers', {
  skip: skip || lacksProgram,
}, async (t) => {
  const program = memorySource(new Uint8Array(readFileSync(PROGRAM)));
  const image = new CodeImage();
  await addElf(image, program, { name: PROGRAM });
  const elf = await openElf(program);
  const text = findSection(elf, '.text')!;
  const entries = calledFunctions((await readSectionBytes(elf, text))!, BigInt(text.address));
  const encoder = new ExecutionEncoder(image, new RandomWalk({ entries }));
  const trace = Buffer.concat([...encoder.chunks({ bytes: 300_000 })]);

  const from = join(folder, 'trace');
  mkdirSync(from);
  symlinkSync(join(folder, 'node_modules'), join(from, 'node_modules'));
  writeFileSync(join(from, 'package.json'), '{ "type": "module", "private": true }');
  writeFileSync(join(from, 'index.html'), readFileSync(join(folder, 'index.html')));
  const example = page('packages/trace/README.md', "'@counterpoint/trace'", 'file, trace');
  assert.match(example, /intel-pt-worker/);
  writeFileSync(join(from, 'page.js'), example);
  const out = join(folder, 'trace-by-vite');
  await bundleByVite(out, from);
  copyFileSync(PROGRAM, join(out, 'program'));
  writeFileSync(join(out, 'trace'), trace);

  const { tab, requests } = await openPage(t, out);
  const [totals, errors, rows] =
    (await tab.evaluate(`Promise.all(['program', 'trace'].map(async (name) => (await fetch(name)).blob()))
    .then(async ([program, trace]) => window.read(new File([program], 'program'), new Uint8Array(await trace.arrayBuffer())))`)) as [
      { instructions: number; calls: number },
      object[],
      { symbol: string }[],
    ];
  const { instructions, calls } = encoder.truth;
  assert.ok(instructions > 100_000);
  assert.deepEqual([totals.instructions, totals.calls, errors], [instructions, calls, []]);
  assert.ok(rows.length > 0);
  assert.equal(requests.filter((path) => path.includes('intel-pt-worker')).length, 2);
});

function assertSmall(t: TestContext, files: readonly string[], most: number, mostZipped: number): void {
  const text = files.map((file) => readFileSync(file, 'utf8')).join('\n');
  const [bytes, zipped] = [Buffer.byteLength(text), gzipSync(text).length];
  t.diagnostic(`${bytes} bytes, ${zipped} by gzip`);
  assert.ok(bytes <= most, `${bytes} bytes, at most ${most}`);
  assert.ok(zipped <= mostZipped, `${zipped} bytes by gzip, at most ${mostZipped}`);
}

test('what reads a recording and counts is small as one file', async (t) => {
  const files = await bundleByEsbuild(join(folder, 'one-file'), false);
  assert.equal(files.length, 1);
  assertSmall(t, files, MAX_BYTES, MAX_GZIP_BYTES);
});

test('where the bundler splits, the decompressor is not loaded at once', async (t) => {
  const files = await bundleByEsbuild(join(folder, 'split'));
  assertSmall(t, files, MAX_BYTES_AT_ONCE, MAX_GZIP_BYTES_AT_ONCE);
});
