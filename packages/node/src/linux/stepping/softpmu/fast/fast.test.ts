import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  assembledProgram,
  compiledProgram,
  EXIT_0,
  noAssembler,
} from '../../../../test/assembled-program.ts';
import { countInFixedLayout, noFixedLayout } from '../../../../test/fixed-layout.ts';
import { temporaryFolder } from '../../../../test/perf.ts';
import { countSoft, type SoftResult } from '../count-soft.ts';

const options = { skip: noAssembler, timeout: 300_000 };

/** Both ways of counting; the counts of the fast one must be those of single steps. */
async function bothWays(command: string[]): Promise<SoftResult> {
  const stepped = await countSoft({ command });
  const fast = await countSoft({ command, way: 'fast' });
  assert.deepEqual(fast.exit, stepped.exit);
  assert.deepEqual(fast.counts, { ...stepped.counts, iterations: null });
  return fast;
}

test('a loop, a call and a repeated string instruction have their closed-form counts', options, async (t) => {
  const program = assembledProgram(
    t,
    `.globl _start
_start: mov $1000000,%ecx
1: dec %ecx
 jnz 1b
 lea buf(%rip),%rdi
 mov $300,%ecx
 xor %eax,%eax
 rep stosb
 call f
 ${EXIT_0}
f: ret
.bss
buf: .space 400
`,
  );
  const { counts, exit, stepped } = await countSoft({ command: [program], way: 'fast' });
  assert.equal(exit?.code, 0);
  const { instructions, branches, conditional, calls } = counts;
  assert.deepEqual(
    { instructions, branches, conditional, calls },
    { instructions: 2_000_010, branches: 1_000_002, conditional: 1_000_000, calls: 1 },
  );
  assert.equal(stepped, 0);
});

/**
 * Every kind of branch, with every kind of operand; the exit status tells whether
 * registers and flags were kept.
 */
const BRANCHES = `.globl _start
_start: mov $40,%r12d
 xor %ebx,%ebx
again:
 mov $3,%ecx
1: inc %ebx
 loop 1b
 jrcxz 2f
 ud2
2: jecxz 3f
 ud2
3: stc
 call f
 jnc bad
 lea f(%rip),%rax
 stc
 call *%rax
 jnc bad
 call *pointer(%rip)
 jnc bad
 lea pointer(%rip),%r9
 call *(%r9)
 mov $1,%ecx
 call *-8(%r9,%rcx,8)
 push %rax
 push $0
 movq $f,(%rsp)
 call *(%rsp)
 pop %rax
 pop %rax
 notrack jmp *table(%rip)
 ud2
4: lea table(%rip),%r15
 mov $1,%eax
 jmp *(%r15,%rax,8)
 ud2
5: push $7
 push $8
 call g
 cmp $5,%rax
 jne bad
 call 6f
6: pop %rax
 lea 6b(%rip),%rdx
 cmp %rax,%rdx
 jne bad
 mov $100,%eax
 add $200,%al
 pushf
 call f
 popf
 jnc bad
 mov %rsp,%rbp
 lea -8(%rsp),%rsp
 movq $9f,(%rsp)
 bnd ret
 ud2
9: cmp %rsp,%rbp
 jne bad
 mov $39,%eax
 syscall
 lea back(%rip),%rdx
back: cmp %rcx,%rdx
 jne 7f
7: dec %r12d
 jnz again
 mov $60,%eax
 mov %ebx,%edi
 syscall
bad: mov $60,%eax
 mov $255,%edi
 syscall
f: lea 1(%rbx),%rbx
 ret
g: mov $5,%eax
 ret $16
.data
pointer: .quad f
table: .quad 4b, 5b
`;

test('every kind of branch leads where it should, and counts as in single steps', options, async (t) => {
  const { exit, counts, stepped } = await bothWays([assembledProgram(t, BRANCHES)]);
  assert.equal(exit?.code, (40 * 10) & 0xff);
  assert.equal(counts.threads, 1);
  assert.equal(stepped, 0);
});

