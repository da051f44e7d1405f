import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { counterpoint } from '../../../test/command-line.ts';
import { perfIsMissing } from '../../../test/perf.ts';

const folder = mkdtempSync(join(tmpdir(), 'counterpoint-diff-'));
after(() => rmSync(folder, { recursive: true }));

/** `second` works as long as the first argument says. */
const PROGRAM = `'use strict';
function first(n) { let t = 0; for (let i = 0; i < n; i++) t = (t * 31 + i) | 0; return t; }
function second(n) { let t = 1; for (let i = 0; i < n; i++) t = (t * 33 ^ i) | 0; return t; }
const factor = Number(process.argv[2]);
for (let round = 0; round < 40; round++) { first(2e6); second(2e6 * factor); }
`;

const path = (name: string) => join(folder, `${name}.data`);

async function record(name: string, factor: string): Promise<void> {
  const words = ['-q', '-g', '-e', 'cpu-clock', '-F', '2000', '-o', path(name)];
  const { status, err } = await counterpoint(
    'record',
    ...words,
    '--',
    process.execPath,
    join(folder, 'work.js'),
    factor,
  );
  assert.equal(status, 0, err);
}

before(async () => {
  writeFileSync(join(folder, 'work.js'), PROGRAM);
  await record('one', '1');
  await record('again', '1');
  await record('slow', '8');
});

test('a function that works eight times as long is found, and is the only one that grew', async () => {
  const { status, out } = await counterpoint('diff', '--json', path('one'), path('slow'));
  assert.equal(status, 0);
  const { rows, event } = JSON.parse(out);
  assert.equal(event, 'cpu-clock');
  // The share of `first` falls by as much as that of `second` grows: either may be the first row.
  const second = rows.find(({ symbol }: { symbol: string }) => /^JS:second /.test(symbol));
  assert.ok(rows.indexOf(second) === 0 || rows.indexOf(second) === 1, out);
  // A half of the two before, eight ninths after; Node's start takes its part.
  assert.ok(second.change > 20 && second.change < 60, JSON.stringify(second));
  const grown = rows.filter((row: { low: number }) => row.low > 0);
  assert.deepEqual(grown, [second]);
});

test('several recordings a side tell how much runs differ, one says that it does not', async () => {
  const alone = await counterpoint('diff', path('one'), path('again'));
  assert.match(alone.out, /^# One recording a side does not tell how much runs differ: only large changes/m);
  const sides = [`${path('one')},${path('again')}`, path('slow')];
  const { out, err } = await counterpoint('diff', ...sides);
  assert.doesNotMatch(out, /One recording a side/, err);
  assert.match(out, /^# Before: .*one\.data, .*again\.data, [\d,.]+k? samples of cpu-clock/m);
  const answer = JSON.parse((await counterpoint('diff', '--json', ...sides)).out);
  assert.deepEqual(
    [answer.before.recordings, answer.after.recordings, answer.isSpreadMeasured],
    [2, 1, true],
  );
  const second = answer.rows.find(({ symbol }: { symbol: string }) => /^JS:second /.test(symbol));
  assert.equal(second.beforeShares.length, 2);
  assert.ok(second.isBeyondNoise, JSON.stringify(second));
  const empty = await counterpoint('diff', `${path('one')},`, path('slow'));
  assert.equal(empty.status, 129);
  assert.match(empty.err, /has a comma without a recording/);
});

test('functions of Node count for those that called them, as in report', async () => {
  const program = join(folder, 'paths.js');
  writeFileSync(
    program,
    `'use strict';
const { posix } = require('node:path');
let length = 0;
function joins() { for (let i = 0; i < 3e6; i++) length += posix.normalize('/a/./b/../c/' + (i & 7)).length; }
joins();
`,
  );
  const words = ['-q', '-g', '-e', 'cpu-clock', '-F', '2000', '-o', path('paths'), '--', process.execPath];
  const { status, err } = await counterpoint('record', ...words, program);
  assert.equal(status, 0, err);
  /** Percent of the samples whose row's name is as asked for. */
  const share = async (name: RegExp, ...more: string[]): Promise<number> => {
    const { out } = await counterpoint('diff', '--all', '--json', ...more, path('paths'), path('paths'));
    const rows: { symbol: string; before: number }[] = JSON.parse(out).rows;
    return rows.filter(({ symbol }) => name.test(symbol)).reduce((sum, { before }) => sum + before, 0);
  };
  // Node resolves paths while it starts, too, for no function of the program: a few samples.
  const [ofNode, apart] = [await share(/ node:path/), await share(/ node:path/, '--no-fold')];
  assert.ok(apart > 20 && ofNode < apart / 4, `${ofNode} % folded, ${apart} % apart`);
  const [joins, itself] = [await share(/^JS:joins /), await share(/^JS:joins /, '--no-fold')];
  assert.ok(joins > itself + apart / 2, `${joins} % folded, ${itself} % apart`);
  const refused = await counterpoint('diff', '--no-js', '--fold', 'x', path('one'), path('slow'));
  assert.match(refused.err, /--fold does not go with it/);
});

test('--fail-over is for CI', async () => {
  const grew = await counterpoint('diff', '--fail-over', '5%', path('one'), path('slow'));
  assert.equal(grew.status, 4);
  assert.match(grew.err, /1 function grew by more than 5 points: second .* by \+\d/);
  assert.match(grew.out, /^ +\d+\.\d+% +\d+\.\d+% +\+\d+\.\d+ {2}\+.* second /m);
  assert.equal((await counterpoint('diff', '--fail-over', '60', path('one'), path('slow'))).status, 0);
  assert.equal((await counterpoint('diff', '--fail-over', '5%', path('one'), path('again'))).status, 0);
});

test('shares are those of perf diff', { skip: perfIsMissing() }, async () => {
  const { out } = await counterpoint('diff', '--no-js', '--json', path('one'), path('slow'));
  const ours = new Map<string, { before: number; change: number }>();
  for (const row of JSON.parse(out).rows) ours.set(`${row.symbol} ${row.dso}`, row);
  const theirs = spawnSync('perf', ['diff', path('one'), path('slow')], { encoding: 'utf8' }).stdout;
  let compared = 0;
  for (const [, share, change, dso, symbol] of theirs.matchAll(
    /^ +(\d+\.\d+)% +([+-]\d+\.\d+)% +(\S+) +\[.\] (\S+)$/gm,
  )) {
    // perf counts tiers and copies of a function of JavaScript apart.
    const row = ours.get(`${symbol} ${dso}`);
    if (row === undefined) continue;
    compared++;
    assert.ok(Math.abs(row.before - Number(share)) < 0.011, `${symbol}: ${share}, ${JSON.stringify(row)}`);
    assert.ok(Math.abs(row.change - Number(change)) < 0.011, `${symbol}: ${change}, ${JSON.stringify(row)}`);
  }
  assert.ok(compared >= 5, theirs);
});

test('what cannot be compared is refused, with what to do', async () => {
  const one = await counterpoint('diff', path('one'));
  assert.equal(one.status, 129);
  assert.match(one.err, /two or more recordings are compared, not 1/);
  const event = await counterpoint('diff', '--event', 'cycles', path('one'), path('again'));
  assert.equal(event.status, 1);
  assert.match(event.err, /has no event "cycles"[\s\S]*It has: cpu-clock/);
  const limit = await counterpoint('diff', '--fail-over', 'much', path('one'), path('again'));
  assert.equal(limit.status, 129);
  assert.match(limit.err, /--fail-over expects a number of percentage points/);
});
