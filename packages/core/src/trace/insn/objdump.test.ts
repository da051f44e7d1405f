import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { memorySource } from '../../base/index.ts';
import { findSection, openElf } from '../../elf/index.ts';
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
  MODE_64,
} from './index.ts';

/** Mnemonics of objdump that are branches; anything else must not be one. */
const BRANCHES: readonly (readonly [RegExp, readonly number[]])[] = [
  [/^(?:bnd |notrack |rep |repz |data16 |cs |ds |addr32 |rex\S* )*call\b/, [KIND_CALL, KIND_CALL_INDIRECT]],
  [/^(?:bnd |notrack |data16 |cs |ds |addr32 |rex\S* )*jmp\b/, [KIND_JUMP, KIND_JUMP_INDIRECT]],
  [/^(?:bnd |repz |repnz )*ret\b/, [KIND_RETURN]],
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

const BINARIES = ['/bin/gzip', '/lib/x86_64-linux-gnu/libm.so.6', '/lib/x86_64-linux-gnu/libc.so.6'];

for (const path of BINARIES)
  test(`${path}: lengths, branches and targets as objdump prints them`, async (context) => {
    if (!existsSync(path)) return context.skip('no such file');
    if (!hasObjdump()) return context.skip('objdump is not installed');
    const bytes = new Uint8Array(readFileSync(path));
    const text = findSection(await openElf(memorySource(bytes)), '.text');
    assert.ok(text !== null);
    const listing = execFileSync('objdump', ['-d', '-w', '-j', '.text', '--no-show-raw-insn', path], {
      encoding: 'utf8',
      maxBuffer: 1 << 29,
    });
    const instruction = new Instruction();
    const lines = [...listing.matchAll(/^ +([0-9a-f]+):\t(.*)$/gm)].map((line) => ({
      address: Number.parseInt(line[1]!, 16),
      words: line[2]!,
    }));
    assert.ok(lines.length > 5_000);
    let compared = 0;
    for (let index = 0; index + 1 < lines.length; index++) {
      const { address, words } = lines[index]!;
      if (words.startsWith('(bad)') || words.startsWith('.byte')) continue;
      const offset = address - text.address + text.offset;
      const length = decodeInstruction(bytes, offset, text.offset + text.size, MODE_64, instruction);
      const where = `${address.toString(16)} ${words}`;
      // objdump prints FWAIT with the x87 instruction behind it as one.
      if (bytes[offset] === 0x9b) continue;
      assert.equal(length, lines[index + 1]!.address - address, where);
      const expected = BRANCHES.find(([pattern]) => pattern.test(words))?.[1] ?? null;
      if (expected !== null)
        assert.ok(expected.includes(instruction.kind), `${where}: ${KIND_NAMES[instruction.kind]}`);
      else assert.ok(instruction.kind < KIND_CALL || instruction.kind > KIND_CONDITIONAL, where);
      const target: string | undefined = /^(?:\S+ )*(?:call|j\w+|loop\w*|xbegin) +([0-9a-f]+) </.exec(
        words,
      )?.[1];
      if (target !== undefined)
        assert.equal(address + length + instruction.displacement, Number.parseInt(target, 16), where);
      compared++;
    }
    assert.ok(compared > lines.length * 0.95);
  });
