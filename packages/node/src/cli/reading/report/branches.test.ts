/**
 * Reports of branches: beside perf, and beside the path of a program that was stepped through.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { BranchAnswer, BranchRows, BranchView } from '@counterpoint/core/query';
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

const folder = mkdtempSync(join(tmpdir(), 'branches-'));
const stacks = join(folder, 'stacks.data');
const whole = join(folder, 'whole.data');
let program: SteppedProgram | null = null;

before(() => {
  const built = buildLoops(folder, ['-O1', '-g', '-static']);
  program = built === null ? null : stepProgram(folder, [built]);
  if (program === null) return;
  writeFileSync(stacks, branchRecording(program, 37));
  writeFileSync(whole, branchEventRecording(program));
});
after(() => rmSync(folder, { recursive: true }));

const NOT_STEPPED = 'no gcc for x86-64 here, or stepping through programs is not allowed';

async function rowsOf<View extends BranchView>(file: string, view: View): Promise<BranchRows[View][]> {
  const { status, out, err } = await counterpoint('report', '-i', file, `--branch-stack=${view}`, '--json');
  assert.equal(status, 0, err);
  const { events } = JSON.parse(out) as { events: BranchAnswer[] };
  assert.equal(events.length, 1);
  assert.equal(events[0]!.view, view);
  return events[0]!.rows as BranchRows[View][];
}

/** perf's rows of two symbols, without its empty entries: `count` by `from to`. */
function perfPairs(file: string, fields: string): Map<string, number> {
  const { stdout } = perf(['report', '-b', '--stdio', '-i', file, '-t', ';', '-F', fields]);
  const pairs = new Map<string, number>();
  for (const line of stdout.split('\n')) {
    const [count = '', ...texts] = line.split(';').map((text) => text.trim());
    if (!/^\d+$/.test(count) || texts.at(-1) === '[H] 0000000000000000') continue;
    const key = texts.join(' ');
    pairs.set(key, (pairs.get(key) ?? 0) + Number(count));
  }
  return pairs;
}

function ourPairs(rows: readonly BranchRows['functions'][]): Map<string, number> {
  const pairs = new Map<string, number>();
  for (const { from, to, count } of rows) {
    const key = `${plain(from)} ${plain(to)}`;
    pairs.set(key, (pairs.get(key) ?? 0) + count);
  }
  return pairs;
}

/** Stubs of the linkage table have no symbols of their own for perf 6.1: it counts them to what is before. */
const plain = ({ mode, symbol }: { mode: string; symbol: string }) =>
  `[${mode}] ${/@plt$|^_init$/.test(symbol) ? '_init' : symbol}`;

test('branches between functions are as many as perf counts', { skip: noPerf }, async (t) => {
  if (program === null) return t.skip(NOT_STEPPED);
  const theirs = perfPairs(stacks, 'sample,symbol_from,symbol_to');
  assert.ok(theirs.size > 50);
  assert.deepEqual(ourPairs(await rowsOf(stacks, 'functions')), theirs);
});

test('wrong guesses are as many as perf counts', { skip: noPerf }, async (t) => {
  if (program === null) return t.skip(NOT_STEPPED);
  const theirs = perfPairs(stacks, 'sample,mispredict,symbol_from,symbol_to');
  const wrong = [...theirs].filter(([key]) => key.startsWith('Y ')).map(([, count]) => count);
  const rows = await rowsOf(stacks, 'functions');
  const ours = rows.map(({ mispredicted }) => mispredicted!).filter((count) => count > 0);
  assert.ok(wrong.length > 20);
  const sum = (counts: number[]) => counts.reduce((total, count) => total + count, 0);
  assert.equal(sum(ours), sum(wrong));
  const places = await rowsOf(stacks, 'mispredicts');
  assert.equal(sum(places.map(({ mispredicted }) => mispredicted)), sum(wrong));
  assert.ok(Math.abs(sum(places.map(({ percent }) => percent)) - 100) < 1e-6);
});

