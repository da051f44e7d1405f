/** Flat rules of every place of real binaries, against the rules that they are made from. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { test } from 'node:test';
import { memorySource } from '../../base/index.ts';
import { MemoryDriver } from '../../test/memory-driver.ts';
import { openElf, PT_LOAD } from '../elf/index.ts';
import {
  REGISTER_AT_EXPRESSION,
  REGISTER_AT_OFFSET,
  REGISTER_SAME,
  REGISTER_UNDEFINED,
  type UnwindRule,
} from './call-frame-program.ts';
import {
  FLAT_AT_FRAME_POINTER,
  FLAT_FRAME_POINTER,
  FLAT_NONE,
  FLAT_OUTERMOST,
  FLAT_RBP_AT_CFA,
  FLAT_RBP_AT_RBP,
  FLAT_RBP_LOST,
  FLAT_SIGNAL,
  FLAT_STACK_POINTER,
  FLAT_STUB,
  FlatRules,
} from './flat-rules.ts';
import { flattenFrames } from './flat-table.ts';
import { loadUnwindBinary } from './unwind-binary.ts';

const FIXTURE = new URL('../../../../../fixtures/dwarf/frames.elf', import.meta.url).pathname;
const BINARIES = [
  FIXTURE,
  process.execPath,
  ...libraries(process.execPath),
  '/usr/bin/gdb',
  '/usr/bin/python3',
].filter((path) => process.arch === 'x64' && existsSync(path));
const MOST_ROWS = 20_000;
const [RBP, RSP, RIP] = [6, 7, 16];

function libraries(path: string): string[] {
  const { stdout } = spawnSync('ldd', [path], { encoding: 'utf8' });
  return [...(stdout ?? '').matchAll(/(\/\S+)/g)].map((match) => realpathSync(match[1]!));
}

/** What is known of a register: its kind and value. */
function cell({ registers }: UnwindRule, register: number): { kind: number; value: number } {
  for (let at = 0; at < registers.length; at += 3)
    if (registers[at] === register) return { kind: registers[at + 1]!, value: registers[at + 2]! };
  return { kind: REGISTER_SAME, value: 0 };
}

/** Whether a flat rule says the same, as far as it says anything. */
function isSame(rule: UnwindRule, low: number, offset: number): boolean {
  const kind = low & 0xff;
  const rip = cell(rule, RIP);
  if (kind === FLAT_OUTERMOST) return rip.kind === REGISTER_UNDEFINED;
  if (kind === FLAT_SIGNAL) return rule.isSignalFrame && rip.kind === REGISTER_AT_EXPRESSION;
  if (rip.kind !== REGISTER_AT_OFFSET || rip.value !== -8) return false;
  const isFrame =
    (kind === FLAT_STACK_POINTER && rule.cfaRegister === RSP && rule.cfaOffset === offset) ||
    (kind === FLAT_FRAME_POINTER && rule.cfaRegister === RBP && rule.cfaOffset === offset) ||
    ((kind === FLAT_AT_FRAME_POINTER || kind === FLAT_STUB) && rule.cfaRegister === -1);
  const rbp = cell(rule, RBP);
  const how = (low >> 8) & 0xff;
  const place = (low >> 16) * 8;
  if (how === FLAT_RBP_AT_CFA) return isFrame && rbp.kind === REGISTER_AT_OFFSET && rbp.value === place;
  if (how === FLAT_RBP_AT_RBP) return isFrame && rbp.kind === REGISTER_AT_EXPRESSION;
  return isFrame && (how === FLAT_RBP_LOST) === (rbp.kind !== REGISTER_SAME);
}

for (const path of BINARIES)
  test(`flat rules of ${path}`, async () => {
    const bytes = new Uint8Array(readFileSync(path));
    const elf = await openElf(memorySource(bytes));
    const rules = new FlatRules(1 << 14);
    const table = (await flattenFrames(elf, rules))!;
    const wanted = { path, buildId: '', pid: 1, isVdso: false, acceptUnverified: true };
    const binary = (await loadUnwindBinary(wanted, new MemoryDriver({ [`binary ${path}`]: bytes }), []))!;
    const loaded = elf.segments.filter(({ type }) => type === PT_LOAD);
    const step = Math.max(1, Math.floor(table.offsets.length / MOST_ROWS));
    let none = 0;
    let known = 0;
    for (let row = 0; row < table.offsets.length; row += step) {
      const offset = table.offsets[row]!;
      assert.ok(row === 0 || offset > table.offsets[row - 1]!, 'places rise');
      assert.ok(
        loaded.some((segment) => offset >= segment.offset && offset <= segment.offset + segment.fileSize),
      );
      const rule = binary.ruleAt(offset);
      const number = table.rules[row]!;
      const [low, high] = [rules.words[2 * number]! | 0, rules.words[2 * number + 1]! | 0];
      if (low === FLAT_NONE) {
        if (rule !== null) none++;
        continue;
      }
      known++;
      assert.ok(
        rule !== null && isSame(rule, low, high),
        `${offset.toString(16)}: ${low.toString(16)} ${high}`,
      );
    }
    assert.ok(known > 0);
    // Assembly with frames of its own, and the first instructions of functions that align their stack.
    assert.ok(none <= known * 0.02, `${none} of ${known + none} rows say more than a flat rule can`);
  });

test('more rules than there is room for: the rest say nothing', async () => {
  const elf = await openElf(memorySource(new Uint8Array(readFileSync(FIXTURE))));
  const rules = new FlatRules(3);
  const table = (await flattenFrames(elf, rules))!;
  assert.equal(rules.count, 3);
  assert.ok(table.rules.every((number) => number < 3));
  assert.ok(table.rules.some((number) => number > 0));
});
