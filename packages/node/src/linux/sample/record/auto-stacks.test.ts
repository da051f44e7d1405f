/** Which way call stacks are recorded where nobody chooses one, and what comes of it. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { topFunctions } from '@counterpoint/core/query';
import { openRecording } from '../../../host/open/index.ts';
import { commandLineProcess, counterpoint } from '../../../test/command-line.ts';
import { noFormats } from '../../../test/format-recording.ts';
import { buildFrameless, noCompiler } from '../../../test/frameless-program.ts';
import { perf, perfIsMissing, temporaryFolder } from '../../../test/perf.ts';
import type { Note } from '../../kernel/perf-events/index.ts';
import { realSys } from '../../kernel/sys/index.ts';
import { withChosenStacks } from './auto-stacks.ts';
import type { RecordOptions } from './options.ts';
import { planRecording } from './plan.ts';
import { record } from './record.ts';
import { scopeOf } from './request.ts';

const skip =
  noFormats ||
  (process.arch !== 'x64' && 'elsewhere there is one way only') ||
  (!existsSync('/sys/kernel/btf/vmlinux') && 'the kernel has no BTF');

/** Calls itself as often as it is told, and works at the end. */
const DEEP = `
#include <stdlib.h>
#include <time.h>
volatile unsigned long sum;
__attribute__((noinline)) int deep(int n) {
  volatile char room[40];
  room[n & 31] = 1;
  if (n > 0) return deep(n - 1) + room[n & 31];
  while (clock() < CLOCKS_PER_SEC)
    for (unsigned i = 0; i < 1000000; i++) sum += i;
  return 1;
}
int main(int count, char **words) { return deep(atoi(words[1])) == 0; }
`;

function buildDeep(folder: string): string {
  const program = join(folder, 'deep');
  writeFileSync(`${program}.c`, DEEP);
  const flags = ['-O1', '-fomit-frame-pointer', '-fno-optimize-sibling-calls'];
  assert.equal(spawnSync('gcc', [...flags, `${program}.c`, '-o', program]).status, 0);
  return program;
}

/**
 * In a mount namespace of its own, where the kernel seems to have this limit. The kernel itself has its own.
 */
function recordWithLimit(frames: number, folder: string, ...words: string[]): string {
  const setting = join(folder, 'setting');
  writeFileSync(setting, `${frames}\n`);
  const script = `mount --bind ${setting} /proc/sys/kernel/perf_event_max_stack && exec "$@"`;
  const { status, stderr } = spawnSync(
    'unshare',
    ['--mount', 'sh', '-c', script, 'sh', process.execPath, ...commandLineProcess(), ...words],
    { encoding: 'utf8' },
  );
  assert.equal(status, 0, stderr);
  return stderr;
}

/** What the note says. */
async function choice(options: Omit<RecordOptions, 'callGraph'>): Promise<string> {
  const asked = { command: ['/bin/true'], events: 'cpu-clock', ...options, callGraph: 'auto' } as const;
  const { notes } = await planRecording(asked, process.pid);
  const [text, ...more] = notes.filter(({ kind }) => kind === 'call-stacks').map((note) => note.text);
  assert.deepEqual(more, []);
  return text!;
}

test('the kernel unwinds where it may, and each other way has its reason', { skip }, async () => {
  assert.match(await choice({}), /^call stacks are unwound in the kernel/);
  assert.match(await choice({ events: 'cpu-clock,page-faults' }), /unwound in the kernel/);
  assert.match(await choice({ command: [process.execPath, '-e', '0'] }), /by frame pointers: Node has them/);
  assert.match(await choice({ command: ['/usr/bin/wc', process.execPath] }), /unwound in the kernel/);
  assert.match(
    await choice({ events: 'sched:sched_switch' }),
    /copies of the stack.*sched:sched_switch has no/,
  );
  assert.match(
    await choice({ events: '{cpu-clock,page-faults}:S' }),
    /copies.*page-faults follows the leader/,
  );
  assert.match(await choice({ sampleParts: ['weight'] }), /copies.*more parts of samples/);
  assert.match(await choice({ clockId: 4 }), /copies.*have another clock/);
  assert.match(await choice({ callchains: 'kernel' }), /by frame pointers: only chains of the kernel/);
  assert.match(await choice({ events: 'soft/instructions/', period: 1000 }), /single steps follow calls/);
  const sys = { ...realSys, effectiveCapabilities: () => 0n };
  assert.match(
    await choice({ sys }),
    /copies.*programs in the kernel need root, or CAP_BPF and CAP_PERFMON$/,
  );
});

