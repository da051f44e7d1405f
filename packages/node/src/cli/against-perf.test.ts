import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { demangle } from '@counterpoint/core/symbols';
import { counterpoint } from '../test/command-line.ts';
import { perf, perfIsMissing } from '../test/perf.ts';
import { removePerfMap } from '../test/perf-maps.ts';
import { SPIN_CPU_SOURCE } from '../test/until-told.ts';

const PROGRAM = `${SPIN_CPU_SOURCE}
function fibonacci(n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
spinCpu(1200, () => {
  fibonacci(16);
  JSON.parse(JSON.stringify(Array.from({ length: 300 }, (_, i) => ({ i, text: 'x'.repeat(i % 30) }))));
  [5, 3, 9, 1].sort((a, b) => a - b);
  require('node:zlib').deflateSync('some text to be compressed '.repeat(200));
});`;

/** The rows of a report: share and label, without comments. */
function rows(text: string): string[] {
  return text
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('#'))
    .map((line) => line.trim().replace(/\s+/g, ' '));
}

/**
 * The first rows of a report, in an order of their own. Which of several rows of equal share come first is
 * chance: those that lie at the cut are left out.
 */
function topRows(lines: readonly string[], count: number): string[] {
  const shareOf = (line: string | undefined) => line?.split(' ', 1)[0];
  const atCut = lines.length > count ? shareOf(lines[count]) : undefined;
  return lines
    .slice(0, count)
    .filter((line) => shareOf(line) !== atCut)
    .sort();
}

/**
 * Names of C++20 (constrained templates, as newer versions of Node have them)
 * that perf 6.1 leaves as they are.
 */
const demangled = (text: string) => text.replace(/\b_Z[\w.$]+/g, (name) => demangle(name));

/** What perf prints, with those names read. */
const theirText = (...words: string[]) => demangled(perf(...words));

/**
 * Without what perf 6.1 names otherwise: calls through the PLT of some libraries are "@plt" only, and where
 * V8 has put new code in the place of old code perf keeps the old name; its rows are copies of JavaScript
 * functions, ours are functions. A caller at address 0, where frame pointers led astray, is the kernel's or
 * not to perf by the row before it.
 */
const isOtherwise = (line: string) => /@plt|perf-\d+\.map|\[JIT\]|\[unknown\].* (?:0x)?0{16}$/.test(line);
const comparable = (lines: string[]) => lines.filter((line) => !isOtherwise(line));

/**
 * The lines of both without those that one of them has otherwise: a call through the
 * PLT may be `[unknown]` to perf.
 */
function comparablePairs(ours: string[], theirs: string[]): [string[], string[]] {
  assert.equal(ours.length, theirs.length);
  const isKept = (_: string, at: number) => !isOtherwise(ours[at]!) && !isOtherwise(theirs[at]!);
  return [ours.filter(isKept), theirs.filter(isKept)];
}

