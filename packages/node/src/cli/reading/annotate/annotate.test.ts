import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { counterpoint } from '../../../test/command-line.ts';
import { perf, perfIsMissing } from '../../../test/perf.ts';

const PROGRAM = `static inline int mix(int a, int b) {
  return a * 31 + b % 7;
}
__attribute__((noinline)) long work(long n) {
  long sum = 0;
  for (long i = 0; i < n; i++) {
    if (i % 3 == 0)
      sum += mix(i, sum);
    else
      sum ^= i;
  }
  return sum;
}
__attribute__((noinline)) static long other(long n) {
  long s = 1;
  while (n--)
\ts = s * 3\t+ n / 5;
  return s;
}
int main(int count, char **words) {
  long t = 0;
  for (int i = 0; i < 150; i++) {
    t += work(1000000 + i);
    t ^= other(400000 + i);
  }
  return t & 1;
}
`;

const noPerf = perfIsMissing();
const folder = mkdtempSync(join(tmpdir(), 'counterpoint-annotate-'));
after(() => rmSync(folder, { recursive: true }));
const source = join(folder, 'spin.c');
const program = join(folder, 'spin');
const data = join(folder, 'spin.data');

function compile(output: string, ...options: string[]): void {
  const { status, stderr } = spawnSync('gcc', ['-O2', ...options, source, '-o', output], {
    encoding: 'utf8',
  });
  assert.equal(status, 0, stderr);
}

async function record(output: string, command: string): Promise<void> {
  const words = ['record', '-q', '-N', '-e', 'cpu-clock:u', '-F', '4000', '-o', output, '--', command];
  const { err } = await counterpoint(...words);
  assert.equal(err, '');
}

before(async () => {
  writeFileSync(source, PROGRAM);
  compile(program, '-g');
  await record(data, program);
});

/** By address, what `perf annotate` says of the instructions of a function. */
function sharesOfPerf(file: string, symbol: string, ...options: string[]): Map<string, string> {
  const text = perf('annotate', '--stdio', '-i', file, '-s', symbol, ...options);
  return new Map(
    [...text.matchAll(/^ +(\d+\.\d\d) : +([0-9a-f]+): /gm)].map(([, share, address]) => [address!, share!]),
  );
}

function sharesOfText(text: string): Map<string, string> {
  return new Map(
    [...text.matchAll(/^ +(\d+\.\d\d) :[^a-z0-9]* ([0-9a-f]+): /gm)].map(([, share, address]) => [
      address!,
      share!,
    ]),
  );
}

for (const options of [[], ['--percent-type', 'local-hits']]) {
  test(`shares of instructions are those of perf annotate ${options.join(' ')}`, {
    skip: noPerf,
  }, async () => {
    for (const symbol of ['work', 'other']) {
      const { status, out, err } = await counterpoint('annotate', '-i', data, ...options, symbol);
      assert.equal(status, 0, err);
      const ours = sharesOfText(out);
      assert.deepEqual(ours, sharesOfPerf(data, symbol, ...options));
      assert.ok([...ours.values()].some((share) => Number(share) > 2));
    }
  });
}

test('global shares are of all samples', async () => {
  // perf 6.1 has other answers: 0 of all hits, and of all periods those of the function.
  const { out } = await counterpoint(
    'annotate',
    '-i',
    data,
    '--json',
    '--percent-type',
    'global-hits',
    'work',
  );
  const [{ instructions, samples, percent }] = JSON.parse(out).functions;
  const stats = JSON.parse((await counterpoint('report', '-i', data, '--stats', '--json')).out);
  for (const one of instructions)
    assert.ok(Math.abs(one.percent - (100 * one.samples) / stats.samples) < 1e-9);
  assert.ok(Math.abs(percent - (100 * samples) / stats.samples) < 1e-9);
  assert.ok(percent < 99);
});

test('instructions are where objdump has them, and jump where it says', async () => {
  const { out } = await counterpoint('annotate', '-i', data, '--json', 'work');
  const [{ instructions }] = JSON.parse(out).functions;
  const words = ['-d', '--no-show-raw-insn', '--disassemble=work', program];
  const { stdout } = spawnSync('objdump', words, { encoding: 'utf8' });
  const rows = [...stdout.matchAll(/^ +([0-9a-f]+):\t(\w+) *(?:([0-9a-f]+) <)?/gm)];
  assert.deepEqual(
    instructions.map(({ address }: { address: string }) => address),
    rows.map(([, address]) => `0x${address}`),
  );
  const jumps = rows.map(([, , name, target]) => (name!.startsWith('j') ? `0x${target}` : null));
  assert.deepEqual(
    instructions.map(({ jumpsTo }: { jumpsTo: string | null }) => jumpsTo),
    jumps,
  );
  assert.ok(jumps.filter((jump) => jump !== null).length > 3);
});

