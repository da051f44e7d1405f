/** Stepping a part of a program: the calls of a function, and so many instructions. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { assembledProgram, compiledProgram, EXIT_0, noAssembler } from '../../../test/assembled-program.ts';
import { perf, perfIsMissing, temporaryFolder } from '../../../test/perf.ts';
import { until } from '../../../test/until-told.ts';
import { countSoft } from '../../stepping/softpmu/index.ts';
import { record } from './record.ts';

const options = { skip: noAssembler || perfIsMissing(), timeout: 300_000 };

/** `work` executes 3 + 2 * 10 instructions, `again` 4 each time but the last, which is 3. */
const CALLS = `.globl _start
.type work, @function
.type again, @function
_start: mov $3000,%ecx
1: dec %ecx
 jnz 1b
 call work
 call work
 mov $4,%edx
 call again
 ${EXIT_0}
work: mov $10,%ecx
2: dec %ecx
 jnz 2b
 nop
 ret
again: dec %edx
 jz 3f
 call again
3: ret
`;

test('only calls of a function are stepped, from its first instruction to its return', options, async (t) => {
  const command = [assembledProgram(t, CALLS)];
  const work = await countSoft({ command, onFunction: 'work' });
  assert.equal(work.counts.instructions, 2 * 23);
  assert.equal(work.counts.conditional, 2 * 10);
  assert.equal(work.exit?.code, 0);
  // A call within the function is in it.
  const again = await countSoft({ command, onFunction: 'program:again' });
  assert.equal(again.counts.instructions, 3 * 4 + 3);
});

test(
  'threads, children, longjmp and handlers of a program that is stepped in a function',
  options,
  async (t) => {
    const program = compiledProgram(
      t,
      `#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile int sum, traps;
static jmp_buf away;
__attribute__((noinline)) void wanted(int how) {
  __atomic_add_fetch(&sum, how, __ATOMIC_SEQ_CST);
  if (how == 2) longjmp(away, 1);
}
static void *thread(void *unused) { wanted(1); return unused; }
static void trap(int number) { traps++; }
int main(void) {
  pthread_t all[20];
  int status;
  for (int i = 0; i < 20; i++) pthread_create(&all[i], NULL, thread, NULL);
  for (int i = 0; i < 20; i++) pthread_join(all[i], NULL);
  signal(SIGTRAP, trap);
  raise(SIGTRAP);
  if (setjmp(away) == 0) wanted(2);
  raise(SIGTRAP);
  if (fork() == 0) { wanted(1); _exit(sum); }
  wait(&status);
  printf("%d %d %d\\n", sum, traps, WEXITSTATUS(status));
  return 0;
}
`,
    );
    const folder = temporaryFolder(t);
    const [out, output] = [join(folder, 'out'), join(folder, 'perf.data')];
    const fd = openSync(out, 'w');
    const { soft, exitCode, samples } = await record({
      command: [program],
      events: 'soft/instructions/',
      period: 1,
      onFunction: 'wanted',
      output,
      launch: { stdio: ['ignore', fd, 'inherit'] },
    });
    closeSync(fd);
    assert.equal(exitCode, 0);
    assert.equal(readFileSync(out, 'utf8'), '22 2 23\n');
    assert.equal(samples, soft!.instructions);
    const lines = perf('script', '-i', output, '-F', 'tid,ip,sym').trim().split('\n');
    const inFunction = lines.filter((line) => / wanted$/.test(line));
    assert.equal(new Set(inFunction.map((line) => line.trim().split(' ')[0])).size, 22);
    // Nothing else of the program itself was stepped.
    assert.deepEqual(
      lines.filter((line) => / (main|thread|trap|_start)$/.test(line)),
      [],
    );
  },
);

test('a name that no program has is an error, and the command goes on', options, async (t) => {
  const folder = temporaryFolder(t);
  const out = openSync(join(folder, 'out'), 'w');
  const stdio = ['ignore', out, 'inherit'] as ['ignore', number, 'inherit'];
  await assert.rejects(countSoft({ command: ['echo', 'there'], onFunction: 'no_such', stdio }), {
    code: 'ERR_SOFT_FUNCTION',
    message: /no function no_such/,
  });
  closeSync(out);
  assert.ok(await until(() => readFileSync(join(folder, 'out'), 'utf8') === 'there\n'));
});

test('after so many instructions the target goes on by itself', options, async (t) => {
  const folder = temporaryFolder(t);
  const out = openSync(join(folder, 'out'), 'w');
  const { soft, samples, exitCode } = await record({
    command: ['echo', 'there'],
    events: 'soft/instructions/',
    period: 10,
    stopAfter: 5000,
    output: join(folder, 'perf.data'),
    launch: { stdio: ['ignore', out, 'inherit'] },
  });
  closeSync(out);
  assert.equal(soft!.instructions, 5000);
  assert.equal(samples, 500);
  assert.equal(exitCode, 0);
  assert.equal(readFileSync(join(folder, 'out'), 'utf8'), 'there\n');
});

test('a process that runs already keeps no breakpoint when it is let go', options, async (t) => {
  const text = CALLS.replace('call again', 'jmp _start');
  const child = spawn(assembledProgram(t, text), { stdio: 'ignore' });
  t.after(() => child.kill('SIGKILL'));
  const { counts } = await countSoft({ pids: [child.pid!], onFunction: 'work', stopAfter: 230 });
  assert.equal(counts.instructions, 230);
  const status = () => readFileSync(`/proc/${child.pid}/status`, 'utf8');
  assert.match(status(), /^TracerPid:\t0$/m);
  const ticks = () => Number(readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(' ')[13]);
  const before = ticks();
  assert.ok(await until(() => ticks() > before + 5));
  assert.equal(child.exitCode, null);
  assert.equal(child.signalCode, null);
});