test('after a system call, rcx has the return address of the program', options, async (t) => {
  const program = assembledProgram(
    t,
    `.globl _start
_start: mov $39,%eax
 syscall
1: lea 1b(%rip),%rdi
 sub %rcx,%rdi
 mov $60,%eax
 syscall
`,
  );
  const { exit } = await bothWays([program]);
  assert.equal(exit?.code, 0);
});

/**
 * Signals of a timer meet a loop of calls, returns and indirect jumps. It writes into the file of its
 * first argument how often both ran.
 */
const SIGNALS = `.globl _start
_start: mov $2,%eax
 mov 16(%rsp),%rdi
 mov $0x241,%esi
 mov $0x180,%edx
 syscall
 mov %rax,%r14
 mov $13,%eax
 mov $14,%edi
 lea act(%rip),%rsi
 xor %edx,%edx
 mov $8,%r10d
 syscall
 mov $38,%eax
 xor %edi,%edi
 lea interval(%rip),%rsi
 xor %edx,%edx
 syscall
 xor %r12d,%r12d
 lea f(%rip),%r13
loop: inc %r12
 call f
 call *%r13
 lea 1f(%rip),%rax
 jmp *%rax
1: cmpq $400,signals(%rip)
 jb loop
 mov %r12,rounds(%rip)
 mov $38,%eax
 xor %edi,%edi
 lea none(%rip),%rsi
 xor %edx,%edx
 syscall
 mov $1,%eax
 mov %r14,%rdi
 lea rounds(%rip),%rsi
 mov $16,%edx
 syscall
 ${EXIT_0}
f: ret
handler: incq signals(%rip)
 ret
restorer: mov $15,%eax
 syscall
.data
.align 8
act: .quad handler, 0x04000000, restorer, 0
interval: .quad 0, 300, 0, 300
none: .quad 0, 0, 0, 0
rounds: .quad 0
signals: .quad 0
`;

test(
  'signals in the middle of blocks: each instruction counts once, and the handler too',
  options,
  async (t) => {
    const output = join(temporaryFolder(t), 'out');
    const program = assembledProgram(t, SIGNALS);
    const { counts, exit } = await countSoft({ command: [program, output], way: 'fast' });
    assert.equal(exit?.code, 0);
    const written = readFileSync(output);
    const [rounds, signals] = [Number(written.readBigUInt64LE(0)), Number(written.readBigUInt64LE(8))];
    assert.ok(signals >= 400);
    assert.equal(counts.instructions, 19 + 9 * rounds + 14 + 4 * signals);
    // Calls and returns of the loop, its jumps, and the handler's return.
    assert.equal(counts.branches, 6 * rounds + signals);
    assert.equal(counts.calls, 2 * rounds);
  },
);

test('a fault in the middle of a block tells its handler where it was', options, async (t) => {
  const program = assembledProgram(
    t,
    `.globl _start
_start: mov $13,%eax
 mov $11,%edi
 call install
 mov $13,%eax
 mov $4,%edi
 call install
 xor %ebx,%ebx
 mov $16,%ebp
again: inc %ebx
fault: mov (%rbx),%rax
 inc %ebx
illegal: ud2
 dec %ebp
 jnz again
 mov %ebx,%edi
 mov $60,%eax
 syscall
install: lea act(%rip),%rsi
 xor %edx,%edx
 mov $8,%r10d
 syscall
 ret
handler: mov 168(%rdx),%rax
 cmp $11,%edi
 jne 1f
 lea fault(%rip),%rcx
 cmp %rax,%rcx
 jne 9f
 addq $3,168(%rdx)
 ret
1: lea illegal(%rip),%rcx
 cmp %rax,%rcx
 jne 9f
 cmp 16(%rsi),%rax
 jne 9f
 addq $2,168(%rdx)
 ret
9: mov $99,%edi
 mov $60,%eax
 syscall
restorer: mov $15,%eax
 syscall
.data
.align 8
act: .quad handler, 0x04000004, restorer, 0
`,
  );
  const { exit } = await bothWays([program]);
  assert.equal(exit?.code, 32);
});

