/** What the options ask of the kernel, against what perf asks; and what comes of it. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { counterpoint } from '../../../test/command-line.ts';
import { perf, perfIsMissing, temporaryFolder } from '../../../test/perf.ts';

const skip =
  perfIsMissing() || (process.arch === 'x64' ? false : 'weights and registers are those of x86-64');

interface Attr {
  [field: string]: string | number;
}

/** perf's names of the bits of sample_type, in their order; it prints none for TRANSACTION. */
const SAMPLE_BITS =
  'IP TID TIME ADDR READ CALLCHAIN ID CPU PERIOD STREAM_ID RAW BRANCH_STACK REGS_USER STACK_USER WEIGHT DATA_SRC IDENTIFIER - REGS_INTR PHYS_ADDR AUX CGROUP DATA_PAGE_SIZE CODE_PAGE_SIZE WEIGHT_STRUCT'.split(
    ' ',
  );

function sampleType(text: string): number {
  return text.split('|').reduce((bits, name) => bits + 2 ** SAMPLE_BITS.indexOf(name), 0);
}

const READ_BITS = 'TOTAL_TIME_ENABLED TOTAL_TIME_RUNNING ID GROUP LOST'.split(' ');

function readFormat(text: string): number {
  return text.split('|').reduce((bits, name) => bits + 2 ** READ_BITS.indexOf(name), 0);
}

/** The attr that perf prints before it opens an event. */
function perfsAttr(words: string[]): Map<string, string> {
  const args = ['record', '-vv', '-e', 'cpu-clock', ...words, '-o', '/dev/null', 'true'];
  const { stderr } = spawnSync('perf', args, { encoding: 'utf8' });
  const first = stderr.split('perf_event_attr:')[1]!.split('-----')[0]!;
  const pairs = first.split('\n').map((line) => /^\s+(.*?)\s+(\S+)$/.exec(line));
  return new Map(pairs.filter((pair) => pair !== null).map(([, name, value]) => [name!, value!]));
}

async function ourAttr(words: string[]): Promise<Attr> {
  const { out, err, status } = await counterpoint(
    'record',
    '--plan',
    '--json',
    '-e',
    'cpu-clock',
    ...words,
    'true',
  );
  assert.equal(status, 0, err);
  return JSON.parse(out).opens[0].attr;
}

describe('the attr is perf’s', () => {
  const FLAGS =
    'mmap_data context_switch namespaces cgroup exclude_callchain_user inherit_stat bpf_event use_clockid freq'.split(
      ' ',
    );
  for (const words of [
    ['-d'],
    ['-d', '--phys-data'],
    ['--data-page-size'],
    ['--code-page-size'],
    ['-W'],
    ['-R'],
    ['--sample-cpu'],
    ['-P', '-c', '1000000'],
    ['--intr-regs=ax,bx'],
    ['--user-regs=ip,sp'],
    ['--intr-regs'],
    ['--switch-events'],
    ['--namespaces'],
    ['--all-cgroups'],
    ['--call-graph', 'dwarf,4096'],
    ['-T'],
    ['-s'],
    ['-n'],
    ['--no-bpf-event'],
    ['-k', 'mono'],
  ])
    test(`record ${words.join(' ')}`, { skip }, async () => {
      const theirs = perfsAttr(words);
      const ours = await ourAttr(words);
      const expected = sampleType(theirs.get('sample_type')!);
      // With copies of stacks perf samples addresses, too, for the maps of data that come with them.
      const isDwarf = words.includes('dwarf,4096');
      const added = isDwarf ? sampleType('ADDR|DATA_SRC') : 0;
      assert.equal(Number(ours['sample_type']), expected - added);
      for (const flag of FLAGS) assert.equal(ours[flag] ?? 0, Number(theirs.get(flag) ?? 0), flag);
      assert.equal(Number(ours['read_format']), readFormat(theirs.get('read_format')!));
      const rate = theirs.get('{ sample_period, sample_freq }') ?? 0;
      assert.equal(Number(ours['sample_period'] ?? ours['sample_freq'] ?? 0), Number(rate));
      assert.equal(Number(ours['clockid'] ?? 0), Number(theirs.get('clockid') ?? 0));
      for (const mask of ['sample_regs_intr', 'sample_regs_user'])
        assert.equal(Number(ours[mask] ?? 0), Number(theirs.get(mask) ?? 0), mask);
    });
});

