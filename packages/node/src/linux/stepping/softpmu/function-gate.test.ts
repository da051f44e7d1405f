/**
 * Threads that run freely until a function is called: by each way that this machine has, against
 * single steps and known counts.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { closeSync, openSync, readFileSync, readSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { assembledProgram, compiledProgram, EXIT_0, noAssembler } from '../../../test/assembled-program.ts';
import { temporaryFolder } from '../../../test/perf.ts';
import { until } from '../../../test/until-told.ts';
import { breakpointsWork, realSys } from '../../kernel/sys/index.ts';
import { countSoft } from './count-soft.ts';
import { codeOf } from './mapped-code.ts';
import type { StopWay } from './stop-places.ts';
import { UprobePlaces } from './uprobe-places.ts';

const hasUprobes = UprobePlaces.open() !== null;
const WAYS: readonly StopWay[] = [
  ...(breakpointsWork(realSys) === false ? [] : (['debug-register'] as const)),
  ...(hasUprobes ? (['uprobe'] as const) : []),
  'step',
];
/** Where threads run freely; there is one on each machine where root runs the tests. */
const FREE_WAYS = WAYS.filter((way) => way !== 'step');
const options = { skip: noAssembler, timeout: 300_000 };
const uprobeOptions = {
  skip: noAssembler || (hasUprobes ? false : 'the kernel gives this user no uprobes'),
  timeout: 300_000,
};