test('captures of other machines: branches between functions as perf counts them', {
  skip: lacksCorpus('perfdata/quipper/perf.data.branch-4.14') || noPerf,
}, async () => {
  for (const name of ['branch-4.14', 'branch_stack_spec', 'callgraph_and_branch-3.4']) {
    const file = fileURLToPath(corpusUrl(`perfdata/quipper/perf.data.${name}`));
    const { status, out, err } = await counterpoint('report', '-i', file, '-b', '--json');
    assert.equal(status, 0, err);
    const theirs = perfPairs(file, 'sample,symbol_from,symbol_to');
    const ours = (JSON.parse(out) as { events: BranchAnswer[] }).events.flatMap(
      ({ rows }) => rows as BranchRows['functions'][],
    );
    const counts = ours.map(({ count }) => count);
    const sorted = (numbers: Iterable<number>) => [...numbers].sort((one, two) => two - one);
    const total = (numbers: Iterable<number>) => [...numbers].reduce((sum, number) => sum + number, 0);
    assert.ok(theirs.size > 30, name);
    assert.equal(total(counts), total(theirs.values()), name);
    // perf 6.1 names places of the recorded vdso by that of the machine it runs on.
    if (!name.endsWith('3.4')) assert.deepEqual(sorted(counts), sorted(theirs.values()), name);
  }
});

test('of all branches loops and blocks are counted as they ran', async (t) => {
  if (program === null) return t.skip(NOT_STEPPED);
  const { path, branches } = program;
  const ran = new Map<string, number>();
  for (const address of path) ran.set(inFile(address), (ran.get(inFile(address)) ?? 0) + 1);
  const loops = await rowsOf(whole, 'loops');
  assert.ok(loops.length > 20);
  for (const { first, iterations } of loops)
    assert.equal(iterations, ran.get(first.address), `${first.symbol}+${first.offset}`);
  const inner = loops.find(({ first }) => first.symbol === 'inner')!;
  // By the program's text: 150 calls with i % 17 + 3 rounds.
  const rounds = Array.from({ length: 150 }, (_, i) => (i % 17) + 3).reduce((sum, n) => sum + n, 0);
  assert.deepEqual([inner.iterations, inner.entries, inner.trips], [rounds, 150, rounds / 150]);
  const outer = loops.find(({ first }) => first.symbol === 'outer')!;
  assert.deepEqual([outer.iterations, outer.entries, outer.trips], [150, 1, 150]);
  assert.match(inner.first.srcline ?? '', /program\.c:7$/);

  const blocks = await rowsOf(whole, 'blocks');
  assert.equal(
    blocks.reduce((sum, { count }) => sum + count, 0),
    branches.length - 1,
  );
  const edges = await rowsOf(whole, 'edges');
  const taken = new Map<string, number>();
  for (const { from, to } of branches) {
    const key = `${inFile(from)} ${inFile(to)}`;
    taken.set(key, (taken.get(key) ?? 0) + 1);
  }
  assert.deepEqual(
    new Map(edges.map(({ from, to, count }) => [`${from.address} ${to.address}`, count])),
    taken,
  );
});

/** As rows say an address: its offset in the file. */
function inFile(address: bigint): string {
  const map = program!.maps.find(({ start, end }) => address >= start && address < end);
  return `0x${(map === undefined ? address : address - map.start + map.offset).toString(16)}`;
}

