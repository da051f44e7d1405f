import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { corpusText, corpusUrl, hasSharedCorpus } from '../../../../../core/src/test/corpus.ts';
import { counterpoint } from '../../../test/command-line.ts';

const OWN = fileURLToPath(corpusUrl('pt/own/'));
const { instructions } = JSON.parse(corpusText('pt/own/cyc.json')!);
const folder = mkdtempSync(join(tmpdir(), 'pt-calls-'));
after(() => rmSync(folder, { recursive: true }));

const PROGRAM = `${OWN}program.elf`;
const CLOCK = ['--mtc-freq', '3', '--nom-freq', '21', '--cpuid-0x15.eax', '1', '--cpuid-0x15.ebx', '84'];
const run = (...words: string[]) =>
  counterpoint('pt', 'calls', '--elf', PROGRAM, ...CLOCK, ...words, `${OWN}cyc.pt`);

test('the tree as text: what begins ends, and leaves are one line', async () => {
  const { status, out, err } = await run();
  assert.deepEqual([status, err], [0, '']);
  const lines = out.trimEnd().split('\n').slice(1);
  assert.match(lines[0]!, /^ +0\.000 +_start \{$/);
  let open = 0;
  for (const line of lines) {
    if (line.endsWith(' {')) open++;
    else if (/ \} /.test(line)) open--;
    assert.ok(open >= 0, line);
  }
  assert.equal(open, 0);
  assert.ok(lines.some((line) => line.includes('# unwound')));
  const shallow = await run('--depth', '2');
  // Our own program calls most from its outermost function.
  assert.ok(shallow.out.split('\n').length < lines.length / (hasSharedCorpus ? 10 : 1));
});

test('--json: each call as it ends; --from and --to', async () => {
  const { out } = await run(
    '--json',
    '--time-mult',
    '511305630',
    '--time-shift',
    '30',
    '--time-zero',
    '1000',
  );
  const calls = out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  const end = calls.pop();
  assert.equal(end.instructions, String(instructions));
  assert.equal(end.calls, String(calls.length));
  const outer = calls.find((call) => call.depth === 0);
  assert.deepEqual([outer.name, outer.kind, outer.caller], ['_start', 'root', null]);
  assert.ok(BigInt(outer.leaveNs) > BigInt(outer.enterNs));
  const middle = await run('--json', '--from', '50us', '--to', '60us');
  const part = middle.out
    .trimEnd()
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));
  assert.ok(part.length > 10 && part.length < calls.length / 2);
  const start = BigInt(end.startTsc);
  for (const { enterTsc } of part)
    assert.ok(BigInt(enterTsc) >= start + 105_000n && BigInt(enterTsc) <= start + 126_000n);
});

