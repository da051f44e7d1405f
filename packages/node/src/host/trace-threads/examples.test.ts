/** The examples of the repository and the commands of docs/intel-pt.md: what they find is what was walked. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { extname, join, resolve } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { commandLineProcess } from '../../test/command-line.ts';

/** The half minute that is usual is soon over where others have the machine. */
const PATIENCE_MS = 180_000;

const ROOT = fileURLToPath(new URL('../../../../../', import.meta.url));
const EXAMPLES = join(ROOT, 'examples/intel-pt');
const SOURCES = ['--import', import.meta.resolve('tsx'), '--conditions=counterpoint-source'];
const folder = mkdtempSync(join(tmpdir(), 'counterpoint-intel-pt-'));
after(() => rmSync(folder, { recursive: true }));
const skip =
  process.arch === 'x64' ? false : 'the program that is walked through is this one, and must be for x86-64';

const notBuilt =
  existsSync(join(ROOT, 'packages/core/dist/index.js')) &&
  existsSync(join(ROOT, 'packages/node/dist/index.js'))
    ? false
    : 'the packages are not built: npm run build';

/** Runs in `folder`; its standard output. */
function run(program: string, ...words: string[]): string {
  const { status, stdout, stderr } = spawnSync(program, words, {
    cwd: folder,
    encoding: 'utf8',
    timeout: 100_000,
  });
  assert.equal(status, 0, stderr);
  return stdout;
}

/** Node itself has symbols, and is wherever these tests run. */
symlinkSync(process.execPath, join(folder, 'node'));
let truth: { instructions: string; calls: string; hash: string } | null = null;

/** Walked once, for all tests. */
function walked(): NonNullable<typeof truth> {
  if (truth === null) {
    const told = run(process.execPath, ...SOURCES, join(EXAMPLES, 'make-trace.js'), 'node', 'walk.pt', '1');
    const [, instructions, calls, hash] =
      /^walk\.pt: (\d+) instructions, (\d+) calls, address hash (0x[0-9a-f]{8})$/m.exec(told) ??
      assert.fail(told);
    truth = { instructions: instructions!, calls: calls!, hash: hash! };
  }
  return truth;
}

/** From the sources, and as it is built: there each package has its own copy of what they share. */
for (const [name, words] of [
  ['from sources', SOURCES],
  ['built', []],
] as const)
  test(`make-trace and profile, ${name}`, { skip: skip || (words.length === 0 && notBuilt) }, () => {
    const { instructions, hash } = walked();
    const found = run(process.execPath, ...words, join(EXAMPLES, 'profile.js'), 'node', 'walk.pt');
    assert.match(found, new RegExp(`^${instructions} instructions, address hash ${hash}$`, 'm'));
    assert.equal(found.match(/^ *[\d.]+% {2}\S/gm)?.length, 5, found);
    assert.match(found, /^\S.*: (\d+) calls, half of them within \d+ ticks of the TSC$/m);
  });

test('what is no program, no trace, or another program is said in a sentence', { skip }, () => {
  walked();
  // A start from the sources takes some seconds.
  const options = notBuilt === false ? [] : SOURCES;
  writeFileSync(join(folder, 'text'), 'this is no program');
  for (const [words, pattern] of [
    [['make-trace.js', 'text', 'none.pt'], /^no trace of text was made: .*ELF/],
    [['make-trace.js', 'absent', 'none.pt'], /^no trace of absent was made: .*no such file/],
    [['make-trace.js', 'node'], /^usage:/],
    [['profile.js', 'node', 'text'], /^nothing was decoded: is text a trace/],
  ] as const) {
    const [example, ...rest] = words;
    const { status, stderr } = spawnSync(process.execPath, [...options, join(EXAMPLES, example), ...rest], {
      cwd: folder,
      encoding: 'utf8',
      timeout: 100_000,
    });
    assert.notEqual(status, 0);
    assert.match(stderr, pattern);
    assert.doesNotMatch(stderr, /^ +at /m);
  }
});

test('the commands of docs/intel-pt.md', { skip }, () => {
  const { instructions, calls, hash } = walked();
  const text = readFileSync(join(ROOT, 'docs/intel-pt.md'), 'utf8');
  const lines = [...text.matchAll(/^\$ counterpoint (pt .*)$/gm)].map(([, line]) => line!);
  assert.ok(lines.length >= 6, lines.join('\n'));
  for (const line of lines) {
    const [command = ''] = line.split(' | ');
    run(process.execPath, ...commandLineProcess(), ...command.split(/\s+/));
  }
  const profile = ['pt', 'profile', '--json', '--hash', '--elf', 'node', 'walk.pt'];
  const answer = JSON.parse(run(process.execPath, ...commandLineProcess(), ...profile));
  assert.deepEqual(
    [answer.instructions, answer.calls, answer.addressHash, answer.errors],
    [instructions, calls, hash, []],
  );
});

const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(
  existsSync,
);
const TYPES: Record<string, string> = { '.html': 'text/html', '.js': 'text/javascript' };
const isBuilt = existsSync(join(ROOT, 'packages/trace/dist/intel-pt-worker.js'));

test('the page', {
  skip: skip || (CHROMIUM === undefined ? 'no Chromium here' : !isBuilt && 'needs npm run build'),
}, async (t) => {
  const { instructions } = walked();
  const server = createServer((request, response) => {
    const path = join(ROOT, new URL(request.url ?? '/', 'http://localhost').pathname);
    const file = path.endsWith('/') ? `${path}index.html` : path;
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
  const page = await browser.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  const problems: string[] = [];
  page.on('pageerror', (error) => problems.push(String(error)));
  await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/examples/intel-pt/browser/`);
  await page.click('#decode');
  await page.waitForFunction('document.getElementById("summary").textContent !== ""');
  assert.match((await page.textContent('#summary')) ?? '', /^Choose a program/);
  await page.setInputFiles('#program', join(folder, 'node'));
  await page.setInputFiles('#trace', join(folder, 'walk.pt'));
  await page.click('#decode');
  await page.waitForFunction(
    'document.querySelectorAll("#functions tr").length > 0 || document.getElementById("summary").textContent.length > 60',
    undefined,
    { timeout: PATIENCE_MS },
  );
  const summary = (await page.textContent('#summary')) ?? '';
  const expected = Number(instructions).toLocaleString('en');
  assert.ok(summary.startsWith(`${expected} instructions in `) && summary.endsWith('no errors.'), summary);
  assert.equal(await page.locator('#functions tr').count(), 20);
  // Nothing of it is left beside what is said of other files.
  writeFileSync(join(folder, 'empty.pt'), '');
  writeFileSync(join(folder, 'text'), 'this is no program');
  for (const [program, trace, pattern] of [
    ['node', 'empty.pt', /^empty\.pt is no Intel PT trace, or it is empty\.$/],
    ['node', 'text', /^text is no Intel PT trace/],
    ['text', 'walk.pt', /^text is no program/],
    ['/bin/true', 'walk.pt', /^No address of walk\.pt is in true: /],
  ] as const) {
    await page.setInputFiles('#program', resolve(folder, program));
    await page.setInputFiles('#trace', join(folder, trace));
    await page.evaluate('document.getElementById("summary").textContent = ""');
    await page.click('#decode');
    await page.waitForFunction('document.getElementById("summary").textContent !== ""');
    assert.match((await page.textContent('#summary')) ?? '', pattern);
    assert.equal(await page.locator('#functions tr').count(), 0);
  }
  assert.deepEqual(problems, []);
});
