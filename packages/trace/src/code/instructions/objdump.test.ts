import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { memorySource } from '@counterpoint/core/base';
import { findSection, openElf } from '@counterpoint/core/elf';
import {
  decodeInstruction,
  Instruction,
  KIND_CALL,
  KIND_CALL_INDIRECT,
  KIND_CONDITIONAL,
  KIND_JUMP,
  KIND_JUMP_INDIRECT,
  KIND_NAMES,
  KIND_RETURN,
  MODE_16,
  MODE_32,
  MODE_64,
} from './index.ts';

/** Mnemonics of objdump that are branches; anything else must not be one. */
const BRANCHES: readonly (readonly [RegExp, readonly number[]])[] = [
  [
    /^(?:bnd |notrack |rep |repz |data16 |cs |ds |addr32 |rex\S* )*call[lwq]?\b/,
    [KIND_CALL, KIND_CALL_INDIRECT],
  ],
  [/^(?:bnd |notrack |data16 |cs |ds |addr32 |rex\S* )*jmp[lwq]?\b/, [KIND_JUMP, KIND_JUMP_INDIRECT]],
  [/^(?:bnd |repz |repnz )*ret[lwq]?\b/, [KIND_RETURN]],
  [/^(?:bnd |ds |cs |addr32 )*(?:j(?!mp)\w+|loop\w*)\b/, [KIND_CONDITIONAL]],
];

function hasObjdump(): boolean {
  try {
    execFileSync('objdump', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** Compares what objdump prints of `.text`; returns how many instructions there were. */
async function compare(path: string, mode: number, machine: readonly string[]): Promise<number> {
  const bytes = new Uint8Array(readFileSync(path));
  const text = findSection(await openElf(memorySource(bytes)), '.text');
  assert.ok(text !== null);
  const listing = execFileSync(
    'objdump',
    ['-d', '-w', '-j', '.text', ...machine, '--no-show-raw-insn', path],
    { encoding: 'utf8', maxBuffer: 1 << 29 },
  );
  const instruction = new Instruction();
  const lines = [...listing.matchAll(/^ +([0-9a-f]+):\t(.*)$/gm)].map((line) => ({
    address: Number.parseInt(line[1]!, 16),
    words: line[2]!,
  }));
  let compared = 0;
  for (let index = 0; index + 1 < lines.length; index++) {
    const { address, words } = lines[index]!;
    if (words.startsWith('(bad)') || words.startsWith('.byte')) continue;
    const offset = address - text.address + text.offset;
    const length = decodeInstruction(bytes, offset, text.offset + text.size, mode, instruction);
    const where = `${address.toString(16)} ${words}`;
    // objdump prints FWAIT with the x87 instruction behind it as one.
    if (bytes[offset] === 0x9b) continue;
    assert.equal(length, lines[index + 1]!.address - address, where);
    const { kind } = instruction;
    const targetAddress: number = address + length + instruction.displacement;
    const expected = BRANCHES.find(([pattern]) => pattern.test(words))?.[1] ?? null;
    if (expected !== null) assert.ok(expected.includes(kind), `${where}: ${KIND_NAMES[kind]}`);
    else assert.ok(kind < KIND_CALL || kind > KIND_CONDITIONAL, where);
    const target: string | undefined = /^(?:\S+ )*(?:call[lw]?|j\w+|loop\w*|xbegin) +([0-9a-f]+) </.exec(
      words,
    )?.[1];
    if (target !== undefined)
      assert.equal(
        BigInt.asUintN(instruction.pointerBits, BigInt(targetAddress)),
        BigInt(`0x${target}`),
        where,
      );
    compared++;
  }
  assert.ok(compared > lines.length * 0.95);
  return compared;
}

for (const path of ['/bin/gzip', '/lib/x86_64-linux-gnu/libm.so.6', '/lib/x86_64-linux-gnu/libc.so.6'])
  test(`${path}: lengths, branches and targets as objdump prints them`, async (context) => {
    if (!existsSync(path)) return context.skip('no such file');
    if (!hasObjdump()) return context.skip('objdump is not installed');
    assert.ok((await compare(path, MODE_64, [])) > 5_000);
  });

/**
 * Loops, switches, calls through pointers, wide arithmetic, floating point, strings:
 * what compilers make all forms of.
 */
const PROGRAM = `
typedef unsigned long long u64;
static u64 state = 88172645463325252ull;
double table[64]; short words[300]; char text[1000];
int (*callbacks[8])(int);
extern int outside(int, const char *);
u64 next(void) { state ^= state << 13; state ^= state >> 7; return state ^= state << 17; }
int choose(int kind, int value) {
  switch (kind) {
  case 0: return value * 17; case 1: return value / 3; case 2: return value << 5; case 3: return value % 1000;
  case 4: return value & 0x12345678; case 5: return callbacks[value & 7](value); case 6: return -value; case 9: return ~value;
  case 10: return value > 5 ? value * 100000 : outside(value, text); default: return (int) next();
  }
}
double mix(double a, float b, int n) {
  for (int i = 0; i < n; i++) { a = a * b + table[i & 63]; if (a > 1e300) a = 1 / a; table[i & 63] = a - (long) a; }
  return a;
}
int sum(int n) {
  int total = 0;
  for (int i = 0; i < n && i < 300; i++) { words[i] = (short) (words[i] + 1000 + i); total += words[i] * text[i * 3]; }
  return total;
}
u64 wide(u64 a, unsigned b) { return a / (b | 1) + a % (b + 7u) + (a >> (b & 31)) + (a << (b & 63)) + 0x123456789abcdefull * b; }
void copy(char *to, const char *from, unsigned long size) { while (size--) *to++ = *from++ ^ 0x55; }
`;

for (const [flag, mode, machine] of [
  ['-m64', MODE_64, 'i386:x86-64'],
  ['-m32', MODE_32, 'i386'],
  ['-m16', MODE_16, 'i8086'],
] as const)
  test(`a small program compiled with ${flag}, as objdump prints it`, async (context) => {
    if (!hasObjdump()) return context.skip('objdump is not installed');
    const folder = mkdtempSync(join(tmpdir(), 'counterpoint-'));
    try {
      const source = join(folder, 'program.c');
      writeFileSync(source, PROGRAM);
      let count = 0;
      for (const options of ['-O0', '-O2', '-O3 -funroll-loops', '-Os']) {
        const object = join(folder, 'program.o');
        const words = [flag, ...options.split(' '), '-w', '-fno-pic', '-c', source, '-o', object];
        const { status, error } = spawnSync('gcc', words, { stdio: 'ignore' });
        if (error !== undefined || status !== 0) return context.skip(`gcc cannot compile with ${flag}`);
        count += await compare(object, mode, ['-m', machine]);
      }
      assert.ok(count > 900, `${count}`);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