test('registers that are none are named, with those that are', async () => {
  const { status, err } = await counterpoint('record', '--plan', '--intr-regs=ax,r99', 'true');
  assert.equal(status, 1);
  assert.match(err, /no register r99/);
  assert.match(err, /ax, bx|x0, x1/);
});

test('what was asked for is in the file, and perf reads it: switches, namespaces, cgroups, registers', {
  skip,
}, async (t) => {
  const data = join(temporaryFolder(t), 'perf.data');
  const parts = [
    '--switch-events',
    '--namespaces',
    '--all-cgroups',
    '--user-regs=ip,sp',
    '--intr-regs=ip',
    '-d',
  ];
  const command = ['sh', '-c', 'for i in 1 2 3 4 5; do sleep 0.01; done; exec unshare -U true'];
  const words = ['record', '-q', '-e', 'cpu-clock:u', '-F', '5000', ...parts, '-o', data, '--', ...command];
  const { status, err } = await counterpoint(...words);
  assert.equal(status, 0, err);
  const stats = JSON.parse((await counterpoint('report', '--stats', '--json', '-i', data)).out);
  assert.ok(stats.records.SWITCH > 5, `${stats.records.SWITCH} switches`);
  assert.ok(stats.records.NAMESPACES >= 2, 'of the command, and of unshare');
  const shown = perf(
    'script',
    '-i',
    data,
    '--show-switch-events',
    '--show-namespace-events',
    '--show-cgroup-events',
  );
  assert.equal(shown.match(/PERF_RECORD_SWITCH/g)?.length, stats.records.SWITCH);
  assert.equal(shown.match(/PERF_RECORD_NAMESPACES/g)?.length, stats.records.NAMESPACES);
  if (existsSync('/sys/fs/cgroup')) assert.match(shown, /PERF_RECORD_CGROUP cgroup: \d+ \//);
  const registers = perf('script', '-i', data, '-F', 'ip,uregs').trim().split('\n');
  assert.ok(registers.length > 0);
  for (const line of registers) {
    const [ip, values] = [line.trim().split(/\s+/)[0]!, / IP:0x([0-9a-f]+)/.exec(line)![1]!];
    assert.equal(Number(`0x${values}`), Number(`0x${ip}`), line);
  }
});

test('a filter holds for the tracepoint before it', { skip }, async (t) => {
  const data = join(temporaryFolder(t), 'perf.data');
  const record = (...words: string[]) =>
    counterpoint('record', '-q', '-o', data, ...words, '--', 'sh', '-c', 'ls /; ls /');
  const probe = await record('-e', 'syscalls:sys_enter_openat');
  if (probe.status !== 0) return t.skip('tracepoints may not be recorded here');
  const event = 'syscalls:sys_enter_exit_group';
  const { status, err } = await record(
    '-e',
    event,
    '--filter',
    'error_code == 0',
    '-e',
    event,
    '--filter',
    'error_code == 77',
  );
  assert.equal(status, 0, err);
  const { out } = await counterpoint('report', '--stats', '--json', '-i', data);
  const [kept, none] = JSON.parse(out).events;
  assert.ok(kept.samples >= 2, `${kept.samples} ends with status 0`);
  assert.equal(none.samples, 0);
  for (const [words, pattern] of [
    [['--filter', 'x == 1', '-e', event], /--filter stands before any event/],
    [['-e', 'cpu-clock', '--filter', 'x == 1'], /cpu-clock has no fields/],
    [['-e', event, '--filter', 'no_such_field == 1'], /does not accept the filter no_such_field == 1/],
  ] as const) {
    const refused = await record(...words);
    assert.notEqual(refused.status, 0);
    assert.match(refused.err, pattern);
  }
});