test('lines have the sum of their instructions, and are those of addr2line', async () => {
  const { out } = await counterpoint('annotate', '-i', data, '--json', 'work');
  const [{ instructions, lines, samples }] = JSON.parse(out).functions;
  const addresses = instructions.map(({ address }: { address: string }) => address);
  const { stdout } = spawnSync('addr2line', ['-i', '-f', '-e', program, ...addresses.slice(0, 1)], {
    encoding: 'utf8',
  });
  assert.match(stdout, /^work\n/);
  let sum = 0;
  for (const line of lines) {
    const own = instructions.filter(
      ({ frames }: { frames: { line: number; file: string }[] }) =>
        frames[0]!.line === line.line && frames[0]!.file === line.file,
    );
    assert.equal(
      own.reduce((total: number, one: { samples: number }) => total + one.samples, 0),
      line.samples,
    );
    for (const { address } of own) {
      const found = spawnSync('addr2line', ['-e', program, address], { encoding: 'utf8' }).stdout;
      assert.equal(found.replace(/ \(discriminator \d+\)/, '').trim(), `${line.file}:${line.line}`);
    }
    assert.equal(line.text, PROGRAM.split('\n')[line.line - 1]);
    sum += line.samples;
  }
  assert.equal(sum, samples);
  // What was inlined is shown in the function that it is in.
  const inlined = instructions.find(({ frames }: { frames: unknown[] }) => frames.length === 2);
  assert.deepEqual(
    inlined.frames.map((frame: { function: string }) => frame.function),
    ['mix', 'work'],
  );
});

test('text has source lines whose shares sum up, inlined functions and arrows', async () => {
  const { out } = await counterpoint('annotate', '-i', data, '-l', '-n', 'work');
  assert.match(out, /mix\(\) inlined into work\(\) {2}spin\.c/);
  assert.match(out, /\| spin\.c:2 {5}return a \* 31 \+ b % 7;|spin\.c:2 +return a \* 31 \+ b % 7;/);
  assert.match(out, /┌.*j[a-z]+ /);
  assert.match(out, />.*[0-9a-f]+: /);
  const body = out.slice(out.indexOf('\n\n'));
  const shares = [...body.matchAll(/^ +(\d+\.\d\d) \|/gm)].map(([, share]) => Number(share));
  const sum = shares.reduce((total, share) => total + share, 0);
  assert.ok(Math.abs(sum - 100) < 0.1, `${sum}`);
  const plain = await counterpoint('annotate', '-i', data, '--no-source', 'work');
  assert.doesNotMatch(plain.out, /return a/);
  assert.deepEqual(
    sharesOfText(plain.out),
    sharesOfText((await counterpoint('annotate', '-i', data, 'work')).out),
  );
});

test('without a name the hottest functions are shown, the first one first', async () => {
  const { out, err } = await counterpoint('annotate', '-i', data, '--limit', '1');
  assert.equal(out.match(/disassembly of/g)?.length, 1);
  assert.match(out, /disassembly of work in spin for cpu-clock:u/);
  assert.match(err, /functions? more: --limit/);
});

test('a page for browsers has every instruction, and nothing of names is obeyed', async () => {
  const page = join(folder, 'hot.html');
  const { status, err } = await counterpoint('annotate', '-i', data, '-o', page, 'work');
  assert.equal(status, 0, err);
  const html = readFileSync(page, 'utf8');
  const json = JSON.parse((await counterpoint('annotate', '-i', data, '--json', 'work')).out);
  for (const { address } of json.functions[0].instructions)
    assert.ok(html.includes(`id="f0-${address.slice(2)}"`), address);
  assert.match(html, /for \(long i = 0; i &lt; n; i\+\+\)/);
  assert.doesNotMatch(html, /<script|i < n/);
});

