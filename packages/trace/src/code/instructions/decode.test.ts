import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { corpusFiles, corpusText, lacksCorpus } from '../../../../core/src/test/corpus.ts';
import {
  DETAIL_NAMES,
  DETAIL_XABORT,
  DETAIL_XBEGIN,
  decodeInstruction,
  INSN_INVALID,
  INSN_TRUNCATED,
  Instruction,
  KIND_CALL,
  KIND_CALL_INDIRECT,
  KIND_CONDITIONAL,
  KIND_FAR_CALL,
  KIND_FAR_JUMP,
  KIND_FAR_RETURN,
  KIND_JUMP,
  KIND_JUMP_INDIRECT,
  KIND_NAMES,
  KIND_PTWRITE,
  KIND_RETURN,
  MODE_16,
  MODE_32,
  MODE_64,
} from './index.ts';

const instruction = new Instruction();

function hex(text: string): Uint8Array<ArrayBuffer> {
  const digits = text.replaceAll(' ', '');
  return Uint8Array.from({ length: digits.length / 2 }, (_, at) =>
    Number.parseInt(digits.slice(2 * at, 2 * at + 2), 16),
  );
}

/**
 * `length kind detail displacement`, or what is wrong; decoded both at the end of the
 * bytes and with others behind.
 */
function describe(text: string, mode: number): string {
  const bytes = hex(text);
  const answers = [bytes, Uint8Array.of(...bytes, ...new Uint8Array(40).fill(0xcc))].map((all) => {
    const length = decodeInstruction(all, 0, all.length, mode, instruction);
    if (length < 0) return length === INSN_INVALID ? 'invalid' : 'truncated';
    assert.equal(length, instruction.length);
    const { kind, detail, displacement } = instruction;
    const words = [
      `${length}`,
      KIND_NAMES[kind]!,
      DETAIL_NAMES[detail]!,
      displacement === 0 ? '' : `${displacement}`,
    ];
    return words.filter((word) => word !== '').join(' ');
  });
  if (answers[0] !== 'truncated') assert.equal(answers[0], answers[1]);
  return answers[0]!;
}