test('as many frames as the kernel gives: fewer or more than usual', { skip }, async () => {
  const chosen = async (frames: number | null) => {
    const notes: Note[] = [];
    const options = { command: ['/bin/true'], events: 'cpu-clock', callGraph: 'auto' } as const;
    const { formats, callGraph } = await withChosenStacks(options, scopeOf(options), notes, () => frames);
    return { formats, callGraph, notes: notes.map(({ text }) => text.replace(/.*: (?=kernel)/, '')) };
  };
  const depth = (frames: number) => [{ format: 'unwind', options: { depth: frames } }];
  const unwound = 'call stacks are unwound in the kernel, by the frame information of the binaries';
  const told = (frames: number) => `kernel.perf_event_max_stack is ${frames}`;
  for (const usual of [127, null])
    assert.deepEqual(await chosen(usual), { formats: depth(127), callGraph: true, notes: [unwound] });
  for (const [limit, frames] of [
    [64, 64],
    [3, 3],
    [200, 200],
    [1000, 420],
  ] as const)
    assert.deepEqual(await chosen(limit), {
      formats: depth(frames),
      callGraph: true,
      notes: [unwound, `${told(limit)} (usually 127)`],
    });
  assert.deepEqual(await chosen(2), { formats: undefined, callGraph: 'dwarf', notes: [told(2)] });
});

test('a lower limit of the kernel: shorter stacks, which are counted as cut', {
  skip:
    skip ||
    noCompiler ||
    (spawnSync('unshare', ['--mount', 'true']).status !== 0 && 'needs root, for a mount'),
}, async (t) => {
  const folder = temporaryFolder(t);
  const data = join(folder, 'perf.data');
  const words = [...'record --call-graph auto -e cpu-clock:u -F 997 -o'.split(' '), data];
  const err = recordWithLimit(64, folder, ...words, buildDeep(folder), '100');
  assert.match(err, /call stacks have at most 64 frames: kernel\.perf_event_max_stack is 64 \(usually 127\)/);
  await using recording = await openRecording(data);
  let shortened = 0;
  for await (const { record: one } of recording.records()) {
    if (!('sample' in one)) continue;
    const addresses = (one.sample.callchain ?? []).filter((word) => word < 0xffff_ffff_ffff_f000n).length;
    assert.ok(addresses <= 64, `${addresses} frames`);
    if (addresses === 64) shortened++;
  }
  assert.ok(shortened > 100, `${shortened} samples of 64 frames`);
  const { loss } = await recording.stats();
  const cut = Number(loss.find(({ kind }) => kind === 'call-chain-cut')?.count ?? 0);
  assert.equal(cut, shortened);
  assert.match(err, new RegExp(`LOST: ${cut} samples with call chains cut`));
});

test('what is given beside it and cannot be', { skip }, async () => {
  await assert.rejects(choice({ formats: ['stacks'] }), { code: 'ERR_CALL_GRAPH', message: /one is given/ });
  const wrong = await counterpoint('record', '--call-graph', 'auto,4096', '--', 'true');
  assert.equal(wrong.status, 129);
  assert.match(wrong.err, /auto, fp, lbr, dwarf or dwarf,SIZE/);
});

for (const [way, words] of [
  ['unwound', []],
  ['from copies', ['-e', 'cpu-clock:u,sched:sched_process_exit']],
] as const)
  test(`whole stacks of a program without frame pointers: ${way}`, {
    skip: skip || noCompiler,
  }, async (t) => {
    const folder = temporaryFolder(t);
    const data = join(folder, 'auto.data');
    const options = [
      '-F',
      '997',
      '--call-graph',
      'auto',
      ...(words.length > 0 ? words : ['-e', 'cpu-clock:u']),
    ];
    const { status, err } = await counterpoint(
      'record',
      ...options,
      '-o',
      data,
      '--',
      buildFrameless(folder),
    );
    assert.equal(status, 0, err);
    assert.match(err, new RegExp(`call stacks are ${way}`));
    if (words.length === 0) {
      // Its own code, libc, libstdc++, libm, the loader, the vdso.
      const [, count] = /unwound by frame information: (\d+) binaries/.exec(err) ?? [];
      assert.ok(Number(count) >= 5, err);
    }
    await using recording = await openRecording(data);
    const { profile } = await recording.profile();
    const { rows } = topFunctions(profile, { sort: ['symbol'], children: true });
    const percent = (name: string) => rows.find(({ symbol }) => symbol === name)?.percent ?? 0;
    assert.ok(percent('main') > 95, `${percent('main')} % below main`);
    assert.ok(percent('leaf') > 50, `${percent('leaf')} % in leaf`);
    if (perfIsMissing() !== false) return;
    assert.match(perf('script', '-i', data), /\bmain\b/);
  });

test('a Node keeps the names of its functions', { skip }, async (t) => {
  const output = join(temporaryFolder(t), 'node.data');
  const script =
    'function hot(n) { let t = 0; for (let i = 0; i < n; i++) t = (t * 31 + i) | 0; return t; } for (const end = process.cpuUsage().user + 4e5; process.cpuUsage().user < end;) hot(1e6);';
  const { notes } = await record({
    command: [process.execPath, '-e', script],
    events: 'cpu-clock:u',
    callGraph: 'auto',
    output,
  });
  assert.ok(notes.some(({ kind, text }) => kind === 'call-stacks' && /by frame pointers/.test(text)));
  await using recording = await openRecording(output);
  const { rows } = topFunctions((await recording.profile()).profile, { sort: ['symbol'] });
  assert.match(rows[0]!.symbol!, /^JS:hot /);
});
