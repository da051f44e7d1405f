import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { examineMachine } from '../../../linux/kernel/probe/index.ts';
import { realSys } from '../../../linux/kernel/sys/index.ts';
import { counterpoint } from '../../../test/command-line.ts';
import { temporaryFolder } from '../../../test/perf.ts';
import { C_LIBRARY, probesAreMissing } from '../../../test/probe-programs.ts';
import { noKernelPart, noWholeCpus } from '../../../test/rights.ts';
import {
  asTraced,
  type PlannedOpen,
  straceIsMissing,
  traceCommandLines,
} from '../../../test/traced-opens.ts';

const LINES = [
  ['-e', 'cpu-clock,faults', '-g', 'true'],
  ['-e', '{cpu-clock,faults}', '-c', '1000', 'true'],
  ['-e', 'task-clock:u', '-F', '999', '-D', '5', 'sleep', '0.01'],
  ['-a', '-e', 'cpu-clock', 'true'],
  // The kernel is not asked for call chains that the handler finds.
  ['-e', 'cpu-clock', '-F', '1000', '--format', 'stacks', 'true'],
];

const canRecord = examineMachine(realSys, 1).canRecord;
// What the kernel then refuses an ordinary user changes what follows.
const skip = canRecord ? straceIsMissing() || noKernelPart || noWholeCpus : 'no recording here';

test('record --plan says what record then opens', { skip }, async (t) => {
  const folder = temporaryFolder(t);
  const words = LINES.map((line) => ['record', '-o', join(folder, 'perf.data'), '-q', ...line]);
  const traced = traceCommandLines(words, folder);
  for (const [at, line] of LINES.entries()) {
    const { out } = await counterpoint('record', '--plan', '--json', ...line);
    const { opens, verb } = JSON.parse(out) as { opens: PlannedOpen[]; verb: string };
    assert.equal(verb, 'record');
    // 0 is the recorder itself: a ring that keeps what has no handler, and measures nobody.
    const ofTarget = traced[at]!.filter(({ pid }) => pid !== 0);
    assert.deepEqual(opens.map(asTraced), ofTarget, line.join(' '));
    assert.ok(opens.length > 1);
  }
});

const noProbes = skip || probesAreMissing();

test('record --plan says how a probe is opened that children inherit', { skip: noProbes }, async (t) => {
  const folder = temporaryFolder(t);
  const line = ['-e', `{uprobe:${C_LIBRARY}:kill,faults}`, 'true'];
  const [traced] = traceCommandLines([['record', '-o', join(folder, 'perf.data'), '-q', ...line]], folder);
  const { out } = await counterpoint('record', '--plan', '--json', ...line);
  const { opens } = JSON.parse(out) as { opens: PlannedOpen[] };
  // The number of the probe is the kernel's.
  for (const { attr } of traced!) if (attr['type'] === 2n) delete attr['config'];
  assert.deepEqual(opens.map(asTraced), traced);
  assert.deepEqual(
    opens.slice(0, 2).map(({ event }) => event),
    ['dummy:u', `uprobe:${C_LIBRARY}:kill`],
  );
  const text = await counterpoint('record', '--plan', ...line);
  assert.match(text.out, /probe in \/\S+ at 0x[0-9a-f]+, defined in tracefs \(uprobe_events\)/);
  const alone = await counterpoint('record', '--plan', '-i', ...line);
  assert.match(alone.out, /probe in \/\S+ at 0x[0-9a-f]+$/m);
});

test('record --plan says what formats would load', { skip }, async () => {
  const words = [
    'record',
    '--plan',
    '-e',
    'cpu-clock',
    '-c',
    '1000000',
    '-g',
    '--format',
    'histogram,max-entries=77',
  ];
  const { out, err } = await counterpoint(...words, '--format', 'off-cpu', '--format', 'histogram', '-a');
  assert.match(out, /^format histogram: 1 program, \d+ maps$/m);
  assert.match(out, /^ {4}program histogram_0 \(perf-event\) on cpu-clock: \d+ instructions$/m);
  assert.match(out, /^ {4}map records \(array\): \d+ entries, key 4 and value 32 bytes$/m);
  assert.match(out, /^ {4}map notify \(ring-buffer\): 4\.00 KB$/m);
  assert.match(out, /^ {4}program off_cpu_switch \(tracepoint\) on sched:sched_switch: \d+ instructions$/m);
  // Two copies of the format, one line.
  assert.equal(err.match(/histogram keeps no call chains/g)?.length, 1);
  assert.doesNotMatch(err, /memory/);
  const large = await counterpoint(
    'record',
    '--plan',
    '-e',
    'cpu-clock',
    '--format',
    'stacks,max-entries=16M',
    '-a',
  );
  assert.match(large.err, /stacks: its maps take \d+\.\d GB of memory with these options/);
  const { formats } = JSON.parse((await counterpoint(...words, '--json', 'true')).out);
  assert.deepEqual(
    formats.map(({ name, programs }: { name: string; programs: { on: string }[] }) => [
      name,
      programs[0]?.on,
    ]),
    [['histogram', 'cpu-clock']],
  );
  assert.ok(formats[0].maps.some(({ name }: { name: string }) => name === 'loss_counters'));
});

test('record --json without --plan: 129, in words', async () => {
  const { status, err } = await counterpoint('record', '--json', 'true');
  assert.equal(status, 129);
  assert.match(err, /--json is for --plan/);
});
