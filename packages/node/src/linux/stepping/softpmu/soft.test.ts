import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { CounterpointError } from '@counterpoint/core/base';
import { temporaryFolder } from '../../../test/perf.ts';
import { countSoft } from './count-soft.ts';
import { refusedAttach } from './refused-attach.ts';
import { parseSoftEvents } from './soft-events.ts';

const hasCompiler = process.arch === 'x64' && spawnSync('gcc', ['--version']).status === 0;
const skip = hasCompiler ? false : 'no gcc, or not x86-64';
const timeout = 120_000;

function build(t: TestContext, text: string): string {
  const folder = temporaryFolder(t);
  const [source, program] = [join(folder, 'program.S'), join(folder, 'program')];
  writeFileSync(source, text);
  const { status, stderr } = spawnSync('gcc', ['-nostdlib', '-static', '-o', program, source], {
    encoding: 'utf8',
  });
  assert.equal(status, 0, stderr);
  return program;
}

const EXIT = 'mov $60,%eax\n xor %edi,%edi\n syscall\n';

test('a loop, a call and a repeated string instruction have their closed-form counts', {
  skip,
  timeout,
}, async (t) => {
  const program = build(
    t,
    `.globl _start
_start: mov $1000,%ecx
1: dec %ecx
 jnz 1b
 lea buf(%rip),%rdi
 mov $300,%ecx
 xor %eax,%eax
 rep stosb
 call f
 ${EXIT}
f: ret
.bss
buf: .space 400
`,
  );
  const { counts, exit } = await countSoft({ command: [program] });
  assert.equal(exit?.code, 0);
  assert.deepEqual(counts, {
    instructions: 2010,
    iterations: 2309,
    branches: 1002,
    conditional: 1000,
    calls: 1,
    unreadable: 0,
    threads: 1,
  });
});

test('what runs behind cpuid counts, also where a hypervisor loses the trap of the step', {
  skip,
  timeout,
}, async (t) => {
  const program = build(
    t,
    `.globl _start
_start: xor %eax,%eax
 cpuid
 nop
 nop
 mov $3,%esi
1: xor %eax,%eax
 cpuid
 dec %esi
 jnz 1b
 xor %eax,%eax
 cpuid
 jmp 2f
 nop
2: xor %eax,%eax
 cpuid
 call f
 ${EXIT}
f: ret
`,
  );
  const { counts, exit } = await countSoft({ command: [program] });
  assert.equal(exit?.code, 0);
  const { instructions, branches, conditional, calls } = counts;
  assert.deepEqual(
    { instructions, branches, conditional, calls },
    { instructions: 5 + 3 * 4 + 3 + 3 + 1 + 3, branches: 3 + 1 + 2, conditional: 3, calls: 1 },
  );
});

test('a forked child is counted, too, and its status arrives', { skip, timeout }, async (t) => {
  const program = build(
    t,
    `.globl _start
_start: mov $57,%eax
 syscall
 test %eax,%eax
 jz 2f
 mov $61,%eax
 mov $-1,%rdi
 xor %esi,%esi
 xor %edx,%edx
 xor %r10d,%r10d
 syscall
 mov $7,%edi
 mov $60,%eax
 syscall
2: mov $50,%ecx
3: dec %ecx
 jnz 3b
 ${EXIT}`,
  );
  const { counts, exit } = await countSoft({ command: [program] });
  assert.equal(exit?.code, 7);
  assert.equal(counts.threads, 2);
  // The parent's 13 instructions; the child's test, jz, mov, 100 of the loop, and 3 at its end.
  assert.equal(counts.instructions, 13 + 2 + 1 + 100 + 3);
});

test('a target that catches SIGTRAP gets its own, and only these', { skip, timeout }, async (t) => {
  const program = build(
    t,
    `.globl _start
_start: mov $13,%eax
 mov $5,%edi
 lea act(%rip),%rsi
 xor %edx,%edx
 mov $8,%r10d
 syscall
 int3
 mov caught(%rip),%edi
 mov $60,%eax
 syscall
handler: incl caught(%rip)
 ret
restorer: mov $15,%eax
 syscall
.data
act: .quad handler, 0x04000000, restorer, 0
caught: .long 40
`,
  );
  const { counts, exit } = await countSoft({ command: [program] });
  assert.equal(exit?.code, 41);
  assert.equal(counts.instructions, 6 + 1 + 2 + 2 + 3);
});

