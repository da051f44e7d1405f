/**
 * AutoFDO profiles of recorded branches, beside create_llvm_prof's own reader of perf.data,
 * and a compiler that uses them.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { corpusUrl, lacksCorpus } from '../../../../../core/src/test/corpus.ts';
import { noPerf, perf } from '../../../../../core/src/test/perf.ts';
import { counterpoint } from '../../../test/command-line.ts';
import {
  branchEventRecording,
  branchRecording,
  buildLoops,
  type SteppedProgram,
  stepProgram,
} from '../../../test/stepped-branches.ts';

const folder = mkdtempSync(join(tmpdir(), 'autofdo-'));
const file = (name: string) => join(folder, name);
let program: SteppedProgram | null = null;

before(() => {
  // The newest create_llvm_prof that Debian has reads DWARF 4.
  const built = buildLoops(folder, ['-O1', '-gdwarf-4']);
  program = built === null ? null : stepProgram(folder, [built]);
  if (program === null) return;
  writeFileSync(file('stacks.data'), branchRecording(program, 37));
  writeFileSync(file('whole.data'), branchEventRecording(program));
});
after(() => rmSync(folder, { recursive: true }));

const NOT_STEPPED = 'no gcc for x86-64 here, or stepping through programs is not allowed';
const lacks = (command: string, its: string): string | false =>
  spawnSync(command, ['--version']).error === undefined ? false : `no ${command} (package ${its}) here`;
const noAutofdo = lacks('create_llvm_prof', 'autofdo');
const noClang = lacks('clang-14', 'clang-14');

function run(command: string, ...words: string[]): string {
  const { status, stdout, stderr } = spawnSync(command, words, {
    cwd: folder,
    encoding: 'utf8',
    timeout: 60_000,
  });
  assert.equal(status, 0, stderr);
  return stdout;
}

async function exportOf(input: string, ...words: string[]): Promise<string> {
  const { status, out, err } = await counterpoint(
    'export',
    '-i',
    input,
    '-f',
    'autofdo',
    '-o',
    '-',
    ...words,
  );
  assert.equal(status, 0, err);
  return out;
}

function llvmProfile(source: string, ...words: string[]): string {
  run(
    'create_llvm_prof',
    '--binary=program',
    `--profile=${source}`,
    '--format=text',
    '--out=text.prof',
    ...words,
  );
  return readFileSync(file('text.prof'), 'latin1');
}

test('of branch stacks the profile is what create_llvm_prof makes of perf.data', {
  skip: noAutofdo,
}, async (t) => {
  if (program === null) return t.skip(NOT_STEPPED);
  const theirs = llvmProfile('stacks.data');
  assert.match(theirs, /^inner:\d+:\d+\n(?: .*\n)+outer:/m);
  writeFileSync(file('stacks.autofdo'), await exportOf(file('stacks.data'), '--binary', 'program'));
  assert.equal(llvmProfile('stacks.autofdo', '--profiler=text'), theirs);
});

test('of all branches it says exactly what ran', { skip: noAutofdo }, async (t) => {
  if (program === null) return t.skip(NOT_STEPPED);
  const output = file('whole.autofdo');
  const words = ['-i', file('whole.data'), '--binary', 'program', '-o', output];
  const { status, err } = await counterpoint('export', ...words);
  assert.equal(status, 0, err);
  assert.match(err, /^Wrote .*whole\.autofdo \(autofdo, \d+ bytes\): branches of .*\/program\.$/m);
  assert.match(err, /Left out are \d+ from or to other files/);
  const text = llvmProfile('whole.autofdo', '--profiler=text');
  // `name:samples:calls`, then `line: count targets`.
  assert.match(text, /^inner:\d+:150$/m);
  assert.match(text, /^outer:\d+:1\n(?: .*\n)* 2: 150 inner:150$/m);
  assert.match(text, /^main:\d+:0\n(?: .*\n)* 4: 1 outer:1$/m);
});

test('captures of other machines: branches and ranges are those of perf script', {
  skip: lacksCorpus('perfdata/quipper/perf.data.branch-4.14') || noPerf,
}, async () => {
  for (const [name, dso] of [
    ['branch-4.14', 'ld-2.23.so'],
    ['callgraph_and_branch-3.4', 'chrome'],
  ] as const) {
    const input = fileURLToPath(corpusUrl(`perfdata/quipper/perf.data.${name}`));
    const stacks = perf(['script', '-i', input, '-F', 'brstackoff,dso']).stdout.split('\n');
    const [ranges, edges] = [new Map<string, number>(), new Map<string, number>()];
    // Where the kernel was entered, perf 6.1 takes the whole stack for the kernel's.
    const misread = stacks.filter((line) => /0x7\w{11}\(\[kernel/.test(line)).length;
    assert.ok(misread < stacks.length / 20, `${misread}`);
    const add = (counts: Map<string, number>, key: string) => counts.set(key, (counts.get(key) ?? 0) + 1);
    for (const line of stacks) {
      const branches = [...line.matchAll(/0x(\w+)\((\S+?)\)\/0x(\w+)\((\S+?)\)\//g)];
      branches.forEach(([, from, fromDso, to, toDso], place) => {
        const isTo = toDso!.endsWith(dso);
        if (isTo && fromDso!.endsWith(dso)) add(edges, `${from}->${to}`);
        const next = branches[place - 1];
        if (!isTo || next === undefined || !next[2]!.endsWith(dso)) return;
        const length = Number(`0x${next[1]}`) - Number(`0x${to}`);
        if (length >= 0 && length <= 16_384) add(ranges, `${to}-${next[1]}`);
      });
    }
    assert.ok(edges.size > 10 && ranges.size > 10, `${name}: ${edges.size} ${ranges.size}`);
    const lines = (await exportOf(input, '--binary', dso)).trim().split('\n');
    const count = Number(lines[0]);
    assert.equal(lines[1 + count], '0');
    for (const [rows, theirs] of [
      [lines.slice(1, 1 + count), ranges],
      [lines.slice(3 + count), edges],
    ] as const) {
      let more = 0;
      const ours = new Map(rows.map((row) => row.split(':')).map(([key, times]) => [key!, Number(times)]));
      for (const [key, times] of ours) more += times - (theirs.get(key) ?? 0);
      for (const [key, times] of theirs) assert.ok(ours.get(key)! >= times, `${name} ${key}`);
      assert.ok(more >= 0 && more <= misread * STACK_ENTRIES, `${name}: ${more}`);
    }
  }
});

/** Of the CPU of that capture. */
const STACK_ENTRIES = 16;

