/**
 * Coverage of a real program: executed step by step, encoded as a trace, decoded, counted; against gcov,
 * which counts inside of the program, and against the steps themselves.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { memorySource } from '@counterpoint/core/base';
import { addElf, CodeImage } from '../../../code/image/index.ts';
import { joinChunks } from '../../../test/real-programs.ts';
import { ExecutionEncoder, RecordedPath } from '../../execution/index.ts';
import type { ExactProfile } from '../exact-profile.ts';
import { profileTrace } from '../profile-trace.ts';
import {
  branchList,
  executedRanges,
  FileCounts,
  functionCoverage,
  openProgramFile,
  type ProgramFile,
  sourceCoverage,
  writeAutofdo,
  writeBranchJson,
  writeBranchText,
  writeFunctionCoverage,
  writeLcov,
} from './index.ts';

const SOURCES = fileURLToPath(new URL('../../../../../../fixtures/dwarf/', import.meta.url));
const WORK = join(SOURCES, 'work.c');
const STEPPER = fileURLToPath(new URL('./single-step.c', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'coverage-'));
after(() => rmSync(folder, { recursive: true }));

function run(command: string, words: string[]): { ok: boolean; out: Buffer } {
  const { status, stdout } = spawnSync(command, words, { cwd: folder, maxBuffer: 1 << 28, timeout: 20_000 });
  return { ok: status === 0, out: stdout ?? Buffer.alloc(0) };
}

interface Executed {
  image: CodeImage;
  file: ProgramFile;
  profile: ExactProfile;
  /** Executions by address, counted one by one. */
  steps: Map<number, number>;
}

/** Null where this machine cannot compile for x86-64, or not step through a program. */
async function execute(flags: string[], address: bigint | null = null): Promise<Executed | null> {
  if (process.arch !== 'x64') return null;
  const sources = [WORK, join(SOURCES, 'start.c')];
  const link = ['-nostdlib', '-static', '-fno-stack-protector', '-o', 'program'];
  if (!run('gcc', [...flags, ...link, ...sources]).ok) return null;
  if (!run('gcc', ['-o', 'stepper', STEPPER]).ok) return null;
  const { ok, out } = run('./stepper', [join(folder, 'program')]);
  if (!ok || out.length < 800) return null;
  const bytes = new Uint8Array(readFileSync(join(folder, 'program')));
  const image = new CodeImage();
  await addElf(image, memorySource(bytes), { name: 'program', address });
  const file = await openProgramFile(memorySource(bytes), { name: 'program', address });
  const path = new BigUint64Array(new Uint8Array(out).buffer);
  const steps = new Map<number, number>();
  for (const at of path) steps.set(Number(at), (steps.get(Number(at)) ?? 0) + 1);
  // What ran is where the file says: the test moves it.
  const moved = path.map((at) => at + file.bias);
  const encoder = new ExecutionEncoder(image, new RecordedPath(new Int32Array(moved.buffer)), {});
  const found = profileTrace(joinChunks(encoder.chunks({ instructions: path.length })), image);
  assert.deepEqual(found.errors, []);
  assert.equal(found.profile.totals().instructions, path.length);
  return { image, file, profile: found.profile, steps };
}

function addressOf({ symbols }: ProgramFile, name: string): number {
  for (let row = 0; row < symbols.length; row++) if (symbols.rawName(row) === name) return symbols.start(row);
  throw new Error(`no function ${name}`);
}

const CANNOT = 'no gcc for x86-64 here, or stepping through programs is not allowed';