test('forked children, borrowed memory and exec are followed', options, async (t) => {
  const other = assembledProgram(t, `.globl _start\n_start: mov $500,%ecx\n1: loop 1b\n ${EXIT_0}`);
  const program = assembledProgram(
    t,
    `.globl _start
_start: mov 8(%rsp),%r13
 lea 8(%rsp),%r14
 mov $57,%eax
 call fork
 mov $58,%eax
 call fork
 mov $300,%ecx
1: loop 1b
 mov $7,%edi
 mov $60,%eax
 syscall
fork: pop %r15
 syscall
 test %eax,%eax
 jz child
 mov $61,%eax
 mov $-1,%rdi
 xor %esi,%esi
 xor %edx,%edx
 xor %r10d,%r10d
 syscall
 jmp *%r15
child: mov $100,%ecx
2: loop 2b
 mov $59,%eax
 lea path(%rip),%rdi
 mov %r14,%rsi
 xor %edx,%edx
 syscall
 ud2
.data
path: .asciz "${other}"
`,
  );
  const { counts, exit } = await bothWays([program]);
  assert.equal(exit?.code, 7);
  assert.equal(counts.threads, 3);
  assert.equal(counts.conditional, 300 + 2 * (100 + 500) + 4);
});

test('two threads that share memory execute translated code each', options, async (t) => {
  const program = assembledProgram(
    t,
    `.globl _start
_start: mov $2000,%ecx
1: loop 1b
 mov $56,%eax
 mov $0x10f00,%edi
 lea stack_end(%rip),%rsi
 xor %edx,%edx
 xor %r10d,%r10d
 xor %r8d,%r8d
 syscall
 test %eax,%eax
 jz thread
 mov $200,%ecx
2: loop 2b
3: cmpl $1,done(%rip)
 jne 3b
 mov $231,%eax
 xor %edi,%edi
 syscall
thread: mov $300,%ecx
4: loop 4b
 movl $1,done(%rip)
 mov $60,%eax
 xor %edi,%edi
 syscall
.bss
done: .long 0
.align 16
 .space 4096
stack_end:
`,
  );
  const { counts, exit, stepped } = await countSoft({ command: [program], way: 'fast' });
  assert.equal(exit?.code, 0);
  assert.equal(counts.threads, 2);
  // How often the main thread asks for the other depends on who steps when: each time is two instructions.
  const asked = counts.conditional - 2502;
  const all = JSON.stringify({ ...counts, stepped });
  assert.ok(asked >= 1, all);
  assert.equal(counts.instructions, 1 + 2000 + 7 + 2 + 1 + 200 + 2 * asked + 3 + (2 + 1 + 300 + 1 + 3), all);
  assert.ok(stepped < 20, all);
});

/**
 * Code that is written, executed, changed and executed again: first never
 * writable, then writable all the time.
 */
const CHANGING = (rights: number): string => `.globl _start
_start: mov $9,%eax
 xor %edi,%edi
 mov $4096,%esi
 mov $3,%edx
 mov $0x22,%r10d
 mov $-1,%r8
 xor %r9d,%r9d
 syscall
 mov %rax,%r12
 xor %ebx,%ebx
 mov $1,%ebp
again:
 mov $3,%edx
 call protect
 movb $0xb8,(%r12)
 mov %ebp,1(%r12)
 movb $0xc3,5(%r12)
 mov $${rights},%edx
 call protect
 call *%r12
 add %eax,%ebx
 call *%r12
 add %eax,%ebx
 inc %ebp
 cmp $6,%ebp
 jne again
 mov %ebx,%edi
 mov $60,%eax
 syscall
protect: mov $10,%eax
 mov %r12,%rdi
 mov $4096,%esi
 syscall
 ret
`;

