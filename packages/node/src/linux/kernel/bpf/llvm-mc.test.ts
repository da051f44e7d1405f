/**
 * The oracle of the instruction set: LLVM's assembler. Each method is written down with the text that it
 * stands for, and must give the bytes that `llvm-mc -triple bpfel -mcpu=v4` gives for that text; and the text
 * that we make of the bytes must lead to the same bytes. What LLVM 19 does not know yet (load_acquire,
 * store_release) is not here, see verifier tests.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { BpfAssembler } from './assembler.ts';
import { disassemble } from './disassemble.ts';
import { COMPARISONS, type Comparison } from './instruction-set.ts';
import * as operands from './operands.ts';
import {
  i8,
  i16,
  i32,
  type MemoryOperand,
  memory,
  type Register,
  registerName,
  u8,
  u16,
  u32,
  u64,
} from './operands.ts';

const LLVM_MC = [
  '/usr/lib/llvm-19/bin/llvm-mc',
  '/usr/lib/llvm-20/bin/llvm-mc',
  '/usr/lib/llvm-21/bin/llvm-mc',
].find(existsSync);
const skip =
  LLVM_MC === undefined ? 'no llvm-mc of LLVM 19 or later (Debian: apt-get install llvm-19)' : false;

type Case = readonly [text: string, write: (asm: BpfAssembler) => void];

const registers = Object.values(operands).filter(
  (value): value is Register => typeof value === 'object' && 'kind' in value && value.kind === 'register',
);
const r = registers.filter(({ bits }) => bits === 64).sort((a, b) => a.number - b.number);
const w = registers.filter(({ bits }) => bits === 32).sort((a, b) => a.number - b.number);
const NUMBERS = [0, 1, -1, 127, -32768, 0x7fffffff, -0x80000000];
const OFFSETS = [0, 8, -8, 0x7fff, -0x8000];

function at(base: Register, offset: number): string {
  return `(${registerName(base)} ${offset < 0 ? '-' : '+'} ${Math.abs(offset)})`;
}

function* arithmetic(): Generator<Case> {
  type Operation = (asm: BpfAssembler, destination: Register, source: Register | number) => void;
  const operations: readonly [string, Operation][] = [
    ['+=', (asm, d, s) => asm.add(d, s)],
    ['-=', (asm, d, s) => asm.subtract(d, s)],
    ['*=', (asm, d, s) => asm.multiply(d, s)],
    ['/=', (asm, d, s) => asm.divide(d, s)],
    ['s/=', (asm, d, s) => asm.divideSigned(d, s)],
    ['%=', (asm, d, s) => asm.modulo(d, s)],
    ['s%=', (asm, d, s) => asm.moduloSigned(d, s)],
    ['|=', (asm, d, s) => asm.or(d, s)],
    ['&=', (asm, d, s) => asm.and(d, s)],
    ['^=', (asm, d, s) => asm.xor(d, s)],
    ['<<=', (asm, d, s) => asm.shiftLeft(d, s)],
    ['>>=', (asm, d, s) => asm.shiftRight(d, s)],
    ['s>>=', (asm, d, s) => asm.shiftRightSigned(d, s)],
    ['=', (asm, d, s) => asm.move(d, s)],
  ];
  for (const [operator, write] of operations) {
    for (const file of [r, w]) {
      for (const [index, source] of file.entries()) {
        const destination = file[(index * 3 + 1) % 10]!;
        const [d, s] = [registerName(destination), registerName(source)];
        yield [`${d} ${operator} ${s}`, (asm) => write(asm, destination, source)];
      }
      for (const number of NUMBERS) {
        if (/[/%]/.test(operator) && number === 0) continue;
        if (/<<|>>/.test(operator) && (number < 0 || number > 31)) continue;
        yield [`${registerName(file[7]!)} ${operator} ${number}`, (asm) => write(asm, file[7]!, number)];
      }
      yield [`${registerName(file[4]!)} = -${registerName(file[4]!)}`, (asm) => asm.negate(file[4]!)];
    }
  }
  yield ['r3 <<= 63', (asm) => asm.shiftLeft(r[3]!, 63)];
  for (const bits of [8, 16, 32] as const) {
    yield [`r9 = (s${bits})r2`, (asm) => asm.moveSigned(r[9]!, r[2]!, bits)];
    if (bits < 32) yield [`w9 = (s${bits})w2`, (asm) => asm.moveSigned(w[9]!, w[2]!, bits)];
  }
  for (const bits of [16, 32, 64] as const) {
    yield [`r5 = le${bits} r5`, (asm) => asm.toLittleEndian(r[5]!, bits)];
    yield [`r5 = be${bits} r5`, (asm) => asm.toBigEndian(r[5]!, bits)];
    yield [`r5 = bswap${bits} r5`, (asm) => asm.swapBytes(r[5]!, bits)];
  }
  for (const wide of [0n, 5n, 0x80000000n, 0x1122334455667788n, -1n, -(1n << 63n), (1n << 63n) - 1n])
    yield [`r8 = ${wide} ll`, (asm) => asm.moveWide(r[8]!, wide)];
  yield ['r8 = 0x123456789 ll', (asm) => asm.move(r[8]!, 0x123456789)];
  yield ['w8 = -1', (asm) => asm.move(r[8]!, 0xffffffff)];
  yield ['r1 = addr_space_cast(r2, 0, 1)', (asm) => asm.castAddressSpace(r[1]!, r[2]!, 0, 1)];
  yield ['r1 = addr_space_cast(r2, 1, 0)', (asm) => asm.castAddressSpace(r[1]!, r[2]!, 1, 0)];
}

function* memoryAccess(): Generator<Case> {
  type At = (base: Register, offset?: number) => MemoryOperand;
  const types: readonly [string, At][] = [
    ['u8', u8],
    ['u16', u16],
    ['u32', u32],
    ['u64', u64],
  ];
  for (const [type, of] of types) {
    const file = type === 'u64' ? r : w;
    for (const offset of OFFSETS) {
      yield [
        `${registerName(file[3]!)} = *(${type} *)${at(r[6]!, offset)}`,
        (asm) => asm.load(r[3]!, of(r[6]!, offset)),
      ];
      yield [
        `*(${type} *)${at(r[10]!, offset)} = ${registerName(file[3]!)}`,
        (asm) => asm.store(of(r[10]!, offset), r[3]!),
      ];
      yield [`*(${type} *)${at(r[10]!, offset)} = -5`, (asm) => asm.store(of(r[10]!, offset), -5)];
    }
    for (const base of r)
      yield [
        `${registerName(file[1]!)} = *(${type} *)${at(base, 4)}`,
        (asm) => asm.load(file[1]!, of(base, 4)),
      ];
  }
  const signedTypes: readonly [string, At][] = [
    ['s8', i8],
    ['s16', i16],
    ['s32', i32],
  ];
  for (const [type, of] of signedTypes)
    for (const offset of OFFSETS)
      yield [`r4 = *(${type} *)${at(r[2]!, offset)}`, (asm) => asm.load(r[4]!, of(r[2]!, offset))];
  // Eight signed bytes are eight bytes.
  yield ['r4 = *(u64 *)(r2 + 0)', (asm) => asm.load(r[4]!, memory(r[2]!, 0, 8, true))];
  for (const size of [1, 2, 4] as const) {
    yield [`r0 = *(u${size * 8} *)skb[14]`, (asm) => asm.loadPacket(size, 14)];
    yield [`r0 = *(u${size * 8} *)skb[r7]`, (asm) => asm.loadPacketAt(size, r[7]!)];
  }
}

function* atomics(): Generator<Case> {
  for (const [of, type, file, suffix] of [
    [u64, 'u64', r, '_64'],
    [u32, 'u32', w, '32_32'],
  ] as const) {
    for (const offset of OFFSETS) {
      const [source, zero] = [registerName(file[2]!), registerName(file[0]!)];
      const to = of(r[1]!, offset);
      const place = at(r[1]!, offset);
      const bare = place.slice(1, -1);
      yield [`lock *(${type} *)${place} += ${source}`, (asm) => asm.atomicAdd(to, file[2]!)];
      yield [`lock *(${type} *)${place} |= ${source}`, (asm) => asm.atomicOr(to, file[2]!)];
      yield [`lock *(${type} *)${place} &= ${source}`, (asm) => asm.atomicAnd(to, file[2]!)];
      yield [`lock *(${type} *)${place} ^= ${source}`, (asm) => asm.atomicXor(to, file[2]!)];
      yield [
        `${source} = atomic_fetch_add((${type} *)${place}, ${source})`,
        (asm) => asm.atomicFetchAdd(to, file[2]!),
      ];
      yield [
        `${source} = atomic_fetch_or((${type} *)${place}, ${source})`,
        (asm) => asm.atomicFetchOr(to, file[2]!),
      ];
      yield [
        `${source} = atomic_fetch_and((${type} *)${place}, ${source})`,
        (asm) => asm.atomicFetchAnd(to, file[2]!),
      ];
      yield [
        `${source} = atomic_fetch_xor((${type} *)${place}, ${source})`,
        (asm) => asm.atomicFetchXor(to, file[2]!),
      ];
      yield [`${source} = xchg${suffix}(${bare}, ${source})`, (asm) => asm.atomicExchange(to, file[2]!)];
      yield [
        `${zero} = cmpxchg${suffix}(${bare}, ${zero}, ${source})`,
        (asm) => asm.atomicCompareExchange(to, file[2]!),
      ];
    }
  }
}

function* flow(): Generator<Case> {
  const there = (slots: number, write: (asm: BpfAssembler) => void) => (asm: BpfAssembler) => {
    write(asm);
    if (slots > 0) asm.jumpIf(r[0]!, '==', 0, 'there');
    for (let index = 0; index < slots - 1; index++) asm.move(r[0]!, 0);
    asm.label('there');
  };
  for (const comparison of Object.keys(COMPARISONS) as Comparison[]) {
    for (const file of [r, w]) {
      const left = registerName(file[2]!);
      yield [
        `if ${left} ${comparison} ${registerName(file[9]!)} goto +3`,
        there(3, (asm) => asm.jumpIf(file[2]!, comparison, file[9]!, 'there')),
      ];
      for (const number of NUMBERS)
        yield [
          `if ${left} ${comparison} ${number} goto +1`,
          there(1, (asm) => asm.jumpIf(file[2]!, comparison, number, 'there')),
        ];
    }
  }
  yield ['if w2 == -1 goto +1', there(1, (asm) => asm.jumpIf(w[2]!, '==', 0xffffffff, 'there'))];
  yield ['goto +0', there(0, (asm) => asm.jump('there'))];
  yield ['gotol +0', there(0, (asm) => asm.jumpLong('there'))];
  yield ['may_goto +2', there(2, (asm) => asm.mayJump('there'))];
  yield ['call 14', (asm) => asm.callHelper(14)];
  yield ['call 14', (asm) => asm.call('get_current_pid_tgid')];
  yield ['exit', (asm) => asm.exit()];
}

/** The bytes of each line of text, by LLVM. */
function assembleByLlvm(texts: readonly string[]): string[] {
  const { stdout, stderr, status } = spawnSync(LLVM_MC!, ['-triple', 'bpfel', '-mcpu=v4', '-show-encoding'], {
    input: `${texts.join('\n')}\n`,
    encoding: 'utf8',
    maxBuffer: 1 << 26,
  });
  assert.equal(status, 0, stderr.slice(0, 2000));
  return [...stdout.matchAll(/encoding: \[([^\]]*)\]/g)].map(([, bytes]) => bytes!.replace(/0x|,/g, ''));
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** The bytes of the first instruction that a case writes. */
function assembleByUs(write: (asm: BpfAssembler) => void, sizeBytes: number): Uint8Array {
  const asm = new BpfAssembler({ name: 'oracle', type: 'socket-filter' });
  write(asm);
  // A jump may lead to here; an exit leads nowhere.
  if (asm.isOpen) asm.return(0);
  return asm.assemble().instructions.subarray(0, sizeBytes);
}

test('every instruction has the bytes that LLVM gives it, and the text that LLVM reads', { skip }, () => {
  const cases = [...arithmetic(), ...memoryAccess(), ...atomics(), ...flow()];
  const expected = assembleByLlvm(cases.map(([text]) => text));
  assert.equal(expected.length, cases.length);
  const ours = cases.map(([, write], index) => assembleByUs(write, expected[index]!.length / 2));
  for (const [index, [text]] of cases.entries()) assert.equal(hex(ours[index]!), expected[index], text);
  const texts = ours.map((instructions) => disassemble({ instructions })[0]!.text);
  for (const [index, bytes] of assembleByLlvm(texts).entries())
    assert.equal(bytes, expected[index], texts[index]);
});
