/**
 * Stacks that the format `unwind` finds in the kernel, of programs without frame pointers, against those that
 * are found in copies of the stack (`--call-graph dwarf`).
 */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { memorySource } from '@counterpoint/core/base';
import { openPerfData, readRecords } from '@counterpoint/core/perfdata';
import { commandLineProcess, counterpoint } from '../../../test/command-line.ts';
import { noFormats } from '../../../test/format-recording.ts';
import { buildFrameless, noCompiler } from '../../../test/frameless-program.ts';
import { perf, perfIsMissing, temporaryFolder } from '../../../test/perf.ts';

const skip =
  noFormats ||
  noCompiler ||
  (process.arch !== 'x64' && 'the format knows x86-64') ||
  (!existsSync('/sys/kernel/btf/vmlinux') && 'the kernel has no BTF');

const RECORD = 'record -q -e cpu-clock:u -F 997'.split(' ');
const UNWIND = ['-g', '--format', 'unwind'];

/** The functions of each sample, innermost first. */
async function stacksOf(data: string): Promise<string[][]> {
  const { status, out } = await counterpoint('script', '--no-inline', '-F', 'ip,sym', '-i', data);
  assert.equal(status, 0);
  return stacksIn(out);
}

function stacksIn(text: string): string[][] {
  return text
    .split('\n\n')
    .map((sample) => sample.split('\n').filter((line) => line.startsWith('\t')))
    .filter((frames) => frames.length > 0)
    .map((frames) =>
      frames.map((line) =>
        line
          .trim()
          .replace(/^[0-9a-f]+ /, '')
          .replace(/\+0x[0-9a-f]+$/, ''),
      ),
    );
}

/** Each sample's frames by their addresses, innermost first. */
function addressesIn(text: string): string[] {
  const samples = text.split('\n\n').map((sample) => [...sample.matchAll(/^\t +([0-9a-f]+) /gm)]);
  return samples.filter((frames) => frames.length > 0).map((frames) => frames.map(([, ip]) => ip).join(' '));
}

/** How many samples have a copy of the stack in the file itself. */
async function stackCopiesIn(data: string): Promise<number> {
  const reader = await openPerfData(memorySource(new Uint8Array(readFileSync(data))));
  let count = 0;
  for await (const { record: one } of readRecords(reader))
    if ('sample' in one && (one.sample.userStack?.bytes.length ?? 0) > 0) count++;
  return count;
}

async function record(data: string, ...words: string[]): Promise<string> {
  const { status, err } = await counterpoint(...RECORD, '-o', data, ...words);
  assert.equal(status, 0, err);
  return err;
}

/** A function that calls itself counts once. */
const withoutRecursion = (functions: readonly string[]) =>
  functions
    .filter((name, index) => name !== functions[index - 1])
    // A return address before the first byte of a function: each way names its neighbour, or none.
    .map((name) => (name === '__restore_rt' ? '[unknown]' : name))
    .join(' < ');

const isWhole = (functions: readonly string[]) => functions.includes('main') && functions.at(-1) === '_start';

test('a C++ program: the stacks of copies, through signals, callbacks and stubs', { skip }, async (t) => {
  const folder = temporaryFolder(t);
  const program = buildFrameless(folder);
  const [data, copies] = [join(folder, 'unwound.data'), join(folder, 'copies.data')];
  await record(data, ...UNWIND, program);
  await record(copies, '--call-graph', 'dwarf,16384', program);
  const ours = await stacksOf(data);
  assert.ok(ours.length > 100, `${ours.length} samples`);
  const whole = ours.filter(isWhole).length;
  assert.ok(whole > ours.length * 0.97, `${whole} of ${ours.length} lead to main and _start`);
  const interrupted = ours.filter((functions) => {
    const handler = functions.indexOf('onSignal');
    return handler >= 0 && functions.indexOf('main') > handler + 1;
  });
  assert.ok(interrupted.length > 5, `${interrupted.length} in the handler of a signal`);
  // What one way finds again and again, the other finds, too.
  const often = (stacks: readonly string[][], times: number) => {
    const counts = new Map<string, number>();
    for (const functions of stacks) {
      const text = withoutRecursion(functions);
      counts.set(text, (counts.get(text) ?? 0) + 1);
    }
    return [...counts].filter(([, count]) => count >= times).map(([text]) => text);
  };
  const theirs = await stacksOf(copies);
  const known = new Set(often(theirs, 1));
  const missing = often(ours, ours.length / 40).filter((text) => !known.has(text));
  assert.deepEqual(missing, []);
  const found = new Set(often(ours, 1));
  assert.deepEqual(
    often(theirs, theirs.length / 40).filter((text) => !found.has(text)),
    [],
  );
});