for (const [name, rights] of [
  ['that is made executable', 5],
  ['that stays writable', 7],
] as const)
  test(`code ${name} and changes is executed as it is`, options, async (t) => {
    const { exit, stepped } = await bothWays([assembledProgram(t, CHANGING(rights))]);
    assert.equal(exit?.code, 2 * (1 + 2 + 3 + 4 + 5));
    assert.ok(stepped > 0);
  });

/** In each round one thread writes a function anew, and then all call it a thousand times. */
const SHARED_CODE = `#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
enum { THREADS = 24, ROUNDS = 8 };
static pthread_barrier_t barrier;
static void *code;
static unsigned long total;
static void *work(void *number) {
  unsigned long sum = 0;
  for (int round = 1; round <= ROUNDS; round++) {
    if (number == 0) {
      unsigned char text[] = { 0xb8, round, 0, 0, 0, 0xc3 };
      mprotect(code, 4096, PROT_READ | PROT_WRITE);
      memcpy(code, text, sizeof text);
      mprotect(code, 4096, PROT_READ | PROT_EXEC);
    }
    pthread_barrier_wait(&barrier);
    for (int call = 0; call < 1000; call++) sum += ((int (*)(void))code)();
    pthread_barrier_wait(&barrier);
  }
  __atomic_fetch_add(&total, sum, __ATOMIC_SEQ_CST);
  return 0;
}
int main(void) {
  pthread_t threads[THREADS];
  code = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  pthread_barrier_init(&barrier, 0, THREADS);
  for (int wave = 0; wave < 2; wave++) {
    for (long i = 0; i < THREADS; i++) pthread_create(&threads[i], 0, work, (void *)i);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], 0);
  }
  return total == 2UL * THREADS * 1000 * (ROUNDS * (ROUNDS + 1) / 2) ? 0 : 1;
}
`;

test(
  'code that one thread changes is new for all, and threads that come later use zones of those that ended',
  options,
  async (t) => {
    const { exit, counts, stepped } = await countSoft({
      command: [compiledProgram(t, SHARED_CODE)],
      way: 'fast',
    });
    assert.equal(exit?.code, 0);
    assert.equal(counts.threads, 1 + 2 * 24);
    assert.ok(counts.instructions > 2 * 24 * 8 * 1000 * 2);
    assert.ok(stepped < counts.instructions / 100);
  },
);

test('int3 of the program is its own', options, async (t) => {
  const program = assembledProgram(
    t,
    `.globl _start
_start: mov $13,%eax
 mov $5,%edi
 lea act(%rip),%rsi
 xor %edx,%edx
 mov $8,%r10d
 syscall
 int3
 call f
 int3
 mov caught(%rip),%edi
 mov $60,%eax
 syscall
f: ret
handler: incl caught(%rip)
 ret
restorer: mov $15,%eax
 syscall
.data
act: .quad handler, 0x44000000, restorer, 0
caught: .long 40
`,
  );
  const { exit } = await bothWays([program]);
  assert.equal(exit?.code, 42);
});

for (const [name, command] of [
  ['true', ['/bin/true']],
  ['gzip', ['/bin/gzip', '-c', '-n', '/proc/self/comm']],
] as const)
  test(`${name}: output and counts are those of single steps, to the instruction`, {
    ...options,
    skip: noAssembler || noFixedLayout || (existsSync(command[0]) ? false : `no ${name}`),
  }, (t) => {
    const stepped = countInFixedLayout(t, 'step', [...command]);
    const fast = countInFixedLayout(t, 'fast', [...command]);
    assert.deepEqual(fast.counts, { ...stepped.counts, iterations: null });
    assert.deepEqual(fast.exit, stepped.exit);
    assert.equal(fast.output, stepped.output);
    assert.ok(fast.stepped < fast.counts.instructions / 100);
  });