async function countOf(command: string[], onFunction: string, stopsBy: StopWay): Promise<number> {
  const { counts, exit } = await countSoft({
    command,
    onFunction,
    stopsBy,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  assert.equal(exit?.code, 0, stopsBy);
  return counts.instructions;
}

/**
 * Functions by their first instruction, and how many instructions a call is: a kernel executes some of these
 * elsewhere, and some it imitates.
 */
const FIRSTS: Readonly<Record<string, [text: string, count: number]>> = {
  nop: ['nop\n ret', 2],
  endbr: ['endbr64\n ret', 2],
  push: ['push %rbx\n pop %rbx\n ret', 3],
  jump: ['jmp helper', 2],
  call: ['call helper\n ret', 3],
  conditional: ['je helper\n nop\n ret', 3],
  taken: ['jne helper\n nop\n ret', 2],
  return: ['ret', 1],
  subtract: ['sub $264,%rsp\n nop\n add $264,%rsp\n ret', 4],
  address: ['lea helper(%rip),%rax\n ret', 2],
  indirect: ['jmp *pointer(%rip)', 2],
  // A uprobe there would end the program by SIGSEGV (seen with Linux 6.18), and the kernel refuses the next.
  system: ['syscall\n ret', 2],
  locked: ['lock incl room(%rip)\n ret', 2],
  repeated: ['rep stosb\n ret', 2],
};

test('the first instruction counts whatever it is, and calls end where they began', options, async (t) => {
  const names = Object.keys(FIRSTS);
  const functions = names
    .map((name) => `.type f_${name}, @function\nf_${name}: ${FIRSTS[name]![0]}\n`)
    .join('');
  // getpid, ZF clear, 5 bytes to store.
  const calls = names
    .map((name) => `mov $39,%eax\n mov $5,%ecx\n lea room(%rip),%rdi\n or %ecx,%ecx\n call f_${name}\n`)
    .join('');
  const text = `.globl _start\n_start: mov $3,%ebp\n1: ${calls} dec %ebp\n jnz 1b\n ${EXIT_0}
helper: ret\n${functions}.data\npointer: .quad helper\nroom: .skip 8\n`;
  const program = assembledProgram(t, text);
  for (const stopsBy of FREE_WAYS)
    for (const name of names)
      assert.equal(
        await countOf([program], `f_${name}`, stopsBy),
        3 * FIRSTS[name]![1],
        `${stopsBy} ${name}`,
      );
});

test('a child that is forked in the function goes on in it', options, async (t) => {
  const program = assembledProgram(
    t,
    `.globl _start
.type work, @function
_start: call work
 ${EXIT_0}
work: mov $57,%eax
 syscall
 mov $10,%ecx
2: dec %ecx
 jnz 2b
 ret
`,
  );
  // fork is 2 instructions of the parent; both have 1 + 2 * 10 + 1 behind it.
  for (const stopsBy of WAYS) assert.equal(await countOf([program], 'work', stopsBy), 2 + 2 * 22, stopsBy);
});

test('calls that call themselves, and thousands of calls, are all seen', uprobeOptions, async (t) => {
  const program = assembledProgram(
    t,
    `.globl _start
.type again, @function
_start: mov $5000,%ebp
1: mov $3,%edx
 call again
 dec %ebp
 jnz 1b
 ${EXIT_0}
again: dec %edx
 jz 3f
 call again
3: ret
`,
  );
  assert.equal(await countOf([program], 'again', 'uprobe'), 5000 * (2 * 4 + 3));
});

/** A library with `late`, of 1 + 2 * 10 + 1 instructions, and a program that loads it when it runs. */
function lateProgram(t: TestContext): string[] {
  const folder = temporaryFolder(t);
  const [source, library] = [join(folder, 'late.S'), join(folder, 'liblate.so')];
  writeFileSync(
    source,
    '.globl late\n.type late, @function\nlate: mov $10,%ecx\n1: dec %ecx\n jnz 1b\n ret\n.section .note.GNU-stack,"",@progbits\n',
  );
  assert.equal(spawnSync('gcc', ['-shared', '-nostdlib', '-o', library, source]).status, 0);
  const program = compiledProgram(
    t,
    `#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
static void (*late)(void);
static pthread_barrier_t both;
static void *early(void *unused) {
  pthread_barrier_wait(&both);
  pthread_barrier_wait(&both);
  late();
  return unused;
}
int main(int argc, char **argv) {
  pthread_t thread;
  pthread_barrier_init(&both, NULL, 2);
  pthread_create(&thread, NULL, early, NULL);
  pthread_barrier_wait(&both);
  late = (void (*)(void))dlsym(dlopen(argv[1], RTLD_NOW), "late");
  if (late == NULL) return 1;
  late();
  pthread_barrier_wait(&both);
  pthread_join(thread, NULL);
  if (fork() == 0) { late(); _exit(0); }
  wait(NULL);
  return 0;
}
`,
  );
  return [program, library];
}

test(
  'a library of dlopen: by its thread, by one that was there before, and by a child',
  options,
  async (t) => {
    const command = lateProgram(t);
    for (const stopsBy of WAYS) assert.equal(await countOf(command, 'late', stopsBy), 3 * 22, stopsBy);
    for (const stopsBy of FREE_WAYS)
      assert.equal(await countOf(command, 'liblate.so:late', stopsBy), 3 * 22, stopsBy);
  },
);

/** It calls `work` until it is told by SIGUSR1, with SIGTRAP blocked if it has a word, then unblocks it. */
const UNTIL_TOLD = `#include <signal.h>
#include <stdio.h>
static volatile int told;
static volatile long calls;
static void tell(int number) { told = number; }
__attribute__((noinline)) void work(void) { calls++; }
__attribute__((noinline)) void never(void) { calls--; }
int main(int argc, char **argv) {
  sigset_t trap;
  sigemptyset(&trap);
  sigaddset(&trap, SIGTRAP);
  if (argc > 1) sigprocmask(SIG_BLOCK, &trap, NULL);
  signal(SIGUSR1, tell);
  while (!told) work();
  sigprocmask(SIG_UNBLOCK, &trap, NULL);
  for (int i = 0; i < 1000; i++) work();
  if (calls < 0) never();
  puts("well");
  return 0;
}
`;

async function endsWell(child: ChildProcess): Promise<void> {
  let out = '';
  child.stdout!.on('data', (bytes) => {
    out += bytes;
  });
  const ended = new Promise<void>((resolve) => child.on('close', () => resolve()));
  child.kill('SIGUSR1');
  await ended;
  assert.deepEqual([child.signalCode, child.exitCode, out], [null, 0, 'well\n']);
}

/** The first byte of a function in memory, and in its file. */
function firstBytes(pid: number, program: string, name: string): [number, number] {
  const nm = spawnSync('nm', [program], { encoding: 'utf8' }).stdout;
  const offset = Number.parseInt(new RegExp(`^(\\w+) T ${name}$`, 'm').exec(nm)![1]!, 16);
  const code = codeOf(pid).find(({ path }) => path === program)!;
  const byteAt = (path: string, at: number): number => {
    const fd = openSync(path, 'r');
    const byte = new Uint8Array(1);
    readSync(fd, byte, 0, 1, at);
    closeSync(fd);
    return byte[0]!;
  };
  return [byteAt(`/proc/${pid}/mem`, code.start + offset - code.offset), byteAt(program, offset)];
}

test(
  'let go between two calls, a process keeps nothing of ours, also where it blocks SIGTRAP',
  options,
  async (t) => {
    const program = compiledProgram(t, UNTIL_TOLD);
    for (const words of [[], ['blocked']]) {
      const child = spawn(program, words, { stdio: ['ignore', 'pipe', 'inherit'] });
      t.after(() => child.kill('SIGKILL'));
      assert.ok(
        await until(() =>
          readFileSync(`/proc/${child.pid}/status`, 'latin1').includes('SigCgt:\t0000000000000200'),
        ),
      );
      const abort = new AbortController();
      const counting = countSoft({
        pids: [child.pid!],
        onFunction: 'work',
        signal: abort.signal,
        onStart: () => setTimeout(() => abort.abort(), 300),
      });
      await counting;
      const [inMemory, inFile] = firstBytes(child.pid!, program, 'work');
      assert.equal(inMemory, inFile);
      assert.match(readFileSync(`/proc/${child.pid}/status`, 'latin1'), /^TracerPid:\t0$/m);
      await endsWell(child);
    }
  },
);

test('the tracer is killed while its target runs freely: no breakpoint stays', uprobeOptions, async (t) => {
  const program = compiledProgram(t, UNTIL_TOLD);
  const child = spawn(program, [], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  assert.ok(
    await until(() =>
      readFileSync(`/proc/${child.pid}/status`, 'latin1').includes('SigCgt:\t0000000000000200'),
    ),
  );
  let tracer = 0;
  const counting = countSoft({
    pids: [child.pid!],
    onFunction: 'never',
    stopsBy: 'uprobe',
    onStart: (pid) => {
      tracer = pid;
    },
  }).catch((error: unknown) => error);
  const bytes = () => firstBytes(child.pid!, program, 'never');
  assert.ok(await until(() => tracer > 0 && bytes()[0] === 0xcc));
  assert.notEqual(bytes()[1], 0xcc);
  process.kill(tracer, 'SIGKILL');
  await counting;
  assert.ok(await until(() => bytes()[0] === bytes()[1]));
  await endsWell(child);
});
