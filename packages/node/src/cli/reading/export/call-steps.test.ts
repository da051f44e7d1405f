/** `--calls`: timelines of a trace's calls, against the calls and returns that perf sees in the same file. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { one, type PerfettoMessage, readPerfetto } from '../../../../../core/src/test/read-perfetto.ts';
import { noAssembler } from '../../../test/assembled-program.ts';
import { counterpoint } from '../../../test/command-line.ts';
import { perf, perfIsMissing, temporaryFolder } from '../../../test/perf.ts';

const PROGRAM = `
  static int leaf(int x) { return x * 3; }
  static int fibonacci(int n) { return n < 2 ? leaf(n) : fibonacci(n - 1) + fibonacci(n - 2); }
  static int even(int n);
  static int odd(int n) { return n == 0 ? leaf(0) : even(n - 1); }
  static int even(int n) { return n == 0 ? 1 : odd(n - 1); }
  int main(void) { return (fibonacci(7) + leaf(1) + leaf(2) + even(9)) == 0; }
`;
const OWN = ['leaf', 'fibonacci', 'odd', 'even', 'main'];

/** A call of a function of the program: which of its functions were open then, itself the last, and when. */
interface Call {
  path: string;
  timeNs: bigint;
}

/** perf prints each call and return; open calls are counted here. */
function callsOfPerf(path: string, names: ReadonlyMap<string, string>): Call[] {
  const text = perf('script', '-i', path, '--itrace=cr', '--ns', '-F', 'time,flags,ip,addr');
  const open: (string | undefined)[] = [];
  const calls: Call[] = [];
  for (const [, seconds, ns, flags, to] of text.matchAll(
    /^ *(\d+)\.(\d{9}): +(\w+) +[0-9a-f]+ => +([0-9a-f]+)/gm,
  )) {
    if (flags === 'return') open.pop();
    if (flags !== 'call') continue;
    open.push(names.get(to!));
    if (open.at(-1) === undefined) continue;
    calls.push({ path: open.filter((name) => name !== undefined).join(' '), timeNs: BigInt(seconds! + ns!) });
  }
  return calls;
}

interface Edge {
  /** Null: the innermost one ends. */
  name: string | null;
  timeNs: bigint;
}

/** Of slices that begin and end: all that begins ends, the innermost first, and time does not go back. */
function callsOfEdges(edges: readonly Edge[]): Call[] {
  const open: string[] = [];
  const calls: Call[] = [];
  let before = 0n;
  for (const { name, timeNs } of edges) {
    assert.ok(timeNs >= before);
    before = timeNs;
    if (name === null) assert.notEqual(open.pop(), undefined);
    else {
      open.push(name);
      if (OWN.includes(name)) calls.push({ path: open.filter((one) => OWN.includes(one)).join(' '), timeNs });
    }
  }
  assert.deepEqual(open, []);
  return calls;
}

function chromeEdges(text: string): Edge[] {
  const { traceEvents } = JSON.parse(text) as { traceEvents: { ph: string; name: string }[] };
  const digits = [...text.matchAll(/"ts":(\d+)\.(\d{3})/g)].map(([, us, ns]) => BigInt(us! + ns!));
  return traceEvents
    .filter(({ ph }) => ph !== 'M')
    .map(({ ph, name }, at) => ({ name: ph === 'B' ? name : null, timeNs: digits[at]! }));
}

function perfettoEdges(bytes: Uint8Array): Edge[] {
  return readPerfetto(bytes)
    .events.filter(({ type }) => type !== 'INSTANT')
    .map(({ type, name, timestampNs, track }) => {
      assert.ok(one<PerfettoMessage>(track, 'thread') !== undefined);
      return { name: type === 'SLICE_BEGIN' ? name : null, timeNs: timestampNs };
    });
}