describe('a recording of perf, read by both', { skip: perfIsMissing() }, () => {
  const dir = mkdtempSync(join(tmpdir(), 'counterpoint-test-'));
  const file = join(dir, 'perf.data');

  before(() => {
    writeFileSync(
      join(dir, 'program.js'),
      `${PROGRAM}\nrequire('node:fs').writeFileSync('pid', String(process.pid));\n`,
    );
    const node = [
      process.execPath,
      '--perf-basic-prof',
      '--interpreted-frames-native-stack',
      join(dir, 'program.js'),
    ];
    execFileSync('perf', ['record', '-F', '2000', '-g', '-e', 'cpu-clock', '-o', file, '--', ...node], {
      stdio: 'ignore',
      // V8 leaves a log of its own where it runs.
      cwd: dir,
    });
  });
  after(() => {
    removePerfMap(Number(readFileSync(join(dir, 'pid'), 'utf8')));
    rmSync(dir, { recursive: true, force: true });
  });

  test('the top 20 functions by own time', async () => {
    const ours = await counterpoint('report', '--no-children', '-i', file);
    assert.equal(ours.status, 0, ours.err);
    const theirs = rows(theirText('report', '--no-children', '--stdio', '-g', 'none', '-i', file));
    assert.deepEqual(topRows(comparable(rows(ours.out)), 20), topRows(comparable(theirs), 20));
  });

  test('the shares of functions with callees', async () => {
    const ours = rows((await counterpoint('report', '--no-js', '--children', '-i', file)).out);
    const theirs = rows(theirText('report', '--children', '--stdio', '-g', 'none', '-i', file));
    assert.deepEqual(topRows(comparable(ours), 60), topRows(comparable(theirs), 60));
  });

  test('other sort keys', async () => {
    const ours = rows((await counterpoint('report', '--no-children', '--sort', 'dso', '-i', file)).out);
    const theirs = rows(
      perf('report', '--no-children', '--sort', 'dso', '--stdio', '-g', 'none', '-i', file),
    );
    assert.deepEqual(ours.sort(), theirs.sort());
  });

  test('script: every line', async () => {
    const ours = (await counterpoint('script', '-i', file)).out.split('\n');
    const theirs = theirText('script', '-i', file).split('\n');
    const [kept, expected] = comparablePairs(ours, theirs);
    assert.ok(kept.length > ours.length / 2);
    assert.deepEqual(kept, expected);
    // JIT code where perf keeps the name of what was there before is the exception.
    const isJit = (line: string) => line.includes('(/tmp/perf-');
    const differing = ours.filter((line, i) => isJit(line) && line !== theirs[i]);
    assert.ok(differing.length <= ours.filter(isJit).length * 0.03, differing.slice(0, 5).join('\n'));
  });

  test('script without call chains, with nanoseconds, chosen fields', async () => {
    for (const words of [
      ['-G', '--ns'],
      ['-F', 'comm,tid,time,event,ip,sym,dso'],
      ['-G', '-F', 'pid,tid,period,ip'],
    ]) {
      const ours = (await counterpoint('script', ...words, '-i', file)).out;
      const theirs = theirText('script', ...words, '-i', file);
      const [kept, expected] = comparablePairs(ours.split('\n'), theirs.split('\n'));
      assert.deepEqual(kept, expected, words.join(' '));
    }
  });

  test('statistics', async () => {
    const counts = (text: string) =>
      Object.fromEntries(
        [...text.matchAll(/^ *(\w+) events: +(\d+)/gm)].map(([, name, count]) => [name, count]),
      );
    const ours = await counterpoint('report', '--stats', '-i', file);
    assert.deepEqual(counts(ours.out), counts(perf('report', '--stats', '-i', file)));
    const json = JSON.parse((await counterpoint('report', '--stats', '--json', '-i', file)).out);
    const lines = perf('script', '-G', '-F', 'period', '-i', file).trim().split('\n');
    assert.equal(json.samples, lines.length);
    assert.equal(json.sumPeriod, String(lines.reduce((sum, line) => sum + Number(line), 0)));
  });

  test('folded stacks hold every sample', async () => {
    const { out, status } = await counterpoint(
      'export',
      '--format',
      'folded',
      '--weight',
      'samples',
      '-o',
      '-',
      '-i',
      file,
    );
    assert.equal(status, 0);
    const total = out
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
    const samples = perf('script', '-G', '-F', 'ip', '-i', file).trim().split('\n').length;
    assert.equal(total, samples);
  });
});

/**
 * Tracepoints whose text needs no kernel symbols, with flags, symbolic names, arrays
 * and texts among their fields.
 */
const TRACEPOINTS = [
  'sched:sched_switch',
  'sched:sched_wakeup',
  'sched:sched_process_exec',
  'irq:softirq_entry',
  'raw_syscalls:sys_enter',
  'raw_syscalls:sys_exit',
  'syscalls:sys_enter_openat',
  'task:task_newtask',
  'signal:signal_generate',
];

function canRecordTracepoints(): boolean {
  const words = ['record', '-q', '-o', '/dev/null', '-e', TRACEPOINTS.join(','), '--', 'true'];
  return spawnSync('perf', words, { stdio: 'ignore' }).status === 0;
}

const noTracepoints =
  perfIsMissing() || (canRecordTracepoints() ? false : 'tracepoints cannot be recorded here');

test('tracepoints read as perf prints them', { skip: noTracepoints }, async () => {
  const dir = mkdtempSync(join(tmpdir(), 'counterpoint-test-'));
  try {
    const file = join(dir, 'perf.data');
    const words = [
      'record',
      '-q',
      '-o',
      file,
      '-e',
      TRACEPOINTS.join(','),
      '--',
      'sh',
      '-c',
      'ls /usr | cat',
    ];
    execFileSync('perf', words, { stdio: 'ignore' });
    const lines = perf('script', '-i', file).split('\n');
    assert.ok(lines.length > 100);
    assert.deepEqual((await counterpoint('script', '-i', file)).out.split('\n'), lines);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});
