/** What is asked of a kernel with Intel PT, against what `perf record` asks: before the kernel answers. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { perfIsMissing } from '../../../test/perf.ts';
import { inPerfsWords, printedAttrs } from '../../../test/printed-attrs.ts';
import { PtMachine } from '../../../test/pt-machine.ts';
import type { RecordOptions } from '../record/index.ts';

const folder = mkdtempSync(join(tmpdir(), 'pt-attrs-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const EVENTS = [
  'intel_pt//',
  'intel_pt//u',
  'intel_pt//k',
  'intel_pt//uk',
  'intel_pt/tsc=0/u',
  'intel_pt/mtc=0/u',
  'intel_pt/mtc=0,mtc_period=0/u',
  'intel_pt/mtc_period=0/u',
  'intel_pt/mtc_period=6/u',
  'intel_pt/mtc,mtc_period=9/u',
  'intel_pt/cyc/u',
  'intel_pt/cyc,cyc_thresh=1/u',
  'intel_pt/cyc,cyc_thresh=13/',
  'intel_pt/psb_period=0/u',
  'intel_pt/psb_period=5/k',
  'intel_pt/noretcomp/u',
  'intel_pt/noretcomp=1,tsc=0/u',
  'intel_pt/pt=0/u',
  'intel_pt/branch=0,ptw/u',
  'intel_pt/ptw/u',
  'intel_pt/ptw,fup_on_ptw/u',
  'intel_pt/fup_on_ptw/u',
  'intel_pt/pwr_evt/',
  'intel_pt/pwr_evt,branch=0/k',
  'intel_pt/event/u',
  'intel_pt/notnt/u',
  'intel_pt/event,notnt,cyc/u',
  'intel_pt/tsc,mtc,cyc,noretcomp,ptw,fup_on_ptw,pwr_evt,event,notnt/',
  'intel_pt/config=0x2001/u',
  'intel_pt/cyc,name=trace/u',
];

const PROGRAM = `
  static int helper(int x) { return x * 3 + 1; }
  int work(int x) { return helper(x) + 2; }
  int main(int count, char **words) { return work(count) == 0; }
`;
/** A second file of the program, with functions of the same names. */
const SECOND = `
  static int helper(int x) { return x * 5 + 1; }
  int second(int x) { return helper(x) + 3; }
`;

/** Those that perf does not take, we do not either. */
const FILTERS = [
  'filter main @ ./prog',
  'filter main @ ./fixed',
  'filter main @ ./prog , filter work @ ./prog',
  'filter main @ ./prog filter work @ ./fixed',
  'start main @ ./prog , stop work @ ./prog',
  'filter work / main @ ./prog',
  'filter work / work @ ./prog',
  'filter work / 0x40 @ ./prog',
  'filter 0x1139/0x20 @ ./prog',
  'filter 0x1139 @ ./prog',
  'start 0x1139@./prog',
  'filter 4409 / main @ ./prog',
  'filter * @ ./prog',
  'tracestop helper @ ./fixed',
  'filter 0xffffffff81000000/0x10',
  'filter nosuch @ ./prog',
  'filter main',
  'filter helper @ ./prog',
  'filter helper #1 @ ./prog',
  'filter helper #2 @ ./prog',
  'filter helper #3 @ ./prog',
  'filter helper #g @ ./prog',
  'filter work #g @ ./prog',
  'filter work #0 / second #1 @ ./prog',
  'start helper #2 @ ./fixed , stop helper#2 @ ./fixed',
  'filter work #x @ ./prog',
  'filter schedule',
  'filter schedule / 0x100',
  'filter schedule #1',
  'filter schedule #g',
  'start schedule , stop vfs_read',
  'filter vfs_read / vfs_write',
  'filter cmp_range',
  'filter cmp_range #1',
  'filter cmp_range #2',
  'filter cmp_range #G',
  'filter no_such_function_of_the_kernel',
  'filter *',
  'filter main@./prog',
  'trace main @ ./prog',
  'filter main @',
];

function cannot(): string | false {
  if (spawnSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 'none', '/mnt']).status !== 0)
    return 'no mount namespace can be made here';
  return perfIsMissing();
}

/** Of two files, so that a name can be there twice. */
function compile(name: string, flags: readonly string[]): void {
  const sources = [PROGRAM, SECOND].map((text, at) => {
    const path = join(folder, `part-${at}.c`);
    writeFileSync(path, text);
    return path;
  });
  const built = spawnSync('gcc', ['-O0', ...flags, '-o', join(folder, name), ...sources]);
  assert.equal(built.status, 0, String(built.stderr));
}

const skip = cannot();

