import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { assembledProgram, noAssembler } from '../../../../test/assembled-program.ts';
import { temporaryFolder } from '../../../../test/perf.ts';
import { until } from '../../../../test/until-told.ts';
import { countSoft } from '../count-soft.ts';

const options = { skip: noAssembler, timeout: 300_000 };

/** Counts in memory forever; its argument is the file that it writes 8 bytes to, again and again. */
const ENDLESS = `.globl _start
_start: mov $2,%eax
 mov 16(%rsp),%rdi
 mov $0x241,%esi
 mov $0x180,%edx
 syscall
 mov %rax,%r14
1: mov $100000,%ecx
2: call f
 dec %ecx
 jnz 2b
 incq rounds(%rip)
 mov $18,%eax
 mov %r14,%rdi
 lea rounds(%rip),%rsi
 mov $8,%edx
 xor %r10d,%r10d
 syscall
 jmp 1b
f: ret
.data
rounds: .quad 0
`;

function rounds(file: string): bigint {
  return existsSync(file) && readFileSync(file).length === 8 ? readFileSync(file).readBigUInt64LE() : 0n;
}

function endless(t: TestContext): { program: string; file: string } {
  return { program: assembledProgram(t, ENDLESS), file: join(temporaryFolder(t), 'rounds') };
}

/** It goes on in its own code, and nothing of ours is in its memory. */
async function assertFree(pid: number, file: string): Promise<void> {
  assert.match(readFileSync(`/proc/${pid}/status`, 'utf8'), /^TracerPid:\t0$/m);
  const before = rounds(file);
  assert.ok(await until(() => rounds(file) > before + 2n));
  const maps = readFileSync(`/proc/${pid}/maps`, 'utf8');
  const executable = maps.split('\n').filter((line) => / r-xp /.test(line));
  assert.deepEqual(
    executable.filter((line) => !/program$|\[vdso\]$|\[vsyscall\]$/.test(line)),
    [],
  );
}

test('after counting was stopped, the target goes on in its own code', options, async (t) => {
  const { program, file } = endless(t);
  const stop = new AbortController();
  let pid = 0;
  const counting = countSoft({
    command: [program, file],
    way: 'fast',
    signal: stop.signal,
    onStart: (_, commandPid) => {
      pid = commandPid!;
    },
  });
  assert.ok(await until(() => rounds(file) > 3n));
  stop.abort();
  const { counts } = await counting;
  try {
    assert.ok(counts.instructions > 3 * 400_000);
    await assertFree(pid, file);
  } finally {
    process.kill(pid, 'SIGKILL');
  }
});

test('a killed target has counted what it executed', options, async (t) => {
  const { program, file } = endless(t);
  let pid = 0;
  const counting = countSoft({
    command: [program, file],
    way: 'fast',
    onStart: (_, commandPid) => {
      pid = commandPid!;
    },
  });
  assert.ok(await until(() => rounds(file) > 10n));
  process.kill(pid, 'SIGKILL');
  const { counts, exit } = await counting;
  assert.equal(exit?.signal, 'SIGKILL');
  const whole = 7 + Number(rounds(file)) * (1 + 400_000 + 8);
  // The end may come inside of the system call: neither it nor the jump behind it was executed.
  assert.ok(
    counts.instructions >= whole - 2 && counts.instructions < whole + 400_010,
    `${counts.instructions} ${whole}`,
  );
});

test('a process that runs already is counted from then on, and released', options, async (t) => {
  const { program, file } = endless(t);
  const child = spawn(program, [file]);
  try {
    assert.ok(await until(() => rounds(file) > 1n));
    const stop = new AbortController();
    const isTraced = () => !/^TracerPid:\t0$/m.test(readFileSync(`/proc/${child.pid}/status`, 'utf8'));
    const counting = countSoft({ pids: [child.pid!], way: 'fast', signal: stop.signal });
    assert.ok(await until(isTraced));
    const first = rounds(file);
    assert.ok(await until(() => rounds(file) > first + 20n));
    stop.abort();
    const { counts } = await counting;
    assert.ok(counts.instructions > 10 * 400_000);
    await assertFree(child.pid!, file);
  } finally {
    child.kill('SIGKILL');
  }
});
