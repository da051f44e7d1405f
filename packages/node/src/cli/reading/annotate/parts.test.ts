import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { EM_386, EM_AARCH64, EM_X86_64 } from '@counterpoint/core/elf';
import fc from 'fast-check';
import { drawArrows } from './arrows.ts';
import { disassemblerFor } from './disassembler.ts';
import { namesOf } from './function-samples.ts';
import { branchTarget } from './jumps.ts';

const folder = mkdtempSync(join(tmpdir(), 'counterpoint-listing-'));
after(() => rmSync(folder, { recursive: true }));

test('arrows: jumps to one place share a lane, those that overlap do not', () => {
  const { cells } = drawArrows(6, [
    { target: 4, sources: [0, 3] },
    { target: 1, sources: [2] },
  ]);
  assert.deepEqual(cells, ['┌───', '│┌─>', '│└──', '├───', '└──>', '    ']);
  assert.deepEqual(drawArrows(2, []).cells, ['', '']);
  assert.deepEqual(drawArrows(1, [{ target: 0, sources: [0] }]).cells, ['╶─>']);
});

test('arrows: an arrow through another one is seen to pass', () => {
  const { cells } = drawArrows(5, [
    { target: 2, sources: [0] },
    { target: 4, sources: [1] },
  ]);
  assert.deepEqual(cells, [' ┌──', '┌┼──', '│└─>', '│   ', '└──>']);
});

test('functions answer to their names without parameters', () => {
  assert.deepEqual(namesOf('ns::work(int, char (*)(long))'), ['ns::work(int, char (*)(long))', 'ns::work']);
  assert.deepEqual(namesOf('A::get() const'), ['A::get() const', 'A::get']);
  assert.deepEqual(namesOf('operator()(int)'), ['operator()(int)', 'operator()']);
  assert.deepEqual(namesOf('work'), ['work']);
  assert.ok(namesOf('JS:*placeQueen /app/queens.js:3:20').includes('placeQueen'));
  assert.deepEqual(namesOf('(anonymous namespace)::f(int)')[1], '(anonymous namespace)::f');
});

/** Of all functions of a program: addresses and targets of jumps, by us and by objdump. */
async function compare(machine: number, file: string, objdump: string, isJump: RegExp): Promise<number> {
  const binary = join(folder, `${file}.bin`);
  const dump = spawnSync(objdump, ['-d', '-j', '.text', '--no-show-raw-insn', file], {
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  }).stdout;
  const rows = [...dump.matchAll(/^ *([0-9a-f]+):\t([\w.]+)(?:[ \t]+(.*))?$/gm)];
  const target = /(?:^|[\s,])(?:0x)?([0-9a-f]+) </;
  const objcopy = objdump.replace('objdump', 'objcopy');
  const out = join(folder, 'text');
  assert.equal(spawnSync(objcopy, ['-O', 'binary', '-j', '.text', file, out]).status, 0, binary);
  const start = BigInt(`0x${rows[0]![1]}`);
  const disassembler = await disassemblerFor(machine, 'att');
  const ours = disassembler.disassemble(readFileSync(out), start);
  const theirs = new Map(rows.map(([, address, name, operands = '']) => [address!, { name, operands }]));
  let jumps = 0;
  for (const row of ours) {
    const address = (start + BigInt(row.offset)).toString(16);
    const known = theirs.get(address);
    assert.ok(known !== undefined, `${address} ${row.mnemonic} is no instruction of objdump`);
    const found = branchTarget(row);
    if (!isJump.test(known.name!)) {
      assert.ok(found === null || found.isCall, `${address} ${row.mnemonic} ${known.name}`);
      continue;
    }
    const expected = target.exec(known.operands)?.[1];
    assert.equal(found?.address.toString(16), expected, `${address} ${row.mnemonic} ${row.operands}`);
    jumps++;
  }
  assert.equal(ours.length, rows.length);
  return jumps;
}

/** Libraries of other processors are rarely there. */
const ALONE = ['-nostdlib', '-fno-builtin', '-w', '-Wl,-e,main', '-Wl,--unresolved-symbols=ignore-all'];

