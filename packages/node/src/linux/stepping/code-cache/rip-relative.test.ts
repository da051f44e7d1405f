import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { decodeInstruction, Instruction, MODE_64 } from '@counterpoint/trace/instructions';
import { ripDisplacement } from './rip-relative.ts';

const hasObjdump = spawnSync('objdump', ['--version']).status === 0;

/** Programs of this machine, with vector code of every kind and without. */
const PROGRAMS = ['/lib/x86_64-linux-gnu/libm.so.6', '/lib/x86_64-linux-gnu/libc.so.6', process.execPath];
/** Node is large: its first so many bytes of code. */
const MOST_BYTES = 3_000_000;

for (const path of PROGRAMS)
  test(`${path.split('/').at(-1)}: the operands relative to rip are those that objdump finds`, {
    skip: !hasObjdump || process.arch !== 'x64' || !existsSync(path) ? 'no objdump, or not x86-64' : false,
    timeout: 300_000,
  }, () => {
    const bytes = new Uint8Array(readFileSync(path));
    const headers = spawnSync('objdump', ['-h', '-j', '.text', path], { encoding: 'utf8' }).stdout;
    const [, size, address, , offset] = /\.text +(\w+) +(\w+) +(\w+) +(\w+)/.exec(headers)!;
    const start = Number.parseInt(address!, 16);
    const stop = start + Math.min(MOST_BYTES, Number.parseInt(size!, 16));
    const shift = Number.parseInt(offset!, 16) - start;
    const listing = spawnSync(
      'objdump',
      ['-d', '-w', '-j', '.text', '--no-show-raw-insn', `--stop-address=${stop}`, path],
      { encoding: 'utf8', maxBuffer: 1 << 29 },
    ).stdout;
    const instruction = new Instruction();
    let relative = 0;
    for (const [, at, words] of listing.matchAll(/^ +([0-9a-f]+):\t(.*)$/gm)) {
      const pc = Number.parseInt(at!, 16);
      // objdump prints FWAIT with the x87 instruction behind it as one.
      if (words!.startsWith('(bad)') || bytes[pc + shift] === 0x9b) continue;
      const length = decodeInstruction(bytes, pc + shift, bytes.length, MODE_64, instruction);
      if (length <= 0) continue;
      const displacement = ripDisplacement(bytes, pc + shift, length);
      assert.equal(displacement !== 0, words!.includes('(%rip)'), `${at} ${words}`);
      if (displacement === 0) continue;
      relative++;
      const target = /\(%rip\).*# ([0-9a-f]+)/.exec(words!)?.[1];
      const distance = new DataView(bytes.buffer).getInt32(pc + shift + displacement, true);
      assert.equal(pc + length + distance, Number.parseInt(target!, 16), `${at} ${words}`);
    }
    assert.ok(relative > 1000, `${relative}`);
  });
