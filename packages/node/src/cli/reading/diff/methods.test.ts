import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { counterpoint } from '../../../test/command-line.ts';
import { perf, perfIsMissing } from '../../../test/perf.ts';

const noPerf = perfIsMissing();
const folder = mkdtempSync(join(tmpdir(), 'counterpoint-methods-'));
after(() => rmSync(folder, { recursive: true }));
const data = (name: string) => join(folder, `${name}.data`);

/** `second` works as long as the macro says: of one recording a side only large changes are certain. */
const PROGRAM = `
__attribute__((noinline)) long first(long n) { long t = 1; while (n--) t = t * 3 + n / 5; return t; }
__attribute__((noinline)) long second(long n) { long t = 1; while (n--) t ^= t * 7 + n / 3; return t; }
int main() { long t = 0; for (int i = 0; i < 150; i++) t ^= first(400000 + i) + second(FACTOR * 400000 + i); return t & 1; }
`;

async function make(name: string, factor: string): Promise<void> {
  mkdirSync(join(folder, name));
  // The same name in each: binaries are compared by it.
  const program = join(folder, name, 'program');
  const { status } = spawnSync('gcc', [
    '-O2',
    '-g',
    `-DFACTOR=${factor}`,
    join(folder, 'work.c'),
    '-o',
    program,
  ]);
  assert.equal(status, 0);
  const words = ['record', '-q', '-e', 'cpu-clock:u', '-F', '2000', '-o', data(name), '--', program];
  assert.equal((await counterpoint(...words)).status, 0);
}

before(async () => {
  writeFileSync(join(folder, 'work.c'), PROGRAM);
  await make('one', '1');
  await make('slow', '8');
  await make('slower', '24');
});

interface Row {
  symbol: string;
  before: number;
  after: number;
  change: number | null;
  isBeyondNoise: boolean;
}

for (const [method, words, form] of [
  ['delta', [], (row: Row) => `${row.change! < 0 ? '-' : '+'}${Math.abs(row.change!).toFixed(2)}%`],
  ['ratio', [], (row: Row) => row.change!.toFixed(6)],
  ['wdiff:1,2', [], (row: Row) => String(row.change)],
] as const)
  test(`${method}: the figures of perf diff`, { skip: noPerf }, async () => {
    const text = perf('diff', '-c', method, ...words, data('one'), data('slow'));
    const { out } = await counterpoint('diff', '--json', '-c', method, data('one'), data('slow'));
    const rows: Row[] = JSON.parse(out).rows;
    for (const symbol of ['first', 'second']) {
      const line = text.split('\n').find((one) => one.endsWith(`[.] ${symbol}`))!;
      const [share, change] = line.trim().split(/\s+/);
      const row = rows.find((one) => one.symbol === symbol)!;
      assert.equal(`${row.before.toFixed(2)}%`, share);
      assert.equal(form(row), change);
      assert.ok(row.isBeyondNoise || method !== 'delta');
    }
  });

test('several recordings are each compared with the first', async () => {
  const files = [data('one'), data('slow'), data('slower')];
  const { out } = await counterpoint('diff', ...files);
  assert.match(out, /^# #2 +: .*slower\.data/m);
  const [, ...changes] = /^ *[\d.]+% +\+([\d.]+)\* +\+([\d.]+)\* +second \(program\)$/m
    .exec(out)!
    .map(Number);
  // A half before, eight ninths and 24 parts of 25 after.
  assert.ok(changes[1]! > changes[0]! + 3, changes.join());
  const json = JSON.parse((await counterpoint('diff', '--json', ...files)).out);
  assert.deepEqual(json.recordings, files);
  const pair = JSON.parse((await counterpoint('diff', '--json', files[0]!, files[2]!)).out);
  const second = ({ rows }: { rows: Row[] }) => rows.find(({ symbol }) => symbol === 'second')!;
  assert.equal(second(json.comparisons[1]).change, second(pair).change);
});

test('rows by binary, file and line', async () => {
  const rowsOf = async (sort: string) => {
    const words = ['diff', '--json', '--sort', sort, data('one'), data('slow')];
    return JSON.parse((await counterpoint(...words)).out).rows;
  };
  const [binary] = (await rowsOf('binary')).sort((a: Row, b: Row) => b.after - a.after);
  assert.equal(binary.dso, 'program');
  // Of all the time, in both; the slower run has less of its start in it, which may be certain.
  assert.ok(binary.before > 90 && binary.after > 90);
  const files = await rowsOf('file');
  assert.ok(files.some(({ labels }: { labels: { srcfile: string } }) => labels.srcfile.endsWith('/work.c')));
  const [line] = await rowsOf('line');
  assert.match(line.labels.srcline, /work\.c:[23]$/);
});

test('--fail-over with ratio is about what was counted', async () => {
  const grew = await counterpoint('diff', '-c', 'ratio', '--fail-over', '40%', data('one'), data('slow'));
  assert.equal(grew.status, 4);
  assert.match(grew.err, /1 function grew by more than 40 % of before: second \(program\) by \d+\.\d %/);
  const all = await counterpoint('diff', '-c', 'ratio', '--fail-over', '500', data('one'), data('slow'));
  assert.equal(all.status, 0);
  const points = await counterpoint('diff', '--fail-over', '5', data('one'), data('slow'), data('slower'));
  assert.equal(points.status, 4);
  const weighted = await counterpoint(
    'diff',
    '-c',
    'wdiff:1,1',
    '--fail-over',
    '5',
    data('one'),
    data('slow'),
  );
  assert.equal(weighted.status, 129);
});

test('-o writes a flame graph of both, and --fail-over still has its status', async () => {
  const picture = join(folder, 'changes.svg');
  const words = ['diff', '-o', picture, '--fail-over', '3', data('one'), data('slow')];
  const { status, out, err } = await counterpoint(...words);
  assert.equal(status, 4);
  assert.equal(out, '');
  assert.match(err, /^Wrote .*changes\.svg: [\d.]+ KB\.$/m);
  const svg = readFileSync(picture, 'utf8');
  assert.match(svg, /one\.data → slow\.data/);
  // The function that works twice as long is red, the other blue.
  const colours = [...svg.matchAll(/<path class="c(\d+)"/g)].map(([, shade]) => Number(shade));
  assert.ok(colours.some((shade) => shade > 5) && colours.some((shade) => shade < 5), colours.join());
  const three = await counterpoint('diff', '-o', picture, data('one'), data('slow'), data('slower'));
  assert.equal(three.status, 129);
  const other = await counterpoint('diff', '-o', join(folder, 'changes.png'), data('one'), data('slow'));
  assert.match(other.err, /a file that ends in \.svg/);
});

test('what cannot be compared is refused', async () => {
  for (const [words, message] of [
    [[data('one')], /two or more recordings/],
    [['-c', 'cycles', data('one'), data('one')], /wdiff:BEFORE,AFTER/],
    [['-c', 'wdiff:1', data('one'), data('one')], /wdiff:BEFORE,AFTER/],
    [['--sort', 'tier', data('one'), data('one')], /function, file, line, binary/],
    [['--sort', 'nothing', data('one'), data('one')], /unknown sort key/],
  ] as const) {
    const { status, err } = await counterpoint('diff', ...words);
    assert.ok(status !== 0, words.join(' '));
    assert.match(err, message);
  }
});