/** What the program counts by itself, line by line; null where gcc or gcov cannot. */
function gcov(): { lines: Map<number, number>; text: string } | null {
  const main = join(folder, 'main.c');
  writeFileSync(main, 'int work(void); int main(void) { return work() & 127; }\n');
  rmSync(join(folder, 'work.gcda'), { force: true });
  if (!run('gcc', ['-O0', '--coverage', '-c', WORK, '-o', 'work.o']).ok) return null;
  if (!run('gcc', ['--coverage', 'work.o', main, '-o', 'counted']).ok) return null;
  run('./counted', []);
  const text = run('gcov', ['-t', '-b', 'work.o']).out.toString();
  if (text === '') return null;
  const lines = new Map<number, number>();
  for (const line of text.split('\n')) {
    const match = /^\s*([0-9]+|#####)\*?:\s*(\d+):/.exec(line);
    if (match !== null && match[2] !== '0')
      lines.set(Number(match[2]), Number(match[1]!.replace('#####', '0')));
  }
  return { lines, text };
}

test('lines at -O0 are executed as often as gcov says', async (context) => {
  const executed = await execute(['-O0', '-g']);
  if (executed === null) return context.skip(CANNOT);
  const { file, profile, image } = executed;
  const sources = sourceCoverage(profile, image, file);
  assert.deepEqual(
    sources.map(({ path }) => path),
    [join(SOURCES, 'start.c'), WORK],
  );
  const { lines, functions } = sources[1]!;
  const counted = gcov();
  if (counted === null) return context.skip('gcc cannot count here');
  const { lines: theirs, text } = counted;
  assert.ok(theirs.size > 40);
  // Lines with nothing but the end of a function have code, and gcov leaves them out.
  const source = readFileSync(WORK, 'utf8').split('\n');
  const others = [...lines.keys()].filter((line) => !theirs.has(line));
  assert.deepEqual(
    others.filter((line) => source[line - 1] !== '}'),
    [],
  );
  assert.deepEqual(new Map([...theirs.keys()].map((line) => [line, lines.get(line)])), theirs);
  const called = [...text.matchAll(/^function (\w+) called (\d+)/gm)].map(([, name, count]) => [
    name,
    Number(count),
  ]);
  assert.ok(called.length > 5);
  assert.deepEqual([...functions].map(([name, { executed: count }]) => [name, count]).sort(), called.sort());
});

test('lines at -O2: those that kept their code as gcov counts them in the program that was not optimised', async (context) => {
  const executed = await execute(['-O2', '-g']);
  if (executed === null) return context.skip(CANNOT);
  const counted = gcov();
  if (counted === null) return context.skip('gcc cannot count here');
  const { profile, image, file } = executed;
  const { lines } = sourceCoverage(profile, image, file)[1]!;
  // Others were folded into tables of values, or merged with lines that do the same.
  const kept = [...counted.lines].filter(([line]) => lines.has(line));
  assert.ok(kept.length > 35, `${kept.length} lines`);
  const wrong = kept.filter(([line, count]) => lines.get(line)! > 0 !== count > 0);
  assert.ok(wrong.length <= 1, `executed or not: ${wrong.join(' | ')}`);
  // Loops lose their first test, and one is done by vector instructions.
  const source = readFileSync(WORK, 'utf8').split('\n');
  const others = kept.filter(([line, count]) => lines.get(line) !== count);
  assert.ok(others.length < kept.length / 6, `${others.length} of ${kept.length} differ`);
  for (const [line] of others) assert.match(source[line - 1]!, /for \(|while \(/);
});

test('lcov: what it says of itself is true', async (context) => {
  const executed = await execute(['-O0', '-g']);
  if (executed === null) return context.skip(CANNOT);
  const text = [...writeLcov(sourceCoverage(executed.profile, executed.image, executed.file), 'a b')].join(
    '',
  );
  const records = text.split('end_of_record\n');
  assert.equal(records.pop(), '');
  assert.equal(records.length, 2);
  for (const record of records) {
    const fields = record
      .trim()
      .split('\n')
      .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]);
    const all = (name: string): string[] =>
      fields.filter(([field]) => field === name).map(([, value]) => value!);
    assert.deepEqual(all('TN'), ['a_b']);
    assert.equal(Number(all('FNF')[0]), all('FN').length);
    assert.equal(Number(all('FNH')[0]), all('FNDA').filter((one) => !one.startsWith('0,')).length);
    assert.equal(Number(all('BRF')[0]), all('BRDA').length);
    assert.equal(Number(all('BRH')[0]), all('BRDA').filter((one) => !/,[0-]$/.test(one)).length);
    assert.equal(Number(all('LF')[0]), all('DA').length);
    assert.equal(Number(all('LH')[0]), all('DA').filter((one) => !one.endsWith(',0')).length);
  }
  assert.match(text, /^FNDA:12,factorial$/m);
  assert.match(text, /^FNDA:0,never$/m);
  assert.match(text, /^BRDA:\d+,0,0,-$/m);
});

test('lcov reads it, and counts the same', async (context) => {
  const executed = await execute(['-O2', '-g']);
  if (executed === null) return context.skip(CANNOT);
  const text = [...writeLcov(sourceCoverage(executed.profile, executed.image, executed.file))].join('');
  writeFileSync(join(folder, 'program.info'), text);
  const { status, stdout, stderr } = spawnSync(
    'lcov',
    ['--summary', 'program.info', '--rc', 'lcov_branch_coverage=1'],
    {
      cwd: folder,
      encoding: 'utf8',
      timeout: 20_000,
    },
  );
  if (status !== 0) return context.skip('no lcov here');
  const sum = (field: string): number =>
    [...text.matchAll(new RegExp(`^${field}:(\\d+)$`, 'gm'))].reduce(
      (total, [, count]) => total + Number(count),
      0,
    );
  for (const [kind, found, hit] of [
    ['lines', 'LF', 'LH'],
    ['functions', 'FNF', 'FNH'],
    ['branches', 'BRF', 'BRH'],
  ] as const)
    assert.match(stdout + stderr, new RegExp(`\\(${sum(hit)} of ${sum(found)} ${kind}\\)`));
});

for (const address of [null, 0x7f00_1234_0000n])
  test(`AutoFDO and branches, ${address === null ? 'where it was linked for' : 'moved'}: all counts, from the steps`, async (context) => {
    const executed = await execute(['-O2', '-g'], address);
    if (executed === null) return context.skip(CANNOT);
    const { file, profile, steps } = executed;
    const offsetOf = (at: number): number => {
      const segment = file.elf.segments.find(
        (one) => at >= one.address && at < one.address + one.fileSize && one.type === 1,
      )!;
      return at - segment.address + segment.offset;
    };
    const counts = new FileCounts(profile, file);
    const sums = new Map<number, number>();
    for (const { first, last, count } of executedRanges(counts))
      for (let place = counts.placeOf(first); place <= counts.placeOf(last); place++)
        sums.set(counts.address[place]!, (sums.get(counts.address[place]!) ?? 0) + count);
    assert.deepEqual(
      [...sums].sort(([a], [b]) => a - b),
      [...steps].sort(([a], [b]) => a - b),
    );

    const lines = [...writeAutofdo(profile, file)].join('').split('\n');
    assert.equal(lines.pop(), '');
    const lists: string[][] = [];
    while (lines.length > 0) lists.push(lines.splice(0, 1 + Number(lines[0])).slice(1));
    assert.equal(lists.length, 3);
    const addresses = lists[1]!.map((line) => line.split(':'));
    assert.deepEqual(
      new Map(addresses.map(([at, count]) => [Number.parseInt(at!, 16), Number(count)])),
      new Map([...steps].sort(([a], [b]) => a - b).map(([at, count]) => [offsetOf(at), count])),
    );
    const taken = lists[2]!.reduce((sum, line) => sum + Number(line.split(':')[1]), 0);
    const list = branchList(profile);
    // Returns went behind their calls, and are not in the list; the last system call went nowhere.
    const away = list.filter(({ kind }) => kind >= 3 && kind <= 8 && kind !== 5);
    assert.equal(
      taken,
      away.reduce((sum, one) => sum + one.taken, 0),
    );
    assert.ok(lists[2]!.every((line) => /^[0-9a-f]+->[0-9a-f]+:[1-9]\d*$/.test(line)));
    assert.ok(lists[0]!.every((line) => /^[0-9a-f]+-[0-9a-f]+:[1-9]\d*$/.test(line)));

    for (const { lo, hi, executed: count } of list) {
      const at = Number(BigInt.asIntN(64, (BigInt(hi >>> 0) << 32n) + BigInt(lo >>> 0)) - file.bias);
      assert.equal(count, steps.get(at));
    }
    const { branches } = JSON.parse(
      [...writeBranchJson(list, (lo) => (lo === list[0]!.lo ? 'hot' : null))].join(''),
    );
    assert.equal(branches.length, list.length);
    assert.equal(branches[0].name, 'hot');
    assert.ok(
      branches.every(
        (one: { executed: string }, row: number) =>
          row === 0 || Number(one.executed) <= Number(branches[row - 1].executed),
      ),
    );
    assert.equal([...writeBranchText(list)].length, list.length + 1);
  });

test('create_llvm_prof reads the profile: how often functions were called, and who called them', async (context) => {
  // The newest that Debian has reads DWARF 4.
  const executed = await execute(['-O2', '-gdwarf-4']);
  if (executed === null) return context.skip(CANNOT);
  const { file, profile, steps } = executed;
  writeFileSync(join(folder, 'program.autofdo'), [...writeAutofdo(profile, file)].join(''));
  const words = ['--profiler=text', '--profile=program.autofdo', '--format=text', '--out=program.prof'];
  if (!run('create_llvm_prof', ['--binary=program', ...words]).ok)
    return context.skip('no create_llvm_prof (package autofdo) here');
  const text = readFileSync(join(folder, 'program.prof'), 'latin1');
  const callsOf = (name: string): number => steps.get(addressOf(file, name))!;
  // `name:samples:calls` for functions; targets behind the count of the line of a call.
  for (const name of ['add', 'subtract', 'work']) {
    const heads = new RegExp(`^${name}:(\\d+):(\\d+)$`, 'm').exec(text);
    assert.ok(heads !== null, text);
    assert.equal(Number(heads[2]), callsOf(name));
  }
  assert.match(text, new RegExp(`^ 7: 7 add:${callsOf('add')} subtract:${callsOf('subtract')}$`, 'm'));
});

test('without lines: functions and instructions, and how to get lines', async (context) => {
  const executed = await execute(['-O0']);
  if (executed === null) return context.skip(CANNOT);
  const { file, profile, image, steps } = executed;
  assert.throws(() => sourceCoverage(profile, image, file), { code: 'ERR_NO_LINES', remedy: /-g/ });
  const counts = new FileCounts(profile, file);
  const functions = functionCoverage(counts, image);
  const covered = functions.reduce((sum, one) => sum + one.covered, 0);
  assert.equal(covered, steps.size);
  const never = functions.find(({ name }) => name === 'never')!;
  assert.deepEqual([never.executed, never.covered], [0, 0]);
  assert.ok(never.instructions > 5);
  assert.equal(functions.find(({ name }) => name === 'factorial')!.executed, 12);
  assert.match([...writeFunctionCoverage(counts, functions)].join(''), /^program: 7 of 8 functions/);
});
