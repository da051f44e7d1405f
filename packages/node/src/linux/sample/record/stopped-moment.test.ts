/**
 * gdb decides: threads that stand still in their callers while they work, recorded by each way to whole
 * stacks, and then stopped and looked at by gdb.
 */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { memorySource } from '@counterpoint/core/base';
import { openPerfData, readRecords } from '@counterpoint/core/perfdata';
import { assertOnTime, onTime } from '../../../../../core/src/test/on-time.ts';
import { counterpoint } from '../../../test/command-line.ts';
import { noFormats } from '../../../test/format-recording.ts';
import { noCompiler } from '../../../test/frameless-program.ts';
import { temporaryFolder } from '../../../test/perf.ts';
import { parseMappedAreas } from '../../kernel/target/index.ts';

/** Through libc's qsort, a handler of a signal, a frame of variable size, and calls by tables. */
const PROGRAM = `
#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static atomic_int standing;
static volatile unsigned long sum;
__attribute__((noinline)) void spin(void) { standing++; for (;;) sum++; }
__attribute__((noinline)) int dive(int depth) {
  volatile char room[56];
  room[depth] = 1;
  if (depth == 0) spin(); else dive(depth - 1);
  return room[depth];
}
static int compare(const void *a, const void *b) { return dive(30) + (a < b); }
static void onSignal(int number) { dive(5); sum += number; }
__attribute__((noinline)) int variable(int size) {
  char *room = alloca(size);
  memset(room, size, size);
  return dive(3) + room[size / 2];
}
struct table { int (*run)(int); };
static struct table tables[] = {{dive}, {variable}};
static void *interrupted(void *unused) { raise(SIGUSR1); return unused; }
static void *called(void *table) { return (void *)(long)((struct table *)table)->run(40); }
int main(void) {
  signal(SIGUSR1, onSignal);
  pthread_t thread;
  pthread_create(&thread, 0, interrupted, 0);
  pthread_create(&thread, 0, called, &tables[0]);
  pthread_create(&thread, 0, called, &tables[1]);
  while (standing < 3) usleep(1000);
  puts("ready");
  fflush(stdout);
  int values[100] = {3, 1, 2};
  qsort(values, 100, sizeof *values, compare);
}
`;

/** A handler's frame has no address in gdb's words. */
const SIGNAL = 'signal';
/** Else frames of inlined functions are among the others. */
const WITHOUT_SOURCE = ['-nx', '-batch', '-iex', 'set debug-file-directory /no/such/folder'];

/** The callers of each thread, innermost first, without the frame that works. */
type Callers = Map<number, string[]>;

/** From addresses to places in files, as script prints them. */
function placesIn(pid: number): (address: bigint) => string {
  const areas = parseMappedAreas(readFileSync(`/proc/${pid}/maps`, 'utf8'));
  return (address) => {
    const area = areas.find(({ start, length }) => address >= start && address < start + length)!;
    return (address - area.start + area.pageOffset).toString(16);
  };
}

function gdbCallers(pid: number): Callers {
  const { status, stdout, stderr } = spawnSync(
    'gdb',
    [...WITHOUT_SOURCE, '-p', `${pid}`, '-ex', 'set backtrace past-main on', '-ex', 'thread apply all bt'],
    { encoding: 'utf8', env: { ...process.env, DEBUGINFOD_URLS: '' } },
  );
  assert.equal(status, 0, stderr);
  const placeOf = placesIn(pid);
  const threads = stdout.split(/^(?=Thread \d+ \()/m).slice(1);
  return new Map(
    threads.map((text) => {
      const frames = [...text.matchAll(/^#(\d+) +(?:0x0*([0-9a-f]+) in|(<signal))/gm)];
      const callers = frames.filter(([, number]) => number !== '0');
      return [
        Number(/\(LWP (\d+)\)/.exec(text)![1]),
        callers.map(([, , address]) => {
          if (address === undefined) return SIGNAL;
          return placeOf(BigInt(`0x${address}`));
        }),
      ] as const;
    }),
  );
}

/** Each sample's thread and callers. */
async function recordedCallers(data: string): Promise<[tid: number, callers: string[]][]> {
  const { status, out } = await counterpoint('script', '--no-inline', '-F', 'tid,ip', '-i', data);
  assert.equal(status, 0);
  return out
    .split('\n\n')
    .filter((sample) => sample.trim() !== '')
    .map((sample) => {
      const [head, ...frames] = sample.split('\n').filter((line) => line.trim() !== '');
      return [Number.parseInt(head!, 10), frames.slice(1).map((line) => line.trim())];
    });
}

const noGdb = spawnSync('gdb', ['--version']).status === 0 ? false : 'gdb is not installed';

/**
 * Callers as gdb has them, who says where they go on. Where stacks come from copies, script has the byte
 * before, which is of the call, as perf does; what a signal interrupted made no call.
 */
function likeGdb(callers: readonly string[], truth: readonly string[]): string[] {
  const isOfCalls = callers[0] !== truth[0];
  return callers.map((address, at) => {
    if (truth[at] === SIGNAL) return SIGNAL;
    const isCall = isOfCalls && truth[at - 1] !== SIGNAL;
    return isCall ? (BigInt(`0x${address}`) + 1n).toString(16) : address;
  });
}

async function compare(t: TestContext, way: readonly string[], seconds: number): Promise<string> {
  const folder = temporaryFolder(t);
  const program = join(folder, 'program');
  const data = join(folder, 'perf.data');
  writeFileSync(`${program}.c`, PROGRAM);
  const flags = ['-O2', '-fomit-frame-pointer', '-fno-optimize-sibling-calls', '-pthread'];
  assert.equal(spawnSync('gcc', [...flags, `${program}.c`, '-o', program]).status, 0);
  const child = spawn(program, { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    await once(child.stdout, 'data');
    const words = ['record', '-q', '-e', 'cpu-clock:u', '-F', '199', ...way, '-o', data];
    const { status, err } = await counterpoint(...words, '-p', `${child.pid}`, '--', 'sleep', `${seconds}`);
    assert.equal(status, 0, err);
    child.kill('SIGSTOP');
    const truth = gdbCallers(child.pid!);
    assert.equal(truth.size, 4);
    const samples = await recordedCallers(data);
    assert.deepEqual(new Set(samples.map(([tid]) => tid)), new Set(truth.keys()));
    for (const [tid, callers] of samples) assert.deepEqual(likeGdb(callers, truth.get(tid)!), truth.get(tid));
  } finally {
    child.kill('SIGKILL');
  }
  return data;
}

test('copies of stacks: every caller is where gdb finds it', {
  skip: noCompiler || noGdb || (process.arch !== 'x64' && 'x86-64'),
}, async (t) => {
  await compare(t, ['--call-graph', 'dwarf,16384'], 0.5);
});

test('unwound in the kernel: every caller is where gdb finds it', {
  skip: noCompiler || noGdb || noFormats || (process.arch !== 'x64' && 'the format knows x86-64'),
}, async (t) => {
  // Room for all copies until the tables are there: else some stacks are shorter, and counted.
  let seconds = 1;
  await onTime(async () => {
    const data = await compare(t, ['-g', '--format', 'unwind,ring=64M'], seconds);
    seconds += 2;
    const reader = await openPerfData(memorySource(new Uint8Array(readFileSync(data))));
    let unwound = 0;
    for await (const { record } of readRecords(reader))
      if ('sample' in record && (record.sample.userStack?.bytes.length ?? 0) === 0) unwound++;
    assertOnTime(unwound > 50, `${unwound} samples without a copy of the stack`);
  });
});