test('a program that has ended before its binaries were read: copies tell its stacks', {
  skip,
}, async (t) => {
  const folder = temporaryFolder(t);
  const source = join(folder, 'short.c');
  const program = join(folder, 'short');
  writeFileSync(
    source,
    `volatile unsigned long sum;
     __attribute__((noinline)) void inner(void) { for (unsigned i = 0; i < 4000000; i++) sum += i; }
     __attribute__((noinline)) void outer(void) { char room[sum % 3 + 40]; room[sum % 40] = 1; inner(); sum += room[0]; }
     int main(void) { outer(); return 0; }`,
  );
  assert.equal(spawnSync('gcc', ['-O1', '-fomit-frame-pointer', source, '-o', program]).status, 0);
  const data = join(folder, 'perf.data');
  await record(
    data,
    ...UNWIND,
    '--',
    'sh',
    '-c',
    `for turn in 1 2 3 4 5 6 7 8 9; do ${program}; done; exec ${program}`,
  );
  const stacks = (await stacksOf(data)).filter(([innermost]) => innermost === 'inner');
  assert.ok(stacks.length >= 5, `${stacks.length} samples`);
  for (const functions of stacks)
    assert.deepEqual([...functions.slice(0, 3), functions.at(-1)], ['inner', 'outer', 'main', '_start']);
});

test('perf finds the frames that we do: in chains, and in the copies of the beginning', {
  skip: skip || perfIsMissing(),
}, async (t) => {
  const folder = temporaryFolder(t);
  const data = join(folder, 'perf.data');
  await record(data, ...UNWIND, buildFrameless(folder));
  const words = ['script', '--no-inline', '-F', 'ip,sym', '-i', data];
  const { status, out } = await counterpoint(...words);
  assert.equal(status, 0);
  const ours = addressesIn(out);
  assert.ok(ours.length > 100, `${ours.length} samples`);
  const copies = await stackCopiesIn(data);
  assert.ok(copies > 0 && copies < ours.length, `${copies} of ${ours.length} samples have a copy`);
  assert.deepEqual(addressesIn(perf(...words)), ours);
});

const LOOP = `
__attribute__((noinline)) void inner(void) { for (volatile unsigned i = 0; i < 60000000; i++); }
__attribute__((noinline)) void outer(void) { inner(); __asm__ volatile(""); }`;