test('--function: how long it takes, by caller', async () => {
  const all = await run('--json');
  const counts = new Map<string, number>();
  for (const line of all.out.trimEnd().split('\n')) {
    const { name, kind, left } = JSON.parse(line);
    if (kind === 'call' && (left === 'return' || left === 'late'))
      counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const [name, count] = [...counts].sort((a, b) => b[1] - a[1])[0]!;
  const { out, status } = await run('--function', name, '--json');
  assert.equal(status, 0);
  const found = JSON.parse(out);
  assert.equal(found.name, name);
  assert.equal(found.ticks.count, count);
  assert.ok(found.ticks.min <= found.ticks.p50 && found.ticks.p50 <= found.ticks.max);
  const sum = found.callers.reduce(
    (total: number, caller: { ticks: { count: number } | null }) => total + (caller.ticks?.count ?? 0),
    0,
  );
  assert.equal(sum, count);
  const text = await run('--function', found.function);
  assert.match(text.out, /all callers/);
  assert.equal((await run('--function', 'no_such_function')).status, 1);
});

test('--function: where nothing was counted, and by an address in its middle', async () => {
  // The trace begins inside of it: no call of it was seen, which says nothing of the time.
  const root = await run('--function', '_start');
  assert.match(
    root.out,
    /^_start: 0 calls\n +not counted: 1 that did not return, or that began before the trace\n$/,
  );
  const named = await run('--function', 'fib');
  assert.match(named.out, /^fib: [\d,]{4,} calls \(time\)\n/);
  const address = Number(JSON.parse((await run('--function', 'fib', '--json')).out).function);
  assert.equal((await run('--function', `0x${(address + 0x20).toString(16)}`)).out, named.out);
  const words = ['--elf', PROGRAM, '--function', 'fib', `${OWN}base.pt`];
  assert.match((await counterpoint('pt', 'calls', ...words)).out, /the trace has no time/);
});

test('-o: the call tree in the formats of other tools', async () => {
  const path = join(folder, 'calls.folded');
  const { status, err } = await run('-o', path);
  assert.equal(status, 0);
  assert.match(err, /^Wrote /);
  let sum = 0;
  for (const line of readFileSync(path, 'utf8').trimEnd().split('\n'))
    sum += Number(line.slice(line.lastIndexOf(' ')));
  assert.equal(sum, instructions);
  const time = await run('-o', '-', '--format', 'folded', '--weight', 'time');
  assert.match(time.out, /\[not traced\]/);
  assert.equal((await run('-o', join(folder, 'calls.unknown'))).status, 129);
});

test('without times no columns of them; where no call begins in a time, when they do', async () => {
  const { out } = await counterpoint('pt', 'calls', '--elf', PROGRAM, `${OWN}base.pt`);
  const lines = out.trimEnd().split('\n');
  assert.match(lines[0]!, /^ +instructions$/);
  assert.match(lines[1]!, /^ +_start \{$/);
  assert.equal(lines[0]!.length, lines[1]!.indexOf('_start') - 2);
  assert.match((await run()).out, /^ +us +duration +instructions\n/);
  for (const json of [[], ['--json']]) {
    const late = await run('--from', '1s', '--to', '2s', ...json);
    assert.equal(late.status, 0);
    assert.match(
      late.err,
      /^counterpoint: no call begins within --from 1s and --to 2s: calls of this trace begin between 0\.000 and \d+\.\d{3} us after its start\.\n$/,
    );
    assert.equal(late.out === '', json.length === 0);
  }
});

test('what cannot be done is said', async () => {
  assert.equal((await counterpoint('pt', 'calls')).status, 129);
  assert.equal((await run('-o', 'x.svg', '--json')).status, 129);
  assert.equal((await run('--from', 'noon')).status, 129);
  const words = ['--elf', PROGRAM, '--from', '2ms', `${OWN}base.pt`];
  assert.match((await counterpoint('pt', 'calls', ...words)).err, /the length of a TSC tick/);
  const noTime = await counterpoint(
    'pt',
    'calls',
    '--elf',
    PROGRAM,
    '-o',
    '-',
    '-f',
    'folded',
    '--weight',
    'time',
    `${OWN}base.pt`,
  );
  assert.match(noTime.err, /no time/);
  const backwards = await run('--from', '60us', '--to', '50us');
  assert.deepEqual([backwards.status, backwards.out], [129, '']);
  assert.match(backwards.err, /--from 60us is later than --to 50us/);
  assert.match((await run('--from', '60us', '--to', '1')).err, /later than --to 1/);
  const untimed = await counterpoint(
    'pt',
    'calls',
    '--elf',
    PROGRAM,
    ...CLOCK,
    '--from',
    '1us',
    `${OWN}base.pt`,
  );
  assert.match(untimed.err, /the trace has no time/);
  assert.match((await run('--time-shift', '30')).err, /--time-shift has no effect without --time-mult/);
  assert.match((await run('--time-mult', '0')).err, /--time-mult expects/);
  const junk = await counterpoint('pt', 'calls', '--elf', PROGRAM, PROGRAM);
  assert.equal(junk.status, 1);
  assert.match(junk.err, /no synchronization point/);
  const noCode = await counterpoint('pt', 'calls', `${OWN}base.pt`);
  assert.match(noCode.err, /name it with --raw or --elf/);
});
