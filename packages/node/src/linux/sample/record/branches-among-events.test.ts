/** What was stepped beside what the kernel sampled of the same thread: each record at its place in time. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { assembledProgram, EXIT_0, noAssembler } from '../../../test/assembled-program.ts';
import { counterpoint } from '../../../test/command-line.ts';
import { perf, perfIsMissing, temporaryFolder } from '../../../test/perf.ts';
import { noTracepoints } from '../../../test/rights.ts';
import { record } from './record.ts';

const ROUNDS = 100;
const BRANCHES = 40;
/** Each round takes the inner loop's branch 39 times and the outer one's once, and makes one call. */
const PROGRAM = `.globl _start
_start: mov $${ROUNDS},%ebx
1: mov $${BRANCHES},%ecx
2: dec %ecx
 jnz 2b
 mov $110,%eax
 syscall
 dec %ebx
 jnz 1b
 ${EXIT_0}`;

test('between two samples of a tracepoint are exactly the branches of that time', {
  skip: noAssembler || perfIsMissing() || noTracepoints,
  timeout: 300_000,
}, async (t) => {
  const output = join(temporaryFolder(t), 'perf.data');
  const { loss } = await record({
    command: [assembledProgram(t, PROGRAM)],
    events: 'cpu-clock/period=100000/,syscalls:sys_enter_getppid,soft_bts//u',
    period: 1,
    output,
  });
  assert.deepEqual(loss, []);
  const words = ['script', '-i', output, '-F', 'tid,time,event', '--ns'];
  const theirs = perf(...words);
  assert.equal((await counterpoint(...words)).out.replace(/[ \t]+/g, ' '), theirs.replace(/[ \t]+/g, ' '));
  const samples = [...theirs.matchAll(/^ *(\d+) +(\d+)\.(\d{9}): +(\S+):/gm)].map(
    ([, tid, seconds, ns, event]) => ({ tid, timeNs: BigInt(seconds! + ns!), event: event! }),
  );
  assert.equal(new Set(samples.map(({ tid }) => tid)).size, 1);
  assert.ok(samples.every(({ timeNs }, row) => row === 0 || timeNs >= samples[row - 1]!.timeNs));
  assert.ok(samples.filter(({ event }) => event.startsWith('cpu-clock')).length > 10);
  // Between two calls there are exactly the branches of a round: no record has the time of another round.
  const rounds = samples
    .filter(({ event }) => !event.startsWith('cpu-clock'))
    .map(({ event }) => (event.startsWith('soft_bts') ? 'b' : ' '))
    .join('')
    .split(' ')
    .map((branches) => branches.length);
  assert.deepEqual(rounds, [BRANCHES - 1, ...Array<number>(ROUNDS - 1).fill(BRANCHES), 0]);
});
