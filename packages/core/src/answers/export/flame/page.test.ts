import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { type Browser, chromium, type Page } from 'playwright-core';
import type { Profile } from '../../../profile/tables/index.ts';
import { collectBytes } from '../../../test/collect.ts';
import { bigProfile, hostileProfile, smallProfile } from '../../../test/example-profile.ts';
import { writeFlameSvg } from './svg.ts';

/** The half minute that is usual is soon over where others have the machine. */
const PATIENCE_MS = 180_000;

/** Debian's Chromium, or the one that `CHROMIUM` names. */
const program = [process.env.CHROMIUM, '/usr/bin/chromium'].find(
  (path) => path !== undefined && existsSync(path),
);
const skip = program === undefined ? 'Chromium is not installed' : false;

let browser: Browser;
let folder: string;
/** Everything that went wrong in a page: errors, and requests for anything but files. */
const problems: string[] = [];

before(async () => {
  if (program === undefined) return;
  folder = mkdtempSync(join(tmpdir(), 'counterpoint-flame-'));
  browser = await chromium.launch({
    executablePath: program,
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-background-networking'],
  });
  const write = (name: string, bytes: Uint8Array | string) => writeFileSync(join(folder, name), bytes);
  write('small.svg', collectBytes(writeFlameSvg(smallProfile())));
  write('hostile.svg', collectBytes(writeFlameSvg(hostileProfile())));
  write('big.svg', collectBytes(writeFlameSvg(bigProfile(60_000, 30_000))));
  write('compared.svg', collectBytes(writeFlameSvg(smallProfile(), { before: twiceProfile() })));
  write('image.html', '<img src="small.svg">');
});

after(async () => {
  await browser?.close();
  if (folder !== undefined) rmSync(folder, { recursive: true });
});

/** The small profile with a hundred times the weight in its first sample's stack. */
function twiceProfile(): Profile {
  const profile = smallProfile();
  profile.samples.weight.data[0]! *= 100;
  return profile;
}

async function open(name: string, colorScheme: 'light' | 'dark' = 'light'): Promise<Page> {
  const page = await browser.newPage({ viewport: { width: 1000, height: 640 }, colorScheme });
  page.setDefaultTimeout(PATIENCE_MS);
  page.on('pageerror', (error) => problems.push(`${name}: ${error.message}`));
  page.on('request', (request) => {
    if (!request.url().startsWith('file:')) problems.push(`${name} asks for ${request.url()}`);
  });
  await page.goto(pathToFileURL(join(folder, name)).href);
  return page;
}

/** Middle of the first box with this text. */
async function boxAt(page: Page, text: string): Promise<{ x: number; y: number }> {
  const box = await page.locator('.names text', { hasText: text }).first().boundingBox();
  assert.notEqual(box, null, `no box "${text}"`);
  return { x: box!.x + 5, y: box!.y + box!.height / 2 };
}

/** As it is rendered. */
const textOf = async (page: Page, selector: string) =>
  (await page.locator(selector).allInnerTexts()).join('');

const namesIn = (page: Page) => page.locator('.names text').allTextContents();

test('the page takes over from the still picture and says what was lost', { skip }, async () => {
  const page = await open('small.svg');
  assert.equal(await page.locator('#still').count(), 0);
  assert.match(await textOf(page, '.loss'), /^Incomplete: 1,204 records \(samples and others\) lost/);
  assert.equal(await textOf(page, '.words .title'), 'node');
  assert.ok((await namesIn(page)).includes('fib demo.js:3 *'));
  await page.close();
});

test('a tooltip names the function, its place, tier, binary and shares', { skip }, async () => {
  const page = await open('small.svg');
  const { x, y } = await boxAt(page, 'fib');
  await page.mouse.move(x, y);
  const words = await textOf(page, '.tip');
  for (const part of [
    'fib',
    '/app/demo.js:3:13',
    '/tmp/perf-4242.map',
    'optimised by TurboFan (*)',
    'of all',
    'of caller',
  ]) {
    assert.ok(words.includes(part), `${part} in ${words}`);
  }
  assert.match(words, /time\s+13\.0 ms\s+samples\s+52\s+of all\s+43\.0%\s+of caller\s+57\.8%/);
  await page.mouse.move(x, 5);
  assert.equal(await page.locator('.tip').isVisible(), false);
  await page.close();
});

