/** The cache of binaries, beside perf's on the same files, and each with what the other wrote. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, test } from 'node:test';
import { BuildIdCache } from '../../../host/build-id-cache/index.ts';
import { counterpoint } from '../../../test/command-line.ts';
import { perf, perfIsMissing, temporaryFolder } from '../../../test/perf.ts';

const PROGRAMS = ['/bin/ls', '/bin/cat'];

/** Ours in this process and perf's in its own, in one folder each. */
function inFolder<Result>(folder: string, work: () => Result): Result {
  const before = process.env['PERF_BUILDID_DIR'];
  const restore = () => {
    if (before === undefined) delete process.env['PERF_BUILDID_DIR'];
    else process.env['PERF_BUILDID_DIR'] = before;
  };
  process.env['PERF_BUILDID_DIR'] = folder;
  const result = work();
  if (result instanceof Promise) return result.finally(restore) as Result;
  restore();
  return result;
}

const ours = (folder: string, ...words: string[]) =>
  inFolder(folder, () => counterpoint('buildid-cache', ...words));
const theirs = (folder: string, ...words: string[]) =>
  perf('--buildid-dir', folder, 'buildid-cache', ...words);

/** Files and links below a folder; perf's file of probes is empty here. */
function treeOf(folder: string, below = ''): string[] {
  return readdirSync(join(folder, below), { withFileTypes: true })
    .flatMap((entry) => {
      const path = join(below, entry.name);
      return entry.isDirectory() ? treeOf(folder, path) : entry.name === 'probes' ? [] : [path];
    })
    .sort();
}

describe('the folder is as perf makes it', { skip: perfIsMissing() }, () => {
  let folders: { our: string; their: string };
  beforeEach((t) => {
    const folder = temporaryFolder(t as never);
    folders = { our: join(folder, 'ours'), their: join(folder, 'theirs') };
  });

  test('added, listed, removed, purged: by each in the folder of the other', async () => {
    const { our, their } = folders;
    const added = await ours(our, '-a', PROGRAMS.join(','));
    assert.deepEqual(added, { status: 0, out: '', err: '' });
    theirs(their, '-a', PROGRAMS.join(','));
    assert.deepEqual(treeOf(our), treeOf(their));
    assert.equal(treeOf(our).length, 4);
    for (const file of treeOf(our).filter((path) => path.endsWith('/elf')))
      assert.deepEqual(readFileSync(join(our, file)), readFileSync(join(their, file)));
    assert.equal((await ours(their, '-l')).out, theirs(their, '-l'));
    assert.equal((await ours(our, '-l')).out, theirs(our, '-l'));

    theirs(our, '-r', '/bin/ls');
    assert.match((await ours(our, '-l')).out, /^[0-9a-f]{40} \/usr\/bin\/cat\n$/);
    assert.equal((await ours(their, '-r', '/bin/ls')).status, 0);
    assert.equal(theirs(their, '-l'), (await ours(our, '-l')).out);
    assert.equal((await ours(their, '-p', '/bin/cat')).status, 0);
    assert.equal(theirs(their, '-l'), '');
    assert.ok(!existsSync(join(their, 'usr')), 'no empty folders are left');
    assert.equal((await ours(our, '-P')).status, 0);
    assert.equal(theirs(our, '-l'), '');
  });

  test('which binaries of a recording are missing', async (t) => {
    const { our } = folders;
    const data = join(temporaryFolder(t), 'perf.data');
    perf('record', '-q', '-N', '-e', 'cpu-clock', '-c', '10000', '-o', data, '--', 'ls', '/usr/bin');
    const missing = async () => (await ours(our, '-M', data)).out.trimEnd().split('\n').sort();
    const all = theirs(our, '-M', data).trimEnd().split('\n').sort();
    assert.deepEqual(await missing(), all);
    assert.ok(
      all.some((line) => line.endsWith(' /usr/bin/ls')),
      all.join('\n'),
    );
    await ours(our, '-a', '/bin/ls');
    assert.deepEqual(
      await missing(),
      all.filter((line) => !line.endsWith(' /usr/bin/ls')),
    );
  });
});

