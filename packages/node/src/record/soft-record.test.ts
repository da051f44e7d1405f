/** Recordings of what was stepped, against a stepper in C, closed forms, and perf's own reading of them. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { LaunchOptions } from '../target/index.ts';
import { assembledProgram, EXIT_0, noAssembler } from '../test/assembled-program.ts';
import { perf, perfIsMissing, temporaryFolder } from '../test/perf.ts';
import { steppedLoops } from '../test/stepped-loops.ts';
import { record } from './record.ts';

const skip = noAssembler || perfIsMissing();
const options = { skip, timeout: 300_000 };
const QUIET: LaunchOptions = { stdio: ['ignore', 'ignore', 'inherit'] };

/** Fields of all samples of an event, as perf prints them. */
function perfLines(path: string, fields: string): string[] {
  return perf('script', '-i', path, '-F', fields).trim().split('\n');
}

const addressesOf = (path: string): bigint[] =>
  perfLines(path, 'ip').map((line) => BigInt(`0x${line.trim().split(' ')[0]}`));

function histogram(addresses: Iterable<bigint>): Map<bigint, number> {
  const counts = new Map<bigint, number>();
  for (const address of addresses) counts.set(address, (counts.get(address) ?? 0) + 1);
  return new Map([...counts].sort(([one], [other]) => Number(one - other)));
}

test('with period 1, each instruction of a program is a sample, in its order', options, async (t) => {
  const { program, stepped, isOwn } = steppedLoops(t);
  const output = join(temporaryFolder(t), 'perf.data');
  const result = await record({
    command: [program],
    events: 'soft/instructions/',
    period: 1,
    output,
    launch: QUIET,
  });
  assert.deepEqual(result.loss, []);
  assert.equal(result.samples, result.soft!.instructions);
  const found = addressesOf(output);
  assert.equal(found.length, result.samples);
  const own = [...stepped.path].filter(isOwn);
  assert.ok(own.length > 5000, `${own.length}`);
  assert.deepEqual(found.filter(isOwn), own);
});

test('samples times period is what was counted, for each event with its own period', options, async (t) => {
  const { program, stepped, isOwn } = steppedLoops(t);
  const output = join(temporaryFolder(t), 'perf.data');
  const periods = { instructions: 997, branches: 101, cond: 53, calls: 1 };
  const events = Object.entries(periods).map(([name, period]) => `soft/${name},period=${period}/`);
  const { soft, samples, loss } = await record({
    command: [program],
    events: ['cpu-clock:u', ...events],
    output,
    launch: QUIET,
  });
  assert.deepEqual(loss, []);
  const counted = { ...soft!, cond: soft!.conditional };
  const found = new Map<string, number[]>();
  for (const line of perfLines(output, 'event,period')) {
    const [, period, name] = /^\s*(\d+)\s+(.*?):?\s*$/.exec(line)!;
    found.set(name!, [...(found.get(name!) ?? []), Number(period)]);
  }
  for (const [name, period] of Object.entries(periods)) {
    const own = found.get(`soft/${name},period=${period}/`)!;
    assert.equal(own.length, Math.floor(counted[name as keyof typeof periods] / period), name);
    assert.ok(own.every((one) => one === period));
  }
  // Others were there, too: the kernel's own clock.
  const others = [...found.get('cpu-clock:u')!];
  assert.equal([...found.values()].flat().length, samples);
  assert.ok(others.length > 0);
  // Of every 997th instruction, the shares are those of all.
  const all = histogram([...stepped.path].filter(isOwn));
  const [hottest] = [...all].sort(([, one], [, other]) => other - one)[0]!;
  assert.ok(isOwn(hottest));
});

test(
  'soft_bts has each branch that was taken, and perf prints it as that of Intel BTS',
  options,
  async (t) => {
    const { program, stepped, isOwn } = steppedLoops(t);
    const output = join(temporaryFolder(t), 'perf.data');
    // The period of the others is not its own.
    const { soft, loss } = await record({
      command: [program],
      events: 'soft_bts//u',
      period: 100,
      output,
      launch: QUIET,
    });
    assert.deepEqual(loss, []);
    const found = perfLines(output, 'ip,addr').map((line) => {
      const [from, to] = [...line.matchAll(/\b([0-9a-f]{5,})\b/g)].map(([, hex]) => BigInt(`0x${hex}`));
      return `${from} ${to}`;
    });
    const isOwnPair = (pair: string) => pair.split(' ').every((address) => isOwn(BigInt(address)));
    const expected = stepped.branches.map(({ from, to }) => `${from} ${to}`).filter(isOwnPair);
    assert.ok(expected.length > 1000, `${expected.length}`);
    assert.deepEqual(found.filter(isOwnPair), expected);
    assert.ok(found.length < soft!.branches);
    assert.match(perf('script', '-i', output), /soft_bts\/\/u: +[0-9a-f]+ .* => +[0-9a-f]+/);
    assert.match(perf('report', '-i', output, '--stdio'), /\binner\b/);
  },
);

test('call chains are those of the calls, without frame pointers', options, async (t) => {
  const { program } = steppedLoops(t);
  const output = join(temporaryFolder(t), 'perf.data');
  await record({
    command: [program],
    events: 'soft/instructions/',
    period: 7,
    callGraph: true,
    output,
    launch: QUIET,
  });
  const chains = perf('script', '-i', output, '-F', 'ip,sym')
    .trim()
    .split(/\n\n+/)
    .map((chain) => chain.split('\n').map((line) => line.trim().split(' ')[1]));
  const ofInner = chains.filter(([innermost]) => innermost === 'inner');
  assert.ok(ofInner.length > 500, `${ofInner.length}`);
  for (const chain of ofInner) assert.deepEqual(chain.slice(0, 3), ['inner', 'outer', 'main']);
  // Returns that leave several calls, and the way to main, too.
  const ofCompare = chains.filter(([innermost]) => innermost === 'compare');
  assert.ok(ofCompare.every((chain) => chain.includes('main') && chain.at(-1) === '_start'));
});

test('an exact closed form: a loop of 1000 rounds, sampled every third branch', options, async (t) => {
  const program = assembledProgram(
    t,
    `.globl _start\n_start: mov $1000,%ecx\n1: dec %ecx\n jnz 1b\n ${EXIT_0}`,
  );
  const output = join(temporaryFolder(t), 'perf.data');
  const { soft, samples } = await record({ command: [program], events: 'soft/branches/', period: 3, output });
  assert.equal(soft!.branches, 1000);
  assert.equal(samples, 333);
  assert.equal(new Set(addressesOf(output)).size, 1);
});

test('what cannot be stepped, or not like this, is refused before anything runs', options, async () => {
  const command = ['true'];
  const soft = 'soft/instructions/';
  for (const [request, message] of [
    [{ systemWide: true, events: soft }, /whole CPUs/],
    [{ command, events: `{${soft},cpu-clock}` }, /group/],
    [{ command, events: soft, frequency: 99 }, /by a number of events/],
    [{ command, events: soft, inherit: false }, /children/],
    [{ command, events: soft, delayMs: 10 }, /later/],
    [{ command, events: soft, clockId: 7 }, /clock 7/],
  ] as const)
    await assert.rejects(record({ ...request, output: '/dev/null' }), { code: 'ERR_SOFT_EVENT', message });
});