test('a click zooms, breadcrumbs and Escape lead back', { skip }, async () => {
  const page = await open('small.svg');
  const all = await namesIn(page);
  const { x, y } = await boxAt(page, 'run');
  await page.mouse.click(x, y);
  assert.deepEqual(await page.locator('.crumbs button').allTextContents(), [
    'all',
    'node',
    '__libc_start_main',
    'node::Start(int, char**)',
    'run',
  ]);
  assert.ok(!(await namesIn(page)).some((name) => name.startsWith('DelayedTask')));
  await page.locator('.crumbs button', { hasText: '__libc_start_main' }).click();
  assert.equal(await page.locator('.crumbs button').count(), 3);
  await page.keyboard.press('Escape');
  assert.deepEqual(await namesIn(page), all);
  await page.close();
});

test('search by text and by expression: share, marks, errors, next match, Escape', { skip }, async () => {
  const page = await open('small.svg');
  const found = () => textOf(page, '.found');
  await page.keyboard.press('/');
  await page.keyboard.type('FIB');
  assert.equal(await found(), 'matched 43.0%');
  await page.keyboard.press('Enter');
  assert.match(await textOf(page, '.tip'), /^fib/);
  await page.locator('input').fill('^(sort|vfs_)');
  assert.equal(await found(), 'no match');
  await page.locator('button[title="Regular expression"]').click();
  assert.equal(await found(), 'matched 36.4% in 3 places');
  assert.notEqual(await page.locator('path.hit').getAttribute('d'), '');
  await page.locator('input').fill('(');
  assert.equal(await found(), 'not a regular expression');
  await page.keyboard.press('Escape');
  assert.equal(await page.evaluate(`document.querySelector('input').value`), '');
  assert.equal(await page.locator('path.hit').getAttribute('d'), '');
  await page.close();
});

test('arrows move, Enter zooms, i turns the picture over', { skip }, async () => {
  const page = await open('small.svg');
  for (const key of ['ArrowUp', 'ArrowRight', 'ArrowUp']) await page.keyboard.press(key);
  assert.match(await textOf(page, '.tip'), /^read\n/);
  await page.keyboard.press('Enter');
  assert.deepEqual(await page.locator('.crumbs button').allTextContents(), [
    'all',
    'DelayedTaskSche',
    'read',
  ]);
  const below = (await boxAt(page, 'all')).y;
  await page.keyboard.press('i');
  assert.ok((await boxAt(page, 'all')).y < below - 100);
  await page.close();
});

test('hostile names are text', { skip }, async () => {
  const page = await open('hostile.svg', 'dark');
  page.on('dialog', () => problems.push('a name was run as a script'));
  assert.equal(await page.locator('script').count(), 2);
  await page.locator('input').fill('alert(1)');
  assert.match(await textOf(page, '.found'), /^matched 6\.\d+%$/);
  await page.close();
});

test('forty thousand boxes are redrawn at once', { skip }, async () => {
  const page = await open('big.svg');
  // As text: the DOM is no part of this project.
  const spent = await page.evaluate<number>(`
    const started = performance.now();
    for (let turn = 0; turn < 10; turn++) document.dispatchEvent(new KeyboardEvent('keydown', { key: 'i' }));
    (performance.now() - started) / 10`);
  assert.ok(spent < 200, `${spent} ms for a redraw`);
  await page.close();
});

test('inside <img> it is a picture', { skip }, async () => {
  const page = await open('image.html');
  const size = await page.locator('img').boundingBox();
  assert.equal(size!.width, 1200);
  assert.ok(size!.height > 200);
  await page.close();
});

test('no page had an error or asked for anything', { skip }, () => {
  assert.deepEqual(problems, []);
});

test('two recordings: a box tells both of its shares, and what grew and shrank has its colour', {
  skip,
}, async () => {
  const page = await open('compared.svg');
  assert.match(await textOf(page, '.words .command'), /^before: .* · after: /);
  const { x, y } = await boxAt(page, 'fib');
  await page.mouse.move(x, y);
  assert.match(
    await textOf(page, '.tiptable'),
    /before[\s\S]*%[\s\S]*after[\s\S]*%[\s\S]*change[\s\S]*percentage points/,
  );
  assert.match(await textOf(page, '.foot .legend'), /shrank[\s\S]*no more than chance[\s\S]*grew/);
  await page.close();
});
