import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { adviceFor, readVerdict } from './verifier-log.ts';

test('the last instruction of the path was refused, with what was known there', () => {
  const log = `0: R1=ctx() R10=fp0
5: (85) call bpf_map_lookup_elem#1    ; R0=map_value_or_null(id=1,map=r0,ks=4,vs=8)
6: (15) if r0 == 0x0 goto pc+3        ; R0=map_value(map=r0,ks=4,vs=8)
11: (b7) r0 = 0                       ; R0=0
12: (95) exit

from 6 to 10: R0=0 R10=fp0 fp-8=0
10: R0=0 R10=fp0 fp-8=0
10: (7b) *(u64 *)(r0 +0) = r2
R2 !read_ok
processed 13 insns (limit 1000000) max_states_per_insn 1 total_states 1 peak_states 1 mark_read 0
`;
  assert.deepEqual(readVerdict(log), {
    instruction: 10,
    disassembled: '(7b) *(u64 *)(r0 +0) = r2',
    reason: 'R2 !read_ok',
    registers: 'R0=0 R10=fp0 fp-8=0',
  });
  assert.match(adviceFor('R2 !read_ok'), /r1 to r5/);
});

test('the state before an instruction is not the one that it leaves behind', () => {
  const log = `0: R1=ctx() R10=fp0
0: (b7) r2 = 1                        ; R2=1
1: (79) r0 = *(u64 *)(r2 +0)
R2 invalid mem access 'scalar'
processed 2 insns (limit 1000000)
`;
  const { instruction, registers, reason } = readVerdict(log);
  assert.deepEqual([instruction, registers], [1, 'R1=ctx() R10=fp0 R2=1']);
  assert.match(adviceFor(reason), /probe_read/);
});

test('a helper call destroys its arguments, and values may have blanks', () => {
  const log = `0: R1=ctx() R3=scalar(umax=255,var_off=(0x0; 0xff)) R6=7 R10=fp0
0: (85) call bpf_get_smp_processor_id#8 ; R0=scalar(var_off=(0x0; 0xff))
1: (bf) r0 = r3
R3 !read_ok
`;
  assert.equal(readVerdict(log).registers, 'R6=7 R10=fp0 R0=scalar(var_off=(0x0; 0xff))');
});

test('a structural refusal names its instruction in its text', () => {
  const { instruction, disassembled, reason } = readVerdict(
    'jump out of range from insn 4 to 10\nprocessed 0 insns (limit 1000000)\n',
  );
  assert.deepEqual([instruction, disassembled, reason], [4, null, 'jump out of range from insn 4 to 10']);
});

test('a log without a reason is said to be one', () => {
  assert.deepEqual(readVerdict(''), {
    instruction: null,
    disassembled: null,
    reason: 'no reason was given',
    registers: null,
  });
});

test('any text is read without an error', () => {
  const line = fc.oneof(
    fc.string(),
    fc.constantFrom('1: (b7) r0 = 0 ; R0=0', 'from 1 to 2: R1=ctx()', 'processed 1 insns', '3: R1=ctx()'),
  );
  fc.assert(
    fc.property(fc.array(line), (lines) => {
      assert.notEqual(readVerdict(lines.join('\n')).reason, '');
    }),
  );
});
