/** Recordings of what was stepped, against a stepper in C, closed forms, and perf's own reading of them. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { assembledProgram, compiledProgram, EXIT_0, noAssembler } from '../../../test/assembled-program.ts';
import { perf, perfIsMissing, temporaryFolder } from '../../../test/perf.ts';
import { steppedLoops } from '../../../test/stepped-loops.ts';
import type { LaunchOptions } from '../../kernel/target/index.ts';
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

/** Fields of all samples that are hexadecimal numbers of at least five digits. */
function addressLines(path: string, fields: string, ...more: string[]): string[] {
  const lines = perf('script', '-i', path, ...more, '-F', fields)
    .trim()
    .split('\n');
  return lines.map((line) => [...line.matchAll(/\b([0-9a-f]{5,})\b/g)].map(([, hex]) => hex).join(' '));
}

test(
  'translated code: instructions, branches and a trace are those of single steps, in their order',
  options,
  async (t) => {
    const { program, stepped, isOwn } = steppedLoops(t);
    const folder = temporaryFolder(t);
    const recorded = async (events: string, name: string) => {
      const output = join(folder, name);
      const result = await record({
        command: [program],
        events,
        period: 1,
        softWay: 'fast',
        output,
        launch: QUIET,
      });
      assert.deepEqual(result.loss, []);
      return { output, ...result };
    };
    const own = [...stepped.path].filter(isOwn).map((ip) => ip.toString(16));
    assert.ok(own.length > 5000, `${own.length}`);
    const isOwnLine = (line: string) => line.split(' ').every((address) => isOwn(BigInt(`0x${address}`)));

    const instructions = await recorded('soft/instructions/', 'instructions');
    assert.equal(instructions.samples, instructions.soft!.instructions);
    assert.deepEqual(addressLines(instructions.output, 'ip').filter(isOwnLine), own);

    const branches = await recorded('soft_bts//u', 'branches');
    const taken = stepped.branches.map(({ from, to }) => `${from.toString(16)} ${to.toString(16)}`);
    const found = addressLines(branches.output, 'ip,addr').filter(isOwnLine);
    assert.deepEqual(found, taken.filter(isOwnLine));

    const trace = await recorded('soft_pt//u', 'trace');
    assert.deepEqual(addressLines(trace.output, 'ip', '--itrace=i1i').filter(isOwnLine), own);
  },
);

test('translated code: a log that fills again and again loses nothing', options, async (t) => {
  const rounds = 300_000;
  const program = assembledProgram(
    t,
    `.globl _start\n_start: mov $${rounds},%ecx\n1: dec %ecx\n jnz 1b\n ${EXIT_0}`,
  );
  const output = join(temporaryFolder(t), 'perf.data');
  const { soft, samples, loss } = await record({
    command: [program],
    events: ['soft_bts//u', 'soft/instructions,period=1000/'],
    softWay: 'fast',
    output,
  });
  assert.deepEqual(loss, []);
  assert.equal(soft!.instructions, 2 * rounds + 4);
  assert.equal(soft!.conditional, rounds);
  assert.equal(samples, rounds - 1 + Math.floor((2 * rounds + 4) / 1000));

  // A trace, which is made while the program goes on: perf finds as many instructions in it.
  const traced = await record({ command: [program], events: 'soft_pt//u', softWay: 'fast', output });
  assert.deepEqual(traced.loss, []);
  assert.equal(traced.soft!.instructions, 2 * rounds + 4);
  const decoded = perf('script', '-i', output, '--itrace=i1000ie', '-F', 'ip').trim().split('\n');
  assert.equal(decoded.length, Math.floor((2 * rounds + 4) / 1000));
  assert.ok(decoded.every((line) => /^[0-9a-f]+$/.test(line.trim())));
});

const MANY = `
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#define LOOP(name, rounds) long n = rounds; __asm__ volatile(".globl " name "\\n1: dec %0\\n" name ": jnz 1b" : "+r"(n))
static volatile int ticks;
__attribute__((noinline)) static void tick(int s) { LOOP("tick_jump", 101); ticks++; }
__attribute__((noinline)) static void *work(void *p) { LOOP("work_jump", 40001); return p; }
__attribute__((noinline)) static void child(void) { LOOP("child_jump", 140001); }
int main(void) {
  pthread_t threads[3];
  for (int i = 0; i < 3; i++) pthread_create(&threads[i], 0, work, 0);
  for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
  int status, pid = fork();
  if (pid == 0) { child(); _exit(7); }
  waitpid(pid, &status, 0);
  signal(SIGVTALRM, tick);
  struct itimerval every = { { 0, 4000 }, { 0, 4000 } };
  setitimer(ITIMER_VIRTUAL, &every, 0);
  while (ticks < 12) __asm__ volatile(".rept 60\\n pause\\n .endr");
  struct itimerval never = { { 0, 0 }, { 0, 0 } };
  setitimer(ITIMER_VIRTUAL, &never, 0);
  return ticks < 12 || WEXITSTATUS(status) != 7 ? 1 : ticks;
}
`;

test(
  'translated code: threads, a fork and signals: each thread has its own branches, all of them',
  options,
  async (t) => {
    const program = compiledProgram(t, MANY);
    const places = new Map(
      [...spawnSync('nm', [program], { encoding: 'utf8' }).stdout.matchAll(/^(\w+) T (\w+_jump)$/gm)].map(
        ([, address, name]) => [BigInt(`0x${address}`) & 0xfffn, name!] as const,
      ),
    );
    assert.equal(places.size, 3);
    const output = join(temporaryFolder(t), 'perf.data');
    const { exitCode, loss } = await record({
      command: [program],
      events: 'soft_bts//u',
      softWay: 'fast',
      output,
      launch: QUIET,
    });
    assert.deepEqual(loss, []);
    const ticks = exitCode!;
    assert.ok(ticks >= 12, `${ticks}`);
    const counts = new Map<string, number>();
    const lines = perf('script', '-i', output, '-F', 'tid,ip,dso').matchAll(
      /^ *(\d+) +([0-9a-f]+) \((.*)\)/gm,
    );
    for (const [, tid, ip, file] of lines) {
      const name = file === program ? places.get(BigInt(`0x${ip}`) & 0xfffn) : undefined;
      if (name !== undefined) counts.set(`${name} ${tid}`, (counts.get(`${name} ${tid}`) ?? 0) + 1);
    }
    const found = [...counts].map(([key, count]) => `${key.split(' ')[0]} ${count}`).sort();
    const workers = Array.from({ length: 3 }, () => 'work_jump 40000');
    assert.deepEqual(found, ['child_jump 140000', `tick_jump ${100 * ticks}`, ...workers]);
  },
);

test('what translated code cannot tell is refused', options, async () => {
  const request = {
    command: ['true'],
    events: 'soft/instructions/',
    softWay: 'fast',
    output: '/dev/null',
  } as const;
  for (const [more, message] of [
    [{ callGraph: true }, /no call chains/],
    [{ stopAfter: 5 }, /translated code/],
    [{ events: ['soft/instructions/', 'cpu-clock'] }, /addresses of the translated code/],
    [{ onFunction: 'main' }, /translated code/],
    [{ events: 'cpu-clock' }, /softWay is for soft events/],
  ] as const)
    await assert.rejects(record({ ...request, ...more }), { code: 'ERR_SOFT_EVENT', message });
});
