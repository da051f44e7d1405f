/** A recording that lasts: names, lines and sources out of an archive when everything else is gone. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { counterpoint } from '../../../test/command-line.ts';
import { perf, perfIsMissing } from '../../../test/perf.ts';

const hasCompiler = spawnSync('gcc', ['--version']).error === undefined;
const skip = perfIsMissing() || (hasCompiler ? false : 'gcc is not installed');

const SOURCE = `volatile long sum;
__attribute__((noinline)) static void hot(long n) {
  for (long i = 0; i < n; i++)
    sum += i;
}
int main(void) {
  hot(60000000);
  return 0;
}
`;

describe('archive', { skip }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'counterpoint-test-'));
  const [program, source, data] = ['program', 'program.c', 'perf.data'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  const packed = `${data}.tar.gz`;
  const cacheBefore = process.env['PERF_BUILDID_DIR'];
  const inCache = (name: string) => {
    process.env['PERF_BUILDID_DIR'] = join(folder, name);
    return join(folder, name);
  };
  const report = async (path: string, ...words: string[]) => {
    const { out, err, status } = await counterpoint('report', '-i', path, '--no-children', '-q', ...words);
    assert.equal(status, 0, err);
    return out;
  };
  const namesOfPerf = (cache: string) =>
    perf('--buildid-dir', cache, 'report', '-i', data, '--stdio', '-s', 'sym', '-g', 'none');
  const recorded: Record<string, string> = {};
  const VIEWS = [['-s', 'dso,sym'], ['-s', 'srcline'], ['--tree']] as const;

  after(() => {
    rmSync(folder, { recursive: true, force: true });
    if (cacheBefore === undefined) delete process.env['PERF_BUILDID_DIR'];
    else process.env['PERF_BUILDID_DIR'] = cacheBefore;
  });

  before(async () => {
    writeFileSync(source, SOURCE);
    execFileSync('gcc', ['-O1', '-g', '-fno-omit-frame-pointer', '-Wl,--build-id', '-o', program, source]);
    perf(
      '--buildid-dir',
      inCache('first'),
      'record',
      '-q',
      '-g',
      '-e',
      'cpu-clock',
      '-F',
      '999',
      '-o',
      data,
      '--',
      program,
    );
    for (const words of VIEWS) recorded[words.join()] = await report(data, ...words);
    const { out, err, status } = await counterpoint('archive', '--sources', data);
    assert.equal(status, 0, err);
    assert.match(out, /perf\.data\.tar\.gz: the recording, \d+ binaries/);
    // perf's own, while its cache is there.
    perf('--buildid-dir', join(folder, 'first'), 'archive', data);
    for (const path of [program, source, join(folder, 'first')]) rmSync(path, { recursive: true });
    inCache('empty');
  });

  test('names, lines and trees are those of the day, without program, source and cache', async () => {
    assert.doesNotMatch(await report(data, '-s', 'dso,sym'), /\bhot\b/);
    assert.match(recorded['-s,dso,sym']!, /program\s+\[\.\] hot/);
    assert.match(recorded['-s,srcline']!, /program\.c:4/);
    for (const words of VIEWS) assert.equal(await report(packed, ...words), recorded[words.join()]);
    const { out } = await counterpoint('annotate', '-i', packed, 'hot');
    assert.match(out, /sum \+= i;/);
    assert.deepEqual(
      readdirSync(folder).filter((name) => name === 'empty'),
      [],
    );
  });

  test('perf finds its names after tar xf', () => {
    const place = inCache('unpacked-by-tar');
    mkdirSync(place);
    execFileSync('tar', ['xf', packed, '-C', place]);
    assert.match(namesOfPerf(place), /\] hot/);
    assert.doesNotMatch(namesOfPerf(inCache('empty')), /\] hot/);
  });

  for (const [name, path] of [
    ['ours', packed],
    ['perf’s', `${data}.tar.bz2`],
  ] as const)
    test(`--unpack of ${name} fills the cache for both`, async () => {
      const cache = inCache(`unpacked ${name}`);
      const { out, err, status } = await counterpoint('archive', '--unpack', path);
      assert.equal(status, 0, err);
      assert.match(out, /[1-9]\d* files added/);
      assert.match(await report(data, '-s', 'sym'), /\] hot/);
      assert.match(namesOfPerf(cache), /\] hot/);
      assert.match((await counterpoint('archive', '--unpack', path)).out, /^0 files added/);
    });

  test('an archive of perf has no recording, and says what to do', async () => {
    const { err, status } = await counterpoint('report', '-i', `${data}.tar.bz2`);
    assert.equal(status, 1);
    assert.match(err, /archive --unpack/);
  });

  test('an archive of an enemy: no file outside of the cache, no binary under the build id of another', async () => {
    const id = 'ab'.repeat(20);
    const enemy = join(folder, 'enemy');
    const outside = join(folder, 'outside');
    mkdirSync(join(enemy, '.build-id', 'ab'), { recursive: true });
    mkdirSync(join(enemy, 'usr', 'bin', 'ls', id), { recursive: true });
    writeFileSync(join(enemy, 'usr', 'bin', 'ls', id, 'elf'), 'not that binary');
    symlinkSync(`../../usr/bin/ls/${id}`, join(enemy, '.build-id', 'ab', id.slice(2)));
    const path = join(folder, 'enemy.tar');
    execFileSync('tar', [
      'cPf',
      path,
      '--transform',
      `s,^usr,../../../${outside},`,
      '-C',
      enemy,
      '.build-id',
      'usr',
    ]);
    const cache = inCache('attacked');
    const first = await counterpoint('archive', '--unpack', path);
    assert.notEqual(first.status, 0);
    execFileSync('tar', ['cf', path, '-C', enemy, '.']);
    const second = await counterpoint('archive', '--unpack', path);
    assert.equal(second.status, 1);
    assert.match(second.err, /its build id is not abab/);
    assert.equal(existsSync(outside) || existsSync(cache), false);
  });

  test('what cannot be an archive is refused', async () => {
    const noise = join(folder, 'noise');
    writeFileSync(noise, 'x'.repeat(2000));
    assert.match((await counterpoint('archive', '--unpack', noise)).err, /is no archive/);
    assert.equal((await counterpoint('archive', '--unpack', noise, '-o', 'x')).status, 129);
    assert.equal((await counterpoint('archive', '-i', '-')).status, 129);
  });
});