test('code of 32 bits: the kernel follows its frame pointers', { skip }, async (t) => {
  const folder = temporaryFolder(t);
  const [source, program, data] = ['wide.c', 'narrow', 'perf.data'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  const end = 'void _start(void) { outer(); __asm__ volatile("int $0x80" : : "a"(1), "b"(0)); }';
  writeFileSync(source, `${LOOP}\n${end}`);
  const flags = ['-m32', '-O1', '-fno-omit-frame-pointer', '-nostdlib', '-static', source, '-o', program];
  assert.equal(spawnSync('gcc', flags).status, 0);
  if (spawnSync(program).status !== 0) return t.skip('this kernel runs no 32-bit programs');
  await record(data, ...UNWIND, program);
  const stacks = (await stacksOf(data)).filter(([innermost]) => innermost === 'inner');
  assert.ok(stacks.length >= 5, `${stacks.length} samples`);
  for (const functions of stacks) assert.equal(functions[1], 'outer');
});

test("in a container, where processes have other numbers than the kernel's", {
  skip: skip || (spawnSync('unshare', ['-pf', '--mount-proc', 'true']).status !== 0 && 'no namespaces here'),
}, async (t) => {
  const folder = temporaryFolder(t);
  const data = join(folder, 'perf.data');
  const words = [...commandLineProcess(), ...RECORD, '-o', data, ...UNWIND, buildFrameless(folder)];
  const { status, stderr } = spawnSync('unshare', ['-pf', '--mount-proc', '--', process.execPath, ...words], {
    encoding: 'utf8',
  });
  assert.equal(status, 0, stderr);
  const stacks = await stacksOf(data);
  assert.ok(stacks.length > 100, `${stacks.length} samples`);
  const whole = stacks.filter(isWhole).length;
  assert.ok(whole > stacks.length * 0.97, `${whole} of ${stacks.length} lead to main and _start`);
});

/** As many mappings of code as it is told, and calls without frame pointers for two seconds, or as told. */
const MAPPER = `
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
volatile unsigned long sum;
__attribute__((noinline)) void inner(void) { for (unsigned i = 0; i < 100000; i++) sum += i; }
__attribute__((noinline)) void outer(void) { volatile char room[40]; room[sum % 40] = 1; inner(); sum += room[0]; }
int main(int count, char **words) {
  double seconds = count > 2 ? atof(words[2]) : 2;
  for (int left = atoi(words[1]); left > 0; left--) {
    char *page = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    page[0] = 0xc3;
    mprotect(page, 4096, PROT_READ | PROT_EXEC);
    ((void (*)(void))page)();
  }
  while (clock() < seconds * CLOCKS_PER_SEC) outer();
}
`;

function buildMapper(folder: string, ...flags: string[]): string {
  const program = join(folder, 'mapper');
  writeFileSync(`${program}.c`, MAPPER);
  const all = ['-O1', '-fomit-frame-pointer', ...flags, `${program}.c`, '-o', program];
  assert.equal(spawnSync('gcc', all).status, 0);
  return program;
}

/** The program's own stacks are whole, and some of them without a copy. */
async function assertUnwound(data: string): Promise<void> {
  const stacks = (await stacksOf(data)).filter(([innermost]) => innermost === 'inner');
  const copies = await stackCopiesIn(data);
  assert.ok(stacks.length > copies + 50, `${stacks.length} samples, ${copies} copies`);
  for (const functions of stacks)
    assert.deepEqual([...functions.slice(0, 3), functions.at(-1)], ['inner', 'outer', 'main', '_start']);
}

for (const count of ['400', '1300'])
  test(`a program with ${count} mappings of code`, { skip }, async (t) => {
    const folder = temporaryFolder(t);
    const data = join(folder, 'perf.data');
    await record(data, ...UNWIND, buildMapper(folder), count);
    await assertUnwound(data);
  });

test('frame information for debuggers alone (.debug_frame), as in programs in Go', { skip }, async (t) => {
  const folder = temporaryFolder(t);
  const data = join(folder, 'perf.data');
  const flags = ['-g', '-gz', '-fno-asynchronous-unwind-tables', '-fno-unwind-tables'];
  const program = buildMapper(folder, ...flags);
  const { stdout } = spawnSync('readelf', ['-wf', program], { encoding: 'utf8' });
  assert.match(stdout, /\.debug_frame/);
  await record(data, ...UNWIND, program, '0');
  await assertUnwound(data);
});

/**
 * A recording of two commands. The recorder is stopped while the first of them runs: nobody empties its ring,
 * and nobody gives the kernel the tables of that program.
 */
async function recordStopped(words: readonly string[], stopped: string, after: string): Promise<string> {
  const script = `echo ready; read word; ${stopped}; echo ended; exec ${after}`;
  const recorder = spawn(process.execPath, [...commandLineProcess(), ...words, '--', 'sh', '-c', script]);
  let err = '';
  recorder.stderr.setEncoding('utf8').on('data', (text) => (err += text));
  const exited = once(recorder, 'close');
  try {
    await once(recorder.stdout, 'data');
    recorder.kill('SIGSTOP');
    recorder.stdin.end('go\n');
    await once(recorder.stdout, 'data');
    recorder.kill('SIGCONT');
    const [status] = await exited;
    assert.equal(status, 0, err);
  } finally {
    recorder.kill('SIGKILL');
  }
  return err;
}

test('a ring that copies would fill: shorter stacks, which are counted, and no lost sample', {
  skip,
}, async (t) => {
  const folder = temporaryFolder(t);
  const data = join(folder, 'perf.data');
  const program = buildMapper(folder);
  const words = [...'record -e cpu-clock:u -F 997 -g --format unwind,ring=256K -o'.split(' '), data];
  const err = await recordStopped(words, `${program} 0 0.4`, `${program} 0`);
  assert.doesNotMatch(err, /samples? lost because/);
  const [, shortened] = /LOST: ([\d,]+) samples? with .* could not be followed to its end/.exec(err) ?? [];
  assert.ok(Number(shortened?.replaceAll(',', '')) > 0, err);
  const stacks = await stacksOf(data);
  const whole = stacks.filter(isWhole).length;
  assert.ok(
    whole > 50 && whole < stacks.length,
    `${whole} of ${stacks.length}, ${shortened} shortened: ${err}`,
  );
});

const HOT = `
function fibonacci(n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
process.stdout.write('ready\\n');
const end = Date.now() + 60_000;
(function turn() { fibonacci(22); if (Date.now() < end) setImmediate(turn); })();
`;

test('Node that runs already: JavaScript by its frame pointers, the rest by tables', { skip }, async (t) => {
  const folder = temporaryFolder(t);
  const data = join(folder, 'perf.data');
  const node = spawn(process.execPath, ['-e', HOT], { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    await once(node.stdout, 'data');
    const err = await record(data, ...UNWIND, '-p', `${node.pid}`, '--', 'sleep', '3');
    assert.equal(node.exitCode, null, 'it runs on');
    const stacks = await stacksOf(data);
    const hot = stacks.filter((functions) => functions.some((name) => /fibonacci/.test(name)));
    assert.ok(hot.length > 100, `${hot.length} of ${stacks.length} samples: ${err}`);
    const whole = hot.filter((functions) => functions.at(-1) === '_start').length;
    assert.ok(whole > hot.length * 0.9, `${whole} of ${hot.length} lead to _start`);
  } finally {
    node.kill('SIGKILL');
  }
});

test('a tracepoint is refused, with a remedy', { skip }, async (t) => {
  const data = join(temporaryFolder(t), 'perf.data');
  const { status, err } = await counterpoint(
    ...['record', '-e', 'sched:sched_switch', '--format', 'unwind', '-o', data, '--', 'true'],
  );
  assert.notEqual(status, 0);
  assert.match(err, /the format unwind has no interrupted address at the tracepoint/);
  assert.match(err, /-g/);
});