const REBUILT = `
#include <stdio.h>
__attribute__((noinline)) int rare(int n) { return n * 7 + 3; }
__attribute__((noinline)) int step(int n) {
  if (n % 50 == 0) return rare(n);
  return n ^ (n >> 3);
}
int main(int argc, char **argv) {
  int sum = 0;
  for (int i = 1; i <= 1000; i++) sum += step(i);
  if (argc > 1) printf("%s %d\\n", argv[1], sum);
  return 0;
}
`;

test('clang builds again by what was stepped: it knows how often each way was taken', {
  skip: noAutofdo || noClang,
}, async (t) => {
  if (program === null) return t.skip(NOT_STEPPED);
  writeFileSync(file('app.c'), REBUILT);
  const debug = ['-gdwarf-4', '-fdebug-info-for-profiling'];
  run('clang-14', '-O1', ...debug, '-o', 'app', 'app.c');
  const recorded = await counterpoint(
    'record',
    '-q',
    '-e',
    'soft_bts//u',
    '-o',
    file('app.data'),
    file('app'),
  );
  assert.equal(recorded.status, 0, recorded.err);
  writeFileSync(file('app.autofdo'), await exportOf(file('app.data')));
  run('create_llvm_prof', '--binary=./app', '--profiler=text', '--profile=app.autofdo', '--out=app.prof');
  const use = ['-O2', '-gdwarf-4', '-fprofile-sample-use=app.prof'];
  const code = run('clang-14', ...use, '-S', '-emit-llvm', '-o', '-', 'app.c');
  const counts = new Map(
    [...code.matchAll(/^!(\d+) = !\{!"function_entry_count", i64 (\d+)\}/gm)].map(([, id, n]) => [id, n]),
  );
  const entries = [...code.matchAll(/^define .* @(\w+)\(.* !prof !(\d+) \{/gm)].map(([, name, id]) => [
    name,
    counts.get(id!),
  ]);
  // LLVM counts one more than the profile has, so that none is 0.
  assert.deepEqual(
    new Map(entries as [string, string][]),
    new Map([
      ['rare', '21'],
      ['step', '1001'],
      ['main', '1'],
    ]),
  );
  assert.match(code, /"branch_weights", i32 21, i32 981\}/);
  run('clang-14', ...use, '-o', 'again', 'app.c');
  assert.equal(run('./again', 'sum'), run('./app', 'sum'));
});

test('what has no branches of a program is refused, with what to do', { skip: noPerf }, async (t) => {
  if (program === null) return t.skip(NOT_STEPPED);
  const other = await counterpoint('export', '-i', file('whole.data'), '-f', 'autofdo', '--binary', 'bash');
  assert.equal(other.status, 1);
  assert.match(other.err, /no branch is in bash\n.*Branches are in: .*\/program/);
  const misplaced = await counterpoint(
    'export',
    '-i',
    file('whole.data'),
    '-f',
    'svg',
    '--binary',
    'program',
  );
  assert.match(misplaced.err, /--binary is for AutoFDO profiles only/);
  perf(['record', '-q', '-e', 'cpu-clock:u', '-o', file('clock.data'), 'true']);
  const none = await counterpoint('export', '-i', file('clock.data'), '-f', 'autofdo', '-o', '-');
  assert.equal(none.status, 1);
  assert.match(none.err, /no branch is in a program or library\n.*soft_bts/);
});
