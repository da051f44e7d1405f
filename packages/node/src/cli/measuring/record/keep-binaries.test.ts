/**
 * What `record` keeps in perf's cache names the samples after the program was built anew, here and in perf.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { BuildIdCache } from '../../../host/build-id-cache/index.ts';
import { counterpoint } from '../../../test/command-line.ts';
import { perfIsMissing, temporaryFolder } from '../../../test/perf.ts';

const hasCompiler = spawnSync('gcc', ['--version']).status === 0;
delete process.env['PERF_BUILDID_DIR'];

const skip = perfIsMissing() || (hasCompiler ? false : 'gcc is not installed');

/** A program that stays in one function for a while. */
function build(folder: string, functionName: string, ...flags: string[]): string {
  const source = join(folder, 'busy.c');
  // Other code before it: the same addresses are another function's in the new program.
  const before = Array.from(functionName, (_, i) => `int other${i}(int x) { return x * ${i}; }`).join('\n');
  writeFileSync(
    source,
    `${before}
__attribute__((noinline)) long ${functionName}(long n) {
  volatile long sum = 0;
  for (long i = 0; i < n; i++) sum += i;
  return sum;
}
int main(void) { return ${functionName}(60000000) == 1; }
`,
  );
  const program = join(folder, 'busy');
  rmSync(program, { force: true });
  execFileSync('gcc', ['-O1', '-g', '-Wl,--build-id', ...flags, '-o', program, source]);
  return program;
}

/** In a home of its own: whose cache it is. */
async function ours(home: string, ...words: string[]): Promise<string> {
  const before = process.env['HOME'];
  process.env['HOME'] = home;
  try {
    const { status, out, err } = await counterpoint(...words);
    assert.equal(status, 0, err);
    return out;
  } finally {
    process.env['HOME'] = before;
  }
}

async function theirs(home: string, ...words: string[]): Promise<string> {
  const env = { ...process.env, HOME: home };
  return execFileSync('perf', words, { env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
}

/** Names of functions of the program, the most frequent first. */
const namesIn = (text: string) =>
  text
    .split('\n')
    .map((line) => /^\s*\d+\.\d+%.*\[\.\] (\S+)/.exec(line)?.[1])
    .filter((name) => name !== undefined);

describe('what record keeps', { skip }, () => {
  for (const [words, flags, isNamed] of [
    [[], [], true],
    [['--keep', 'binaries'], ['-s', '-rdynamic'], true],
    [['--keep', 'symbols'], [], true],
    [['--keep', 'symbols'], ['-s', '-rdynamic'], true],
    [['--keep', 'none'], [], false],
    [['-N'], [], false],
  ] as const)
    test(`${words.join(' ') || 'by default'} ${flags.join(' ')}`, async (t) => {
      const folder = temporaryFolder(t);
      const home = join(folder, 'home');
      mkdirSync(home);
      const data = join(folder, 'perf.data');
      const program = build(folder, 'oldFunction', ...flags);
      await ours(home, 'record', '-q', '-e', 'cpu-clock:u', '-o', data, ...words, '--', program);
      build(folder, 'newer', ...flags);
      const rows = async (run: typeof ours) =>
        namesIn(
          await run(
            home,
            'report',
            '--stdio',
            '--no-children',
            '--comms',
            'busy',
            '-s',
            'comm,dso,sym',
            '-i',
            data,
          ),
        );
      const [found] = await rows(ours);
      if (isNamed) assert.equal(found, 'oldFunction');
      else assert.notEqual(found, 'oldFunction');
      // perf reads dynamic symbols of a file only where it has its code, too.
      if (!(words[1] === 'symbols' && flags.length > 0))
        assert.equal((await rows(theirs))[0] === 'oldFunction', isNamed);
      assert.equal(existsSync(join(home, '.debug')), isNamed);
    });

  test('lines of the source and inlined functions are kept with the symbols', async (t) => {
    const folder = temporaryFolder(t);
    const data = join(folder, 'perf.data');
    const program = build(folder, 'oldFunction');
    await ours(folder, 'record', '-q', '-e', 'cpu-clock:u', '-o', data, '--keep', 'symbols', '--', program);
    rmSync(program);
    const lines = async () =>
      (await ours(folder, 'report', '-s', 'srcline', '--no-children', '-i', data))
        .split('\n')
        .filter((line) => /busy\.c:\d+/.test(line));
    assert.ok((await lines()).length > 0);
    rmSync(join(folder, '.debug'), { recursive: true });
    assert.equal((await lines()).length, 0);
  });

  test('--cache-size removes what was used last the longest time ago', async (t) => {
    const folder = temporaryFolder(t);
    const cache = new BuildIdCache(join(folder, '.debug'));
    // The second recording may meet libraries that the first did not: it leaves them
    // more room than they take.
    cache.add({ buildId: 'ab'.repeat(20), path: '/opt/old' }, new Uint8Array(16 << 20));
    spawnSync('touch', ['-d', '@1', join(cache.folder, 'opt/old', 'ab'.repeat(20))]);
    const program = build(folder, 'oldFunction');
    const data = join(folder, 'perf.data');
    const words = ['record', '-q', '-e', 'cpu-clock:u', '-o', data];
    await ours(folder, ...words, '--cache-size', '1G', '--', program);
    assert.ok(cache.list().some(({ path }) => path === '/opt/old'));
    const bytes = cache.sizes().reduce((sum, one) => sum + one.bytes, 0);
    await ours(folder, ...words, '--cache-size', String(bytes - 1), '--', program);
    assert.ok(!cache.list().some(({ path }) => path === '/opt/old'));
    assert.ok(cache.list().some(({ path }) => path === program));
  });

  test('a program that was replaced before the end is not kept as the one that ran', async (t) => {
    const folder = temporaryFolder(t);
    const data = join(folder, 'perf.data');
    const program = build(folder, 'oldFunction');
    const script = `${program}; cp /bin/true ${program}.new; mv ${program}.new ${program}`;
    await ours(folder, 'record', '-q', '-e', 'cpu-clock:u', '-o', data, '--', 'sh', '-c', script);
    assert.ok(!new BuildIdCache(join(folder, '.debug')).list().some(({ path }) => path === program));
  });
});
