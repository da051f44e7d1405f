/**
 * Damaged frame information, and stacks and registers of an enemy: nothing throws, hangs or reads outside.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { FormatError, memorySource } from '../../base/index.ts';
import { fuzz } from '../../test/fuzz.ts';
import { MemoryDriver } from '../../test/memory-driver.ts';
import { findSection, openElf, type Section } from '../elf/index.ts';
import { Process } from '../machine/index.ts';
import { X86_64 } from './architectures.ts';
import { FlatRules } from './flat-rules.ts';
import { type FlatTable, flattenFrames } from './flat-table.ts';
import { MOST_FRAMES, STACK_WAITS, StackUnwinder } from './stack-unwinder.ts';
import { UnwindRules } from './unwind-rules.ts';

const PATH = '/app';
const START = 0x5500_0000_0000;
const STACK = 0x7ffc_0000_0000;

/** With an index, and with `.debug_frame`, which has none. */
const PROGRAMS = ['frames', 'lines-5'].map(
  (name) =>
    new Uint8Array(readFileSync(new URL(`../../../../../fixtures/dwarf/${name}.elf`, import.meta.url))),
);

async function frameSections(program: Uint8Array<ArrayBuffer>): Promise<Section[]> {
  const elf = await openElf(memorySource(program));
  const names = ['.eh_frame', '.eh_frame_hdr', '.debug_frame'];
  const found = names.map((name) => findSection(elf, name)).filter((section) => section !== null);
  assert.ok(found.length > 0, 'the fixture has frame information');
  return found;
}

test('damage in frame information, with stacks that lead anywhere', async () => {
  const sections = await Promise.all(PROGRAMS.map(frameSections));
  let bytes = new Uint8Array(0);
  let frames = 0;
  let stacks = 0;
  await fuzz(
    'frame information',
    async (random) => {
      const program = random.below(PROGRAMS.length);
      bytes = PROGRAMS[program]!.slice();
      const { offset, size } = random.pick(sections[program]!);
      for (let flips = random.below(5); flips > 0; flips--)
        bytes[offset + random.below(size)] = random.below(3) === 0 ? 0xff : random.below(256);
      const rules = new UnwindRules(
        new MemoryDriver({ [`binary ${PATH}`]: bytes }),
        () => ({ buildId: '', acceptUnverified: true }),
        () => false,
      );
      const process = new Process(1);
      process.maps.add({
        start: START,
        end: START + bytes.length,
        pageOffset: 0,
        path: PATH,
        buildId: '',
        pid: 1,
        symbol: null,
        binary: -1,
      });
      const code = () => START + random.below(bytes.length);
      const view = new DataView(new ArrayBuffer(8 * (1 + random.below(100))));
      for (let at = 0; at < view.byteLength; at += 8)
        view.setBigUint64(
          at,
          BigInt(random.pick([code(), STACK + random.below(1024), random.below(2 ** 31), 0])),
          true,
        );
      for (let samples = 0; samples < 20; samples++) {
        rules.select(process, X86_64.machine, 0);
        const unwinder = new StackUnwinder(X86_64, true);
        for (let tries = 0; tries < 3; tries++) {
          for (let register = 0; register < 16; register++)
            unwinder.registers[register] = STACK + random.below(1024);
          unwinder.registers[X86_64.stackPointer] = STACK;
          unwinder.registers[X86_64.programCounter] = code();
          unwinder.memory.set(view, 0, view.byteLength, STACK, true);
          if (unwinder.unwind(rules.find) !== STACK_WAITS) break;
          await rules.load().catch((error: unknown) => assert.ok(error instanceof FormatError));
        }
        assert.ok(unwinder.count >= 1 && unwinder.count <= MOST_FRAMES);
        frames += unwinder.count - 1;
        stacks++;
      }
    },
    () => bytes,
  );
  // Not too few for how many there was time for.
  assert.ok(frames > stacks / 100, `${frames} callers were found in ${stacks} stacks`);
});

test('damage in frame information that becomes flat tables', async () => {
  const sections = await Promise.all(PROGRAMS.map(frameSections));
  let bytes = new Uint8Array(0);
  let rows = 0;
  await fuzz(
    'flat tables',
    async (random) => {
      const program = random.below(PROGRAMS.length);
      bytes = PROGRAMS[program]!.slice();
      const { offset, size } = random.pick(sections[program]!);
      for (let flips = random.below(8); flips > 0; flips--)
        bytes[offset + random.below(size)] = random.below(3) === 0 ? 0xff : random.below(256);
      const rules = new FlatRules(64);
      let table: FlatTable | null = null;
      try {
        table = await flattenFrames(await openElf(memorySource(bytes)), rules);
      } catch (error) {
        assert.ok(error instanceof FormatError);
      }
      if (table === null) return;
      rows += table.offsets.length;
      assert.equal(table.offsets.length, table.rules.length);
      for (let row = 0; row < table.offsets.length; row++) {
        assert.ok(row === 0 || table.offsets[row]! > table.offsets[row - 1]!, 'places rise');
        assert.ok(table.rules[row]! < rules.count);
      }
    },
    () => bytes,
  );
  assert.ok(rows > 0);
});