test('a sample of the branches gives nearly the same trip counts, and cycles', async (t) => {
  if (program === null) return t.skip(NOT_STEPPED);
  const loops = await rowsOf(stacks, 'loops');
  const exact = await rowsOf(whole, 'loops');
  for (const name of ['inner', 'outer']) {
    const sampled = loops.find(({ first }) => first.symbol === name)!;
    const { trips } = exact.find(({ first }) => first.symbol === name)!;
    // 32 of every 37 branches are in the file: seldom in the first or last round of the outer loop.
    if (name === 'inner') assert.ok(Math.abs(sampled.trips! / trips! - 1) < 0.1, `${sampled.trips} ${trips}`);
    else assert.ok(Math.abs(sampled.iterations / 150 - 32 / 37) < 0.1, String(sampled.iterations));
    assert.ok(sampled.cycles! > 0);
  }
  const blocks = await rowsOf(stacks, 'blocks');
  assert.ok(Math.abs(blocks.reduce((sum, { percent }) => sum + percent, 0) - 100) < 1e-6);
  // Stepping wrote as cycles the instructions since the branch before, and 15 for a wrong guess.
  // Which block is the hottest depends on the environment, which the start of a program reads.
  const hottest = blocks.find(({ first }) => first.symbol === 'inner')!;
  assert.equal(hottest.cycles, 8);
});

test('text, filters and refusals', async (t) => {
  if (program === null) return t.skip(NOT_STEPPED);
  const loops = await counterpoint('report', '-b', 'loops', whole, '--limit', '40');
  assert.equal(loops.status, 0, loops.err);
  assert.match(loops.out, /whether the CPU had guessed them is not known/);
  assert.match(loops.out, / 1629 +150 +10\.9 +- +program +program\.c:7 +\[\.\] inner\+0x[0-9a-f]+\.\.\+0x/);
  const cycles = await counterpoint('report', '--total-cycles', '-i', stacks, '--limit', '1');
  assert.match(cycles.out, /Sampled Cycles% +Sampled Cycles +Avg Cycles +Executions/);
  const functions = await counterpoint('report', '-b', stacks, '--symbols', 'outer', '-q');
  assert.ok(
    functions.out
      .trim()
      .split('\n')
      .every((line) => line.includes(' outer')),
    functions.out,
  );
  for (const words of [['-b', 'edges', '--stats'], ['-b', '--sort', 'dso'], ['--branch-stack=others']])
    assert.equal((await counterpoint('report', '-i', stacks, ...words)).status, 129, words.join(' '));
});

test('why there are no rows is told', async (t) => {
  if (program === null) return t.skip(NOT_STEPPED);
  const filtered = await counterpoint('report', '-b', whole, '--symbols', 'nowhere');
  assert.match(filtered.out, /^# Nothing passes --symbols nowhere/m);
  const unknown = await counterpoint('report', '-b', 'mispredicts', whole);
  assert.match(unknown.out, /No branch is known to have been mispredicted/);
});

test('a trace of single steps has the loops that its branches have, and no branch from nowhere', async (t) => {
  if (program === null) return t.skip(NOT_STEPPED);
  const command = ['--', join(folder, 'program')];
  for (const event of ['soft_pt//u', 'soft_bts//u']) {
    const output = join(folder, `${event.split('/')[0]}.data`);
    const { status, err } = await counterpoint('record', '-q', '-e', event, '-o', output, ...command);
    assert.equal(status, 0, err);
  }
  const [trace, records] = [join(folder, 'soft_pt.data'), join(folder, 'soft_bts.data')];
  const own = ({ first }: BranchRows['loops']) => ['inner', 'outer', 'main'].includes(first.symbol);
  const loops = (await rowsOf(trace, 'loops')).filter(own);
  assert.ok(loops.length >= 3);
  const plain = (rows: readonly BranchRows['loops'][]) =>
    rows
      .map(({ first, last, iterations, entries }) => [first.address, last.address, iterations, entries])
      .sort();
  assert.deepEqual(plain(loops), plain((await rowsOf(records, 'loops')).filter(own)));
  for (const { from, to } of await rowsOf(trace, 'edges'))
    assert.ok(from.address !== '0x0' && to.address !== '0x0');
});

test('a recording without branches says how to record some', async () => {
  const file = fileURLToPath(
    new URL('../../../../../../fixtures/perfdata/call-chains.data', import.meta.url),
  );
  const { status, err } = await counterpoint('report', '-i', file, '-b');
  assert.equal(status, 1);
  assert.match(err, /has no branches: no sample says where a branch went/);
  assert.match(err, /-e soft_bts\/\/u/);
});