// Bytes as the SDM's instruction pages give them; | 64-bit | 32-bit | 16-bit where they differ.
const INSTRUCTIONS = `
90                           | 1 other
6666 6666 6666 2e0f1f8400 00000000 | 15 other | 15 other | 12 other
e8 01000000                  | 5 call 1 | 5 call 1 | 3 call 1
66 e8 01000000               | 6 call 1 | 4 call 1 | 6 call 1
e9 fcffffff                  | 5 jump -4 | 5 jump -4 | 3 jump -4
66 e9 fcffffff               | 6 jump -4 | 4 jump -4 | 6 jump -4
eb fe                        | 2 jump -2
0f84 00010000                | 6 conditional jump 256 | 6 conditional jump 256 | 4 conditional jump 256
66 0f85 00010000             | 7 conditional jump 256 | 5 conditional jump 256 | 7 conditional jump 256
75 80                        | 2 conditional jump -128
e2 10                        | 2 conditional jump loop 16
67 e3 10                     | 3 conditional jump jcxz 16
c3                           | 1 return
f3 c3                        | 2 return
f2 c2 0800                   | 4 return
cb                           | 1 far return far return
48 cb                        | 2 far return far return | 1 other
cf                           | 1 far return iret
48 cf                        | 2 far return iret | 1 other
ff d0                        | 2 indirect call
41 ff 24 c5 00000000         | 8 indirect jump | 1 other
3e ff e0                     | 3 indirect jump
f2 ff 25 00000000            | 7 indirect jump | 7 indirect jump | 3 indirect jump
ff 28                        | 2 far jump far jump
ff e8                        | invalid
ff f8                        | invalid
9a 00000000 0000             | invalid | 7 far call far call | 5 far call far call
66 9a 00000000 0000          | invalid | 6 far call far call | 8 far call far call
ea 00000000 0000             | invalid | 7 far jump far jump | 5 far jump far jump
cc                           | 1 far call int3
cd 80                        | 2 far call int
ce                           | invalid | 1 far call into
f1                           | 1 far call int1
0f05                         | 2 far call syscall
0f34                         | 2 far call sysenter
48 0f07                      | 3 far return sysret | 1 other
48 0f35                      | 3 far return sysexit | 1 other
0faa                         | 2 far return rsm
0f01c1                       | 3 far call vmcall
0f01c2                       | 3 far return vmlaunch
0f01c3                       | 3 far return vmresume
0fc730                       | 3 other vmptrld
66 0fc730                    | 4 other
0fc7f0                       | 3 other
0f01c9                       | 3 other mwait
0f01ca                       | 3 other
f2 0f01ca                    | 4 far return erets | 4 other
f3 0f01ca                    | 4 far return eretu | 4 other
f3 0f01ec                    | 4 far return uiret | 4 other
f4                           | 1 other hlt
c7f8 10000000                | 6 other xbegin 16 | 6 other xbegin 16 | 4 other xbegin 16
66 c7f8 10000000             | 5 other xbegin 16 | 5 other xbegin 16 | 7 other xbegin 16
c6f8 01                      | 3 other xabort
0f01d5                       | 3 other xend
f3 0fae 20                   | 4 ptwrite ptwrite
f3 48 0fae e0                | 5 ptwrite ptwrite | 2 other
0fae 20                      | 3 other
66 0fae f1                   | 4 other tpause
f2 0fae f1                   | 4 other umwait
0f22 d8                      | 3 mov cr3 mov cr3
44 0f22 d8                   | 4 other | 1 other
0f22 05                      | 3 other
0f20 9c                      | 3 other
48 b8 0102030405060708       | 10 other | 1 other
66 b8 0102 0304              | 4 other | 4 other | 6 other
a0 0102030405060708          | 9 other | 5 other | 3 other
67 a0 0102030405060708       | 6 other | 4 other | 6 other
c8 1000 01                   | 4 other
f6 c0 01                     | 3 other
f6 d0                        | 2 other
f7 c0 01000000               | 6 other | 6 other | 4 other
f7 d0                        | 2 other
66 f7 04 25 00000000 0100    | 10 other | 10 other | 7 other
8b 04 25 00000000            | 7 other | 7 other | 2 other
8b 44 24 08                  | 4 other | 4 other | 3 other
8b 84 24 08000000            | 7 other | 7 other | 4 other
67 8b 05 00000000            | 7 other | 3 other | 7 other
66 0f 3a 0f c1 08            | 6 other
0f 38 f0 00                  | 4 other
0f 0f c1 bf                  | 4 other
66 0f 78 c0 01 02            | 6 other
0f 78 c0                     | 3 other
0f 0b                        | 2 other
0f ff c0                     | 3 other
c5 f8 77                     | 3 other
c5 fd 70 c1 01               | 5 other
c4 e2 7d 18 00               | 5 other | 5 other
c4 e3 7d 04 c1 01            | 6 other
66 c5 f8 58 c1               | invalid
48 c5 f8 58 c1               | invalid | 1 other
c4 00                        | invalid | 2 other
8f 00                        | 2 other
8f e8 78 c0 c1 01            | 6 other
8f e9 78 01 c1               | 5 other
8f ea 78 10 c1 01020304      | 9 other
62 f1 7c 48 58 c1            | 6 other
62 f3 7d 48 04 c1 01         | 7 other
62 f5 7c 48 58 c1            | 6 other
62 f4 7c 18 81 c0 01000000   | 10 other | invalid
62 f4 7d 18 81 c0 0100       | 8 other | invalid
62 f4 7c 18 f7 d8            | 6 other | invalid
62 00                        | invalid | 2 other
d5 18 89 c0                  | 4 other | 2 other
d5 80 af c1                  | 4 other | 2 other
d5 80 22 d8                  | 4 mov cr3 mov cr3 | 2 other
d5 00 a1 0102030405060708    | 11 indirect jump jmpabs | 2 other
66 d5 00 a1 0102030405060708 | invalid | 3 other
d5 00 e8 00000000            | invalid | 2 other
d5 00 ff d0                  | 4 indirect call | 2 other
06                           | invalid | 1 other
`;

test('instructions by the book, in three modes', () => {
  const wrong: string[] = [];
  for (const line of INSTRUCTIONS.trim().split('\n')) {
    const [bytes = '', in64 = '', in32 = in64, in16 = in32] = line.split('|').map((part) => part.trim());
    for (const [mode, expected] of [
      [MODE_64, in64],
      [MODE_32, in32],
      [MODE_16, in16],
    ] as const) {
      const found = describe(bytes, mode);
      if (found !== expected) wrong.push(`${bytes} in mode ${mode}: ${found}, expected ${expected}`);
    }
  }
  assert.deepEqual(wrong, []);
});

test('a cut instruction is truncated at every byte, and bytes outside are not read', () => {
  for (const line of INSTRUCTIONS.trim().split('\n')) {
    const bytes = hex(line.split('|')[0]!.trim());
    const length = decodeInstruction(bytes, 0, bytes.length, MODE_64, instruction);
    if (length < 0) continue;
    for (let end = 0; end < length; end++)
      assert.equal(
        decodeInstruction(bytes, 0, end, MODE_64, instruction),
        INSN_TRUNCATED,
        `${line} cut at ${end}`,
      );
  }
});

