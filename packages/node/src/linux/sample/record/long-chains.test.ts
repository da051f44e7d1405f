import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { PERF_SAMPLE_CALLCHAIN } from '@counterpoint/core/abi';
import { makeAttr } from '@counterpoint/core/records';
import { openRecording } from '../../../host/open/index.ts';
import { counterpoint } from '../../../test/command-line.ts';
import { temporaryFolder } from '../../../test/perf.ts';
import { noTracepoints } from '../../../test/rights.ts';
import { SPIN_CPU_SOURCE } from '../../../test/until-told.ts';
import { record } from './index.ts';
import { hiddenCuts } from './long-chains.ts';
import { chainLimits } from './request.ts';

/** A call as deep as that, which spins at its end until it had enough of the processor. */
const deepCall = (depth: number) => [
  process.execPath,
  '-e',
  `const start = process.cpuUsage().user;
   let sum = 0;
   const spin = () => { do for (let i = 0; i < 1e6; i++) sum += i; while (process.cpuUsage().user - start < 3e5); return sum; };
   const call = (n) => (n > 0 ? call(n - 1) + 1 : spin());
   call(${depth});`,
];

test('chains that the kernel cut are in the ledger of the recorder, of its recording, and of every export', async (t) => {
  const output = join(temporaryFolder(t), 'perf.data');
  const events = 'cpu-clock/max-stack=24/u';
  const result = await record({ command: deepCall(300), events, frequency: 997, callGraph: true, output });
  const cut = result.loss.find(({ kind }) => kind === 'call-chain-cut');
  assert.ok(cut !== undefined, JSON.stringify(result.loss));
  assert.equal(cut.exact, true);
  await using recording = await openRecording(output);
  const { loss, samples } = await recording.stats();
  // Counted alike while it ran and when it is read.
  assert.equal(loss.find(({ kind }) => kind === 'call-chain-cut')?.count, cut.count);
  assert.ok(Number(cut.count) > 0 && Number(cut.count) <= samples);
  for (const words of [
    ['report'],
    ['report', '--json'],
    ['script', '--json'],
    ['export', '-f', 'folded', '-o', '-'],
    ['export', '-f', 'speedscope', '-o', '-'],
  ]) {
    const { status, out, err } = await counterpoint(...words, '--fail-on-loss', '-i', output);
    assert.equal(status, 3, words.join(' '));
    assert.match(out + err, /call-chain-cut|call chains cut/);
    assert.doesNotMatch(out, /Nothing lost/);
  }
});

test('chains that are not as deep as the limit are whole', async (t) => {
  const output = join(temporaryFolder(t), 'perf.data');
  const command = ['sh', '-c', 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done'];
  const result = await record({ command, events: 'cpu-clock:u', frequency: 997, callGraph: true, output });
  assert.deepEqual(
    result.loss.filter(({ kind }) => kind === 'call-chain-cut'),
    [],
  );
});

test('limits of the kernel that are not the usual ones are in the attr, or told', () => {
  const limits = (settings: Record<string, number>, hasNone = false) => {
    const notes: { text: string }[] = [];
    const found = chainLimits(hasNone, notes as never, (name) => settings[name] ?? null);
    return [found, notes.map(({ text }) => text.replace(/:.*/, ''))];
  };
  const usual = { perf_event_max_stack: 127, perf_event_max_contexts_per_stack: 8 };
  assert.deepEqual(limits(usual), [{}, []]);
  assert.deepEqual(limits({}), [{}, []]);
  assert.deepEqual(limits({ ...usual, perf_event_max_stack: 512 }), [{ maxStack: 512 }, []]);
  assert.deepEqual(limits({ ...usual, perf_event_max_stack: 512 }, true), [{}, []]);
  const events = [
    { name: 'cycles', attr: makeAttr({ sampleType: BigInt(PERF_SAMPLE_CALLCHAIN) }) },
    { name: 'faults', attr: makeAttr() },
  ];
  const hidden = (settings: Record<string, number>) => hiddenCuts(events, (name) => settings[name] ?? null);
  assert.deepEqual([hidden(usual), hidden({})], [[], []]);
  for (const settings of [{ perf_event_max_stack: 0 }, { perf_event_max_contexts_per_stack: 1 }])
    assert.deepEqual(hidden(settings), [{ kind: 'call-chain-cut', event: 'cycles', count: 0, exact: false }]);
  assert.deepEqual(limits({ ...usual, perf_event_max_stack: 0 }), [{}, ['kernel.perf_event_max_stack is 0']]);
  assert.deepEqual(limits({ ...usual, perf_event_max_contexts_per_stack: 1 }), [
    {},
    ['kernel.perf_event_max_contexts_per_stack is 1'],
  ]);
});

const needsTracepoints = noTracepoints;

test('chains beside a format, and those of the format, are told, too: as many as perf reads', {
  skip: needsTracepoints,
}, async (t) => {
  const output = join(temporaryFolder(t), 'perf.data');
  const deepSleep = `${SPIN_CPU_SOURCE} const { execFileSync } = require('node:child_process');
    const wait = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
    const call = (n) => (n > 0 ? call(n - 1) + 1 : spin());
    const spin = () => { spinCpu(200); for (let i = 0; i < 5; i++) wait(); return 1; };
    call(300);`;
  const result = await record({
    command: [process.execPath, '-e', deepSleep],
    events: 'cpu-clock:u',
    frequency: 997,
    callGraph: true,
    callchains: 'user',
    formats: ['ring', 'off-cpu'],
    output,
  });
  const cut = result.loss.filter(({ kind }) => kind === 'call-chain-cut');
  const told = new Map(cut.map(({ event, count }) => [event, Number(count)]));
  await using recording = await openRecording(output);
  const deepest = new Map<string, number>();
  for await (const { record: one, event } of recording.records()) {
    if (!('sample' in one) || (one.sample.callchain?.length ?? 0) === 0) continue;
    const addresses = one.sample.callchain!.filter((word) => word < 0xffff_ffff_ffff_f000n).length;
    if (addresses === 127) deepest.set(event!.name, (deepest.get(event!.name) ?? 0) + 1);
  }
  assert.ok((deepest.get('cpu-clock:u') ?? 0) > 10, JSON.stringify([...deepest]));
  assert.deepEqual([...told].sort(), [...deepest].sort());
  const { loss } = await recording.stats();
  const read = loss
    .filter(({ kind }) => kind === 'call-chain-cut')
    .map(({ event, count }) => [event, Number(count)]);
  assert.deepEqual(read.sort(), [...deepest].sort());
});