test('a tab in a source line is blanks up to the next column of tabs', async () => {
  const page = join(folder, 'tabs.html');
  await counterpoint('annotate', '-i', data, '-o', page, 'other');
  const { out } = await counterpoint('annotate', '-i', data, '-l', 'other');
  for (const shown of [out, readFileSync(page, 'utf8')]) {
    assert.match(shown, / {8}s = s \* 3 {7}\+ n \/ 5;/);
    assert.doesNotMatch(shown, /\\x09|\t/);
  }
  const { functions } = JSON.parse((await counterpoint('annotate', '-i', data, '--json', 'other')).out);
  assert.ok(functions[0].lines.some(({ text }: { text: string }) => text === '\ts = s * 3\t+ n / 5;'));
});

test('an empty answer says why', async () => {
  const unknown = await counterpoint('annotate', '-i', data, 'wrok');
  assert.equal(unknown.status, 1);
  assert.match(unknown.err, /no sample fell into a function wrok; did you mean work\?|did you mean 'work'/);
  const elsewhere = await counterpoint('annotate', '-i', data, '-d', 'libc.so.6', 'work');
  assert.match(elsewhere.err, /no sample fell into work of libc\.so\.6, but some did in another binary/);
  const called = await counterpoint('annotate', '-i', data, 'mix');
  assert.match(called.err, /one that was inlined counts as its caller/);
});

test('a function that several binaries have is shown of each, or of one that is named', async () => {
  const twin = join(folder, 'twin');
  compile(twin, '-g', '-O3');
  const file = join(folder, 'both.data');
  const both = join(folder, 'both.sh');
  writeFileSync(both, `${program}\n${twin}\n`);
  const words = ['record', '-q', '-N', '-e', 'cpu-clock:u', '-F', '2000', '-o', file, '--', 'sh', both];
  assert.equal((await counterpoint(...words)).status, 0);
  const dsos = async (...more: string[]) => {
    const { functions } = JSON.parse(
      (await counterpoint('annotate', '-i', file, '--json', 'work', ...more)).out,
    );
    return functions.map(({ dso }: { dso: string }) => dso).sort();
  };
  assert.deepEqual(await dsos(), ['spin', 'twin']);
  assert.deepEqual(await dsos('-d', 'twin'), ['twin']);
});

test('a program that was built again, or is gone, is not shown as the recorded one', async (t) => {
  const changed = join(folder, 'changed');
  compile(changed, '-g', '-Wl,--build-id');
  const file = join(folder, 'changed.data');
  await record(file, changed);
  assert.equal((await counterpoint('annotate', '-i', file, 'work')).status, 0);
  await t.test('built again', async () => {
    compile(changed, '-g', '-O1', '-Wl,--build-id');
    const { status, out, err } = await counterpoint('annotate', '-i', file, 'work');
    assert.equal(status, 1);
    assert.doesNotMatch(out, /ret/);
    assert.match(err, /the file has build id [0-9a-f]+, but the recording has [0-9a-f]+/);
  });
  await t.test('gone', async () => {
    rmSync(changed);
    const { status, err } = await counterpoint('annotate', '-i', file, 'work');
    assert.equal(status, 1);
    assert.match(err, /changed: the file is not there/);
  });
});

test('a stripped program has no functions, and that is said', async () => {
  const stripped = join(folder, 'stripped');
  copyFileSync(program, stripped);
  assert.equal(spawnSync('strip', [stripped]).status, 0);
  const file = join(folder, 'stripped.data');
  await record(file, stripped);
  const { status, err } = await counterpoint('annotate', '-i', file, '-d', 'stripped');
  assert.equal(status, 1);
  assert.match(err, /no function passes -d stripped/);
  assert.match(err, /stripped: only exported functions have names|it has no symbols/);
});

test('source that was changed after the build is shown with a warning', async () => {
  const copy = join(folder, 'late.c');
  const late = join(folder, 'late');
  writeFileSync(copy, PROGRAM);
  assert.equal(spawnSync('gcc', ['-O2', '-g', copy, '-o', late]).status, 0);
  const file = join(folder, 'late.data');
  await record(file, late);
  assert.doesNotMatch((await counterpoint('annotate', '-i', file, 'work')).err, /changed after/);
  writeFileSync(copy, `// new\n${PROGRAM}`);
  assert.match(
    (await counterpoint('annotate', '-i', file, 'work')).err,
    /late\.c: the source was changed after the binary was made/,
  );
  rmSync(copy);
  const { out, err } = await counterpoint('annotate', '-i', file, 'work');
  assert.match(out, /late\.c:8/);
  assert.match(err, /the source is not there/);
});
