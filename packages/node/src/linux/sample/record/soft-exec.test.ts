/** A trace in software of a program that calls another: each part is decoded by the code of its time. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { assembledProgram, EXIT_0, noAssembler } from '../../../test/assembled-program.ts';
import { counterpoint } from '../../../test/command-line.ts';
import { perf, perfIsMissing, temporaryFolder } from '../../../test/perf.ts';
import { record } from './record.ts';

const SECOND = `.globl _start\n_start: mov $50,%ecx\n1: dec %ecx\n jnz 1b\n ${EXIT_0}`;
/** At the same address. Where it ends, outcomes of its loop still wait for their packet. */
const first = (path: string) => `.globl _start
_start: mov $101,%ecx
1: test $1,%cl
 jz 2f
 nop
2: dec %ecx
 jnz 1b
 mov $59,%eax
 lea path(%rip),%rdi
 xor %esi,%esi
 xor %edx,%edx
 syscall
 ud2
path: .asciz "${path}"
`;
const INSTRUCTIONS = 1 + 101 * 4 + 51 + 5 + (1 + 2 * 50 + 3);

for (const softWay of ['step', 'fast'] as const)
  test(`what ran before an exec is decoded by the code of that time: ${softWay}`, {
    skip: noAssembler || perfIsMissing(),
    timeout: 300_000,
  }, async (t) => {
    const command = [assembledProgram(t, first(assembledProgram(t, SECOND)))];
    const output = join(temporaryFolder(t), 'perf.data');
    const { soft, loss } = await record({ command, events: 'soft_pt//u', softWay, output });
    assert.deepEqual(loss, []);
    assert.equal(soft!.instructions, INSTRUCTIONS);
    const words = ['script', '-i', output, '--itrace=i1ie', '-F', 'ip'];
    const { out, err } = await counterpoint(...words);
    assert.equal(out.trim().split('\n').length, INSTRUCTIONS, err);
    // The file ends in the middle of the last page that was mapped.
    assert.equal(err, '');
    assert.equal(
      perf(...words)
        .trim()
        .split('\n').length,
      INSTRUCTIONS,
    );
  });
