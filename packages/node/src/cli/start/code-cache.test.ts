import assert from 'node:assert/strict';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { cacheFolder, readCachedCode, writeCachedCode } from './code-cache.ts';

const root = mkdtempSync(join(tmpdir(), 'counterpoint-code-'));
after(() => rmSync(root, { recursive: true }));
let count = 0;

/** A new home folder, and where the code of a verb would be. */
function newPath(): string {
  const home = join(root, `home ${count++}`);
  mkdirSync(home);
  return join(cacheFolder('build', { HOME: home })!, 'record-1');
}

const CODE = Buffer.from(Array.from({ length: 50_001 }, (_, at) => (at * 7919) & 0xff));

test('the folder is where the user keeps such files, by the same variables as of Node', () => {
  assert.equal(cacheFolder('b', { HOME: '/home/a' }), '/home/a/.cache/counterpoint/code-b');
  assert.equal(cacheFolder('b', { HOME: '/home/a', XDG_CACHE_HOME: '/x' }), '/x/counterpoint/code-b');
  assert.equal(
    cacheFolder('b', { NODE_COMPILE_CACHE: '/n', XDG_CACHE_HOME: '/x' }),
    '/n/counterpoint/code-b',
  );
  assert.equal(cacheFolder('b', { HOME: '/home/a', NODE_DISABLE_COMPILE_CACHE: '1' }), null);
  assert.equal(cacheFolder('b', {}), null);
  assert.equal(cacheFolder('b', { XDG_CACHE_HOME: 'relative' }), null);
});

test('what is written is read, by this user alone', () => {
  const path = newPath();
  assert.equal(readCachedCode(path), null);
  writeCachedCode(path, CODE, ['-F', 'node']);
  const { bytes, marks } = readCachedCode(path)!;
  assert.ok(bytes.equals(CODE));
  assert.deepEqual(marks, ['-F', 'node']);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.deepEqual(readdirSync(dirname(path)), ['record-1']);
  writeCachedCode(path, CODE.subarray(0, 4000), []);
  assert.deepEqual([readCachedCode(path)!.bytes.length, readCachedCode(path)!.marks], [4000, []]);
});

test('files that are cut, or have pages of zeros, are not used', () => {
  const path = newPath();
  writeCachedCode(path, CODE, []);
  const whole = readFileSync(path);
  for (const size of [0, 10, 4096, 5000, whole.length - 1]) {
    writeFileSync(path, whole.subarray(0, size));
    assert.equal(readCachedCode(path), null, `${size} bytes`);
  }
  for (let page = 0; page < whole.length; page += 4096) {
    const damaged = Buffer.from(whole);
    damaged.fill(0, page, Math.min(page + 4096, damaged.length));
    writeFileSync(path, damaged);
    assert.equal(readCachedCode(path), null, `the page at ${page}`);
  }
  writeFileSync(path, whole);
  assert.ok(readCachedCode(path) !== null);
});

test('what others may have written is not used', () => {
  const path = newPath();
  writeCachedCode(path, CODE, []);
  for (const place of [path, dirname(path), dirname(dirname(path))]) {
    const { mode } = statSync(place);
    chmodSync(place, mode | 0o020);
    assert.equal(readCachedCode(path), null, `${place} is writable for others`);
    chmodSync(place, mode);
    assert.ok(readCachedCode(path) !== null);
  }
  const link = join(dirname(path), 'link');
  symlinkSync(path, link);
  assert.equal(readCachedCode(link), null);
});

test('nothing is written below a folder of another user, or where there is no room for a file', (t) => {
  const path = newPath();
  writeFileSync(dirname(dirname(dirname(path))), 'a file where the folder would be');
  writeCachedCode(path, CODE, []);
  assert.equal(readCachedCode(path), null);
  if (process.geteuid?.() !== 0) return t.diagnostic('only root can pretend to be another user');
  const theirs = newPath();
  process.seteuid!(65_534);
  try {
    writeCachedCode(theirs, CODE, []);
  } finally {
    process.seteuid!(0);
  }
  assert.ok(!existsSync(theirs));
});

test('code of other builds goes when nobody has written it for a month', () => {
  const path = newPath();
  const own = dirname(dirname(path));
  for (const [name, days] of [
    ['code-old', 40],
    ['code-new', 1],
    ['events', 400],
  ] as const) {
    mkdirSync(join(own, name), { recursive: true });
    writeFileSync(join(own, name, 'file'), '');
    const time = new Date(Date.now() - days * 86_400_000);
    utimesSync(join(own, name), time, time);
  }
  writeCachedCode(path, CODE, []);
  assert.deepEqual(readdirSync(own).sort(), ['code-build', 'code-new', 'events']);
});

test('of many versions and flags, and of many builds, the newest are kept', () => {
  const path = newPath();
  const own = dirname(dirname(path));
  for (let count = 0; count < 6; count++) mkdirSync(join(own, `code-${count}`), { recursive: true });
  for (let count = 0; count < 20; count++) {
    writeCachedCode(`${path}-${count}`, CODE, []);
    const time = new Date(Date.now() - 1000 * (100 - count));
    utimesSync(`${path}-${count}`, time, time);
  }
  writeCachedCode(path, CODE, []);
  const files = readdirSync(dirname(path));
  assert.equal(files.length, 16);
  assert.ok(files.includes('record-1') && files.includes('record-1-19') && !files.includes('record-1-3'));
  assert.equal(readdirSync(own).length, 4);
});