test('a setuid program is refused before anything runs', { skip, timeout }, async (t) => {
  const program = join(temporaryFolder(t), 'setuid');
  copyFileSync('/bin/true', program);
  chmodSync(program, 0o4755);
  await assert.rejects(countSoft({ command: [program] }), { code: 'ERR_SETUID_PROGRAM' });
});

test('who may not trace is told by whom the thread is traced, or which setting forbids it', () => {
  const refused = new CounterpointError('EPERM', 'ptrace: EPERM', '');
  const files = (texts: Record<string, string>) => (path: string) => texts[path] ?? null;
  const traced = refusedAttach(
    7,
    refused,
    files({ '/proc/7/status': 'TracerPid:\t9\n', '/proc/9/comm': 'gdb\n' }),
  );
  assert.equal(traced.code, 'ERR_TRACED_ALREADY');
  assert.match(traced.message, /'gdb' \(process 9\)/);
  const yama = refusedAttach(7, refused, files({ '/proc/sys/kernel/yama/ptrace_scope': '1\n' }));
  assert.equal(yama.code, 'ERR_PTRACE_PERMISSION');
  assert.match(yama.remedy, /ptrace_scope=0/);
});

test('names: soft events alone, known ones only', () => {
  assert.equal(parseSoftEvents(['cycles']), null);
  assert.deepEqual(parseSoftEvents(['soft/cond/u']), [{ requestedName: 'soft/cond/u', name: 'cond' }]);
  assert.throws(() => parseSoftEvents(['soft/nothing/']), { code: 'ERR_SOFT_EVENT' });
  assert.throws(() => parseSoftEvents(['soft/cond/,cycles']), { code: 'ERR_SOFT_EVENT' });
});

test('after counting was stopped, the target goes on untraced', { skip, timeout }, async (t) => {
  const program = build(t, '.globl _start\n_start: jmp _start\n');
  const stop = new AbortController();
  let pid = 0;
  const { counts } = await countSoft({
    command: [program],
    signal: stop.signal,
    onStart: (_, commandPid) => {
      pid = commandPid!;
      setTimeout(() => stop.abort(), 500);
    },
  });
  assert.ok(counts.instructions > 10);
  assert.equal(counts.instructions, counts.branches);
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  assert.match(status, /^TracerPid:\t0$/m);
  assert.match(status, /^State:\tR/m);
  process.kill(pid, 'SIGKILL');
});

test('a target that shares the CPU of its tracer sees where it may run without us', {
  skip,
  timeout,
}, async (t) => {
  // sched_getaffinity(0, 128, buf); exit(how many bits of its first byte are set).
  const program = build(
    t,
    `.globl _start
_start: mov $204,%eax
 xor %edi,%edi
 mov $1024,%esi
 lea buf(%rip),%rdx
 syscall
 movzbl buf(%rip),%eax
 xor %edi,%edi
1: mov %eax,%ecx
 and $1,%ecx
 add %ecx,%edi
 shr $1,%eax
 jnz 1b
 mov $60,%eax
 syscall
.bss
buf: .space 1024
`,
  );
  const alone = spawnSync(program).status!;
  const { exit } = await countSoft({ command: [program] });
  assert.equal(exit?.code, alone);
  if (alone < 2) t.skip('this machine has one CPU for us');
});

test('while it is stepped a target runs on one CPU, and afterwards where it may', {
  skip,
  timeout,
}, async (t) => {
  const program = build(t, '.globl _start\n_start: jmp _start\n');
  const allowed = (pid: number) =>
    /^Cpus_allowed:\t(.*)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]!;
  const before = allowed(process.pid);
  const stop = new AbortController();
  let [pid, during] = [0, ''];
  await countSoft({
    command: [program],
    signal: stop.signal,
    onStart: (_, commandPid) => {
      pid = commandPid!;
      during = allowed(pid);
      setTimeout(() => stop.abort(), 300);
    },
  });
  t.after(() => process.kill(pid, 'SIGKILL'));
  assert.match(during.replace(/[0,]/g, ''), /^[1248]$/);
  assert.equal(allowed(pid), before);
});
