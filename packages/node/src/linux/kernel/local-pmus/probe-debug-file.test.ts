/** Functions that `strip` took the names of: by debug files, as perf and gdb find them. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../../../test/perf.ts';
import { ProbeFiles } from './probe-files.ts';

const SOURCE = (result: number) => `
static int __attribute__((noinline)) middle(int n) { return n * ${result}; }
int main(int count, char **words) { return middle(count) + words[0][0] == 0; }
`;

const skip = ['gcc', 'objcopy', 'nm'].every((name) => spawnSync(name, ['--version']).status === 0)
  ? false
  : 'gcc and binutils are not installed';

function build(folder: string, name: string, result: number, ...words: string[]): string {
  const program = join(folder, name);
  writeFileSync(`${program}.c`, SOURCE(result));
  execFileSync('gcc', ['-O1', '-g', ...words, '-o', program, `${program}.c`]);
  return program;
}

/** A copy without names, whose debug file is named in it. */
function strip(program: string, debug: string): string {
  const stripped = `${program}.stripped`;
  execFileSync('objcopy', ['--only-keep-debug', program, debug]);
  execFileSync('objcopy', ['--strip-all', `--add-gnu-debuglink=${debug}`, program, stripped]);
  return stripped;
}

/** By nm, which has the names. */
function addressOf(program: string): number {
  const line = execFileSync('nm', [program], { encoding: 'utf8' }).match(/^([0-9a-f]+) t middle$/m);
  return Number.parseInt(line![1]!, 16);
}

/** As a probe would be set there, by a new reader. */
function middleOf(path: string): number | null {
  const file = new ProbeFiles().get(path);
  assert.ok('functions' in file, JSON.stringify(file));
  return file.functions.get('middle') ?? null;
}

test('a stripped program has the names of its debug file, beside it or in .debug', { skip }, (t) => {
  const folder = temporaryFolder(t);
  // Without a build id only the checksum tells that a debug file is the right one.
  for (const words of [[], ['-Wl,--build-id=none']]) {
    const program = build(folder, `app${words.length}`, 3, ...words);
    const debug = `${program}.debug`;
    const stripped = strip(program, debug);
    assert.equal(middleOf(stripped), addressOf(program), words.join());
    mkdirSync(join(folder, '.debug'), { recursive: true });
    copyFileSync(debug, join(folder, '.debug', `app${words.length}.debug`));
    rmSync(debug);
    assert.equal(middleOf(stripped), addressOf(program), '.debug');
    // Of another build it names nothing.
    const other = build(folder, `other${words.length}`, 5, ...words);
    execFileSync('objcopy', ['--only-keep-debug', other, join(folder, '.debug', `app${words.length}.debug`)]);
    assert.equal(middleOf(stripped), null, 'another build');
  }
});

test('by build id, in the cache of perf', { skip }, (t) => {
  const folder = temporaryFolder(t);
  const program = build(folder, 'app', 3, '-Wl,--build-id=0x1234567890abcdef');
  const stripped = strip(program, join(folder, 'elsewhere.debug'));
  const cached = join(folder, 'cache/.build-id/12/34567890abcdef');
  mkdirSync(cached, { recursive: true });
  const before = process.env['PERF_BUILDID_DIR'];
  process.env['PERF_BUILDID_DIR'] = join(folder, 'cache');
  try {
    rmSync(join(folder, 'elsewhere.debug'));
    assert.equal(middleOf(stripped), null);
    copyFileSync(program, join(cached, 'debug'));
    assert.equal(middleOf(stripped), addressOf(program));
  } finally {
    if (before === undefined) delete process.env['PERF_BUILDID_DIR'];
    else process.env['PERF_BUILDID_DIR'] = before;
  }
});