test('sixteen bytes are no instruction', () => {
  assert.equal(describe(`${'66'.repeat(14)}90`, MODE_64), '15 other');
  assert.equal(describe(`${'66'.repeat(15)}90`, MODE_64), 'invalid');
  assert.equal(describe('66'.repeat(15), MODE_64), 'invalid');
  assert.equal(describe('66'.repeat(14), MODE_64), 'truncated');
});

/** XED's categories that say something about the flow. */
const KINDS_OF_CATEGORY: Record<string, number[]> = {
  CALL: [KIND_CALL, KIND_CALL_INDIRECT, KIND_FAR_CALL],
  COND_BR: [KIND_CONDITIONAL],
  UNCOND_BR: [KIND_JUMP, KIND_JUMP_INDIRECT, KIND_FAR_JUMP],
  RET: [KIND_RETURN, KIND_FAR_RETURN],
  SYSCALL: [KIND_FAR_CALL],
  INTERRUPT: [KIND_FAR_CALL],
};

test('91,803 instructions of real programs on which two other decoders agree', {
  skip: lacksCorpus('x86/'),
}, () => {
  const packed = corpusFiles('x86').find((file) => file.name === 'instruction-lengths.txt.gz')!;
  let count = 0;
  for (const line of gunzipSync(packed.bytes).toString().trim().split('\n')) {
    const [text = '', length, category = ''] = line.split(' ');
    const bytes = hex(text);
    assert.equal(decodeInstruction(bytes, 0, bytes.length, MODE_64, instruction), Number(length), line);
    const kinds = KINDS_OF_CATEGORY[category];
    // XED counts XBEGIN and XABORT among the branches; both go on, unless the transaction aborts.
    if (/^c[67]f8/.test(text))
      assert.ok(instruction.detail === DETAIL_XBEGIN || instruction.detail === DETAIL_XABORT);
    else if (kinds === undefined)
      assert.ok(instruction.kind === 0, `${line}: ${KIND_NAMES[instruction.kind]}`);
    else assert.ok(kinds.includes(instruction.kind), `${line}: ${KIND_NAMES[instruction.kind]}`);
    count++;
  }
  assert.equal(count, 91_803);
});

interface Vector {
  name: string;
  bytes: string;
  mode: '64bit' | '32bit' | '16bit';
  expect: 'length' | 'class' | 'invalid';
  length?: number;
  class?: string;
  iext?: string;
}

const CLASSES: Record<string, number[]> = {
  ptic_other: [0, 2],
  ptic_call: [KIND_CALL, KIND_CALL_INDIRECT],
  ptic_return: [KIND_RETURN],
  ptic_jump: [KIND_JUMP, KIND_JUMP_INDIRECT],
  ptic_cond_jump: [KIND_CONDITIONAL],
  ptic_far_call: [KIND_FAR_CALL],
  ptic_far_return: [KIND_FAR_RETURN],
  ptic_far_jump: [KIND_FAR_JUMP],
  ptic_ptwrite: [KIND_PTWRITE],
};
const MODES = { '64bit': MODE_64, '32bit': MODE_32, '16bit': MODE_16 };

test("libipt's own vectors for the three modes", { skip: lacksCorpus('pt/ild-vectors.json') }, () => {
  const text = corpusText('pt/ild-vectors.json')!;
  const vectors: Vector[] = JSON.parse(text);
  assert.equal(vectors.length, 77);
  for (const vector of vectors) {
    const bytes = hex(vector.bytes);
    const length = decodeInstruction(bytes, 0, bytes.length, MODES[vector.mode], instruction);
    const name = `${vector.name} ${vector.bytes} ${vector.mode}`;
    if (vector.expect === 'invalid') assert.ok(length < 0, name);
    else if (bytes.length > 15) {
      // Eighteen bytes cannot be one instruction: the vector lost some of its digits on the
      // way. As it stands: ADD.
      assert.equal(vector.name, 'long_nop');
      assert.equal(length, 8, name);
    } else {
      assert.equal(length, vector.length, name);
      assert.ok(
        CLASSES[vector.class!]!.includes(instruction.kind),
        `${name}: ${KIND_NAMES[instruction.kind]}`,
      );
      const extension = vector.iext?.replace('PTI_INST_', '').toLowerCase().replaceAll('_', ' ');
      if (extension !== undefined && DETAIL_NAMES.includes(extension))
        assert.equal(DETAIL_NAMES[instruction.detail], extension, name);
    }
  }
});