describe('Intel PT', { skip, timeout: 120_000 }, () => {
  let machine: PtMachine;
  before(() => {
    machine = new PtMachine(folder);
  });

  test('thirty events have the attr that perf prints', () => {
    assert.equal(EVENTS.length, 30);
    const ours = machine.plans(EVENTS.map((events) => ({ events })));
    for (const [at, event] of EVENTS.entries()) {
      const [theirs] = printedAttrs(machine.perfRecord(['-e', event]));
      assert.equal(theirs?.['aux_watermark'], '1048576', `perf takes ${event} for a trace`);
      const plan = ours[at]!;
      assert.ok(Array.isArray(plan), `${event}: ${JSON.stringify(plan)}`);
      assert.deepEqual(inPerfsWords(plan[0]!.attr), inPerfsWords(theirs!), event);
    }
  });

  test('samples with a part of the trace, snapshots and sizes of areas are those of perf', () => {
    const group = '{intel_pt//u,branch-misses:u}';
    const cases: [words: string[], request: RecordOptions][] = [
      [['-e', group, '--aux-sample'], { events: group, traceSampleBytes: 4096 }],
      [['-e', group, '--aux-sample=8192'], { events: group, traceSampleBytes: 8192 }],
      [
        ['-e', '{intel_pt/psb_period=3/u,branch-misses/aux-sample-size=10000/u}', '--aux-sample'],
        { events: '{intel_pt/psb_period=3/u,branch-misses/aux-sample-size=10000/u}', traceSampleBytes: 4096 },
      ],
      [['-e', 'intel_pt//u', '-S'], { events: 'intel_pt//u', traceSnapshots: 'when-asked' }],
      [
        ['-e', 'intel_pt//u', '-Se0x10000'],
        { events: 'intel_pt//u', traceSnapshots: 'and-at-end', traceSnapshotBytes: 0x10000 },
      ],
      [['-e', 'intel_pt//u', '-m', ',64K'], { events: 'intel_pt//u', traceBytes: 65_536 }],
    ];
    const ours = machine.plans(cases.map(([, request]) => request));
    for (const [at, [words]] of cases.entries()) {
      const text = machine.perfRecord(words);
      const theirs = printedAttrs(text).filter(({ type }) => type !== '1');
      const plan = ours[at]!;
      assert.ok(Array.isArray(plan), `${words}: ${JSON.stringify(plan)}`);
      const found = plan.filter(({ attr }) => attr['type'] !== 1).map(({ attr }) => inPerfsWords(attr));
      assert.deepEqual(found, theirs.map(inPerfsWords), words.join(' '));
      const [, area] = /^AUX area mmap length (\d+)$/m.exec(text)!;
      assert.equal(plan[0]!.aux!.sizeBytes, Number(area), words.join(' '));
      assert.equal(plan[0]!.aux!.overwrites, theirs[0]!['aux_watermark'] === undefined);
    }
  });

  test('address filters are those that perf gives the kernel, by function, number and range', () => {
    for (const [name, flags] of [
      ['prog', ['-pie']],
      ['fixed', ['-no-pie']],
    ] as const)
      compile(name, flags);
    const filters = FILTERS.map((filter) => filter.replaceAll('./', `${folder}/`));
    const ours = machine.plans(filters.map((filter) => ({ events: ['intel_pt//u'], filters: [filter] })));
    for (const [at, filter] of filters.entries()) {
      const text = machine.perfRecord(['-e', 'intel_pt//u', '--filter', filter]);
      const theirs = /^Address filter: (.*)$/m.exec(text)?.[1] ?? null;
      const plan = ours[at]!;
      if (theirs === null) {
        assert.ok(!Array.isArray(plan), filter);
        assert.equal(plan.code, 'ERR_FILTER', filter);
      } else {
        assert.ok(Array.isArray(plan), `${filter}: ${JSON.stringify(plan)}`);
        assert.equal(plan[0]!.filter, theirs, filter);
      }
    }
  });

  test('what the machine does not have, and what a trace cannot be, is refused as perf refuses it', () => {
    const cases: [words: string[], request: RecordOptions, code: string][] = [
      [['-e', 'intel_pt/mtc_period=1/u'], { events: 'intel_pt/mtc_period=1/u' }, 'ERR_TRACE_TERM'],
      [['-e', 'intel_pt/psb_period=6/u'], { events: 'intel_pt/psb_period=6/u' }, 'ERR_TRACE_TERM'],
      [['-e', 'intel_pt//u', '-e', 'intel_pt//k'], { events: 'intel_pt//u,intel_pt//k' }, 'ERR_TRACE_EVENT'],
      [['-e', 'intel_pt//u', '-k', 'monotonic'], { events: 'intel_pt//u', clockId: 1 }, 'ERR_TRACE_EVENT'],
      [['-e', 'cpu-clock', '-S'], { events: 'cpu-clock', traceSnapshots: 'when-asked' }, 'ERR_TRACE_EVENT'],
      [['-e', 'intel_pt//u', '-m', ',4K'], { events: 'intel_pt//u', traceBytes: 4096 }, 'ERR_AUX_AREA'],
    ];
    const ours = machine.plans(cases.map(([, request]) => request));
    for (const [at, [words, , code]] of cases.entries()) {
      assert.deepEqual(printedAttrs(machine.perfRecord(words)), [], words.join(' '));
      assert.equal((ours[at] as { code: string }).code, code, words.join(' '));
    }
  });
});