/** The profiler of Firefox has no slices: a sample behind each call and return, with the stack of then. */
function firefoxPaths(text: string): string[] {
  const { threads, shared } = JSON.parse(text);
  assert.equal(threads.length, 1);
  const { stackTable, frameTable, funcTable, stringArray } = shared;
  const pathOf = (stack: number | null): string => {
    if (stack === null) return '';
    const name: string = stringArray[funcTable.name[frameTable.func[stackTable.frame[stack]]]];
    const before = pathOf(stackTable.prefix[stack]);
    return OWN.includes(name) ? `${before} ${name}`.trim() : before;
  };
  return threads[0].samples.stack.map(pathOf);
}

test('each call of a trace is a slice, in the nesting and at the time that perf sees', {
  skip: noAssembler || perfIsMissing(),
  timeout: 120_000,
}, async (t) => {
  const folder = temporaryFolder(t);
  const [source, program, path] = ['program.c', 'program', 'perf.data'].map((name) => join(folder, name));
  writeFileSync(source!, PROGRAM);
  const flags = ['-O0', '-static', '-no-pie', '-fcf-protection=none'];
  assert.equal(spawnSync('gcc', [...flags, '-o', program!, source!]).status, 0);
  const symbols = spawnSync('nm', [program!], { encoding: 'utf8' }).stdout;
  const names = new Map(
    [...symbols.matchAll(/^0*([0-9a-f]+) [tT] (\w+)$/gm)].flatMap(([, address, name]) =>
      OWN.includes(name!) ? [[address!, name!]] : [],
    ),
  );
  assert.equal(names.size, OWN.length);
  const words = ['record', '-e', 'soft_pt//u', '--soft-way', 'fast', '-o', path!, '--', program!];
  const recorded = await counterpoint(...words);
  assert.equal(recorded.status, 0, recorded.err);
  const expected = callsOfPerf(path!, names);
  assert.ok(expected.length > 60, `${expected.length} calls`);
  assert.ok(expected.some(({ path }) => path === 'main even odd even odd even odd even odd even odd leaf'));

  const chrome = await counterpoint('export', '-i', path!, '-f', 'chrome', '-o', '-');
  assert.equal(chrome.status, 0, chrome.err);
  assert.doesNotMatch(chrome.err, /timeline of samples/);
  assert.deepEqual(callsOfEdges(chromeEdges(chrome.out)), expected);

  const perfetto = join(folder, 'calls.pftrace');
  const written = await counterpoint('export', '-i', path!, '-o', perfetto);
  assert.equal(written.status, 0, written.err);
  assert.deepEqual(callsOfEdges(perfettoEdges(readFileSync(perfetto))), expected);

  const firefox = await counterpoint('export', '-i', path!, '--calls', '-f', 'firefox', '-o', '-');
  assert.equal(firefox.status, 0, firefox.err);
  // Where the stack has grown, a function was called.
  const paths = firefoxPaths(firefox.out);
  const grown = paths.filter((one, at) => one.length > (paths[at - 1] ?? '').length);
  assert.deepEqual(
    grown,
    expected.map((call) => call.path),
  );
});

test('what has no trace has no calls: it is said, with how to record some', {
  skip: perfIsMissing(),
}, async (t) => {
  const path = join(temporaryFolder(t), 'perf.data');
  perf(
    'record',
    '-q',
    '-e',
    'cpu-clock:u',
    '-c',
    '100000',
    '-o',
    path,
    '--',
    'sh',
    '-c',
    'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done',
  );
  const asked = await counterpoint('export', '-i', path, '--calls', '-f', 'firefox', '-o', '-');
  assert.notEqual(asked.status, 0);
  assert.match(asked.err, /has no hardware trace.*\n.*pt record/);
  const sampled = await counterpoint('export', '-i', path, '-f', 'chrome', '-o', '-');
  assert.equal(sampled.status, 0, sampled.err);
  assert.match(sampled.err, /this is a timeline of samples/);
  const both = await counterpoint('export', '-i', path, '--calls', '--itrace=i1i', '-f', 'chrome', '-o', '-');
  assert.equal(both.status, 129);
  assert.match(both.err, /--calls and --itrace exclude each other/);
});