const HARD = `
void *memset(void *, int, unsigned long);
int kind(int n) { switch (n) { case 1: return 5; case 2: return 9; case 3: return 1; case 4: return 77; case 5: return 3; default: return 0; } }
double sum(const double *v, int n) { double s = 0; for (int i = 0; i < n; i++) s += v[i] * v[i]; return s; }
int scan(const char *s, unsigned long bits) { int n = 0; while (*s && !(bits & 0x8000)) { if (*s++ == 'x') n++; bits >>= 1; } return n; }
int main(int c, char **v) { double d[4] = { c, 2, 3, 4 }; char b[300]; memset(b, c, sizeof b); return kind(c) + (int)sum(d, 4) + scan(v[0], c) + b[c]; }
`;

for (const { machine, compiler, options, objdump, jump } of [
  { machine: EM_X86_64, compiler: 'gcc', options: ['-O2', '-mavx2'], objdump: 'objdump', jump: /^j\w+$/ },
  { machine: EM_386, compiler: 'gcc', options: ['-O2', '-m32'], objdump: 'objdump', jump: /^j\w+$/ },
  {
    machine: EM_AARCH64,
    compiler: 'aarch64-linux-gnu-gcc',
    options: ['-O2'],
    objdump: 'aarch64-linux-gnu-objdump',
    jump: /^(?:b|b\.\w+|cbn?z|tbn?z)$/,
  },
]) {
  test(`instructions begin, and jump, where ${objdump} says: ${compiler} ${options.join(' ')}`, async (t) => {
    const source = join(folder, 'hard.c');
    writeFileSync(source, HARD);
    const file = join(folder, `hard-${machine}`);
    if (spawnSync(compiler, [...options, ...ALONE, source, '-o', file]).status !== 0) {
      t.skip(`${compiler} ${options.join(' ')} does not compile here`);
      return;
    }
    if (spawnSync(objdump, ['--version']).status !== 0) {
      t.skip(`${objdump} is not installed`);
      return;
    }
    assert.ok((await compare(machine, file, objdump, jump)) > 5);
  });
}

test('bytes that are no instruction do not end the listing', async () => {
  const x86 = await disassemblerFor(EM_X86_64, 'intel');
  assert.deepEqual(
    x86.disassemble(Uint8Array.of(0x90, 0x06, 0xc3), 0x1000n).map(({ mnemonic }) => mnemonic),
    ['nop', '(bad)', 'ret'],
  );
  const arm = await disassemblerFor(EM_AARCH64, 'att');
  assert.deepEqual(
    arm.disassemble(Uint8Array.of(0, 0, 0, 0, 0xc0, 0x03, 0x5f, 0xd6, 1), 0n).map(({ size }) => size),
    [4, 4, 1],
  );
  await assert.rejects(disassemblerFor(8, 'att'), { code: 'ERR_NO_DISASSEMBLER' });
});

test('any bytes are disassembled to the last one', async () => {
  for (const machine of [EM_X86_64, EM_386, EM_AARCH64]) {
    const disassembler = await disassemblerFor(machine, 'att');
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 300 }),
        fc.bigInt({ min: 0n, max: 2n ** 64n - 512n }),
        (code, at) => {
          let offset = 0;
          for (const row of disassembler.disassemble(code, at)) {
            assert.equal(row.offset, offset);
            assert.ok(row.size > 0);
            offset += row.size;
            branchTarget(row);
          }
          assert.equal(offset, code.length);
        },
      ),
      { numRuns: 200 },
    );
  }
});

test('any jumps are drawn, each row as wide as the others', () => {
  const row = fc.nat(40);
  const arrows = fc.array(
    fc.record({ target: row, sources: fc.array(row, { minLength: 1, maxLength: 4 }) }),
    {
      maxLength: 30,
    },
  );
  fc.assert(
    fc.property(arrows, (all) => {
      const { cells } = drawArrows(41, all);
      assert.equal(cells.length, 41);
      assert.equal(new Set(cells.map((cell) => cell.length)).size, 1);
      assert.ok(cells[0]!.length <= 10);
    }),
  );
});