test('what has no build id, or is not in the cache, is told with status 1', async (t) => {
  const folder = temporaryFolder(t);
  const text = join(folder, 'text');
  writeFileSync(text, 'no program\n');
  const cases: [string[], RegExp][] = [
    [['-a', text], /text: it is not an ELF file/],
    [['-a', join(folder, 'nothing')], /nothing/],
    [['-r', '/bin/ls'], /\/bin\/ls: the cache has no binary with its build id/],
    [['-p', '/bin/ls'], /\/bin\/ls: the cache has no binary that was there/],
  ];
  for (const [words, message] of cases) {
    const { status, out, err } = await ours(join(folder, 'cache'), ...words);
    assert.deepEqual([status, out], [1, ''], words.join(' '));
    assert.match(err, message);
  }
  assert.equal((await ours(folder)).status, 129);
  const json = JSON.parse((await ours(join(folder, 'cache'), '-l', '--json')).out);
  assert.deepEqual(json, { type: 'build-ids', version: 1, binaries: [] });
});

test('the copy stays what it was when the program is written anew in its place', async (t) => {
  const folder = temporaryFolder(t);
  const program = join(folder, 'program');
  copyFileSync('/bin/ls', program);
  await ours(join(folder, 'cache'), '-a', program);
  writeFileSync(program, readFileSync('/bin/cat'));
  const [elf] = treeOf(join(folder, 'cache')).filter((path) => path.endsWith('/elf'));
  assert.deepEqual(readFileSync(join(folder, 'cache', elf!)), readFileSync('/bin/ls'));
});

test('what was used last the longest time ago goes first', async (t) => {
  const cache = new BuildIdCache(join(temporaryFolder(t), 'cache'));
  const binary = (digit: string) => ({ buildId: digit.repeat(40), path: `/opt/${digit}` });
  for (const digit of ['a', 'b', 'c']) cache.add(binary(digit), new Uint8Array(1000));
  for (const [digit, time] of [
    ['a', 30],
    ['b', 10],
    ['c', 20],
  ] as const)
    spawnSync('touch', ['-d', `@${time}`, join(cache.folder, 'opt', digit, digit.repeat(40))]);
  const removed = cache.trim(2500).map(({ path }) => path);
  assert.deepEqual(removed, ['/opt/b']);
  assert.deepEqual(cache.list(), [binary('a'), binary('c')]);
  // A second use makes it the newest.
  assert.equal(cache.add(binary('c'), new Uint8Array(1000)), false);
  cache.trim(1000);
  assert.deepEqual(cache.list(), [binary('c')]);
});

test('names and links that lead out of the cache write and remove nothing there', async (t) => {
  const folder = temporaryFolder(t);
  const cache = new BuildIdCache(join(folder, 'cache'));
  const victim = join(folder, 'victim', 'f'.repeat(40));
  mkdirSync(victim, { recursive: true });
  writeFileSync(join(victim, 'elf'), 'precious');
  const links = join(cache.folder, '.build-id', 'ff');
  mkdirSync(links, { recursive: true });
  symlinkSync(`../../../victim/${'f'.repeat(40)}`, join(links, 'f'.repeat(38)));
  assert.deepEqual(cache.list(), []);
  assert.equal(cache.remove('f'.repeat(40)), false);
  cache.add({ buildId: 'e'.repeat(40), path: '../../victim/../../x' }, new Uint8Array(1));
  assert.throws(() => cache.add({ buildId: '../../../victim', path: '/x' }, new Uint8Array(1)));
  assert.deepEqual(readdirSync(folder).sort(), ['cache', 'victim']);
  assert.equal(readFileSync(join(victim, 'elf'), 'utf8'), 'precious');
  assert.equal(cache.list()[0]?.path, '/x');
});
