/**
 * Damaged entries, abbreviations and lists: damage is counted, and answers cost no
 * more than the bytes are worth.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { FormatError, memorySource } from '../../../base/index.ts';
import { fuzz } from '../../../test/fuzz.ts';
import { openElf } from '../index.ts';
import { findSources, readDebugSections, SplitPackage, splitUnit, unitFile } from './index.ts';

const fixture = (name: string) =>
  new Uint8Array(readFileSync(new URL(`../../../../../../fixtures/dwarf/${name}`, import.meta.url)));
const BUILDS = ['lines-4.elf', 'lines-5.elf'].map(fixture);
const ADDRESSES = Array.from({ length: 600 }, (_, at) => 0x400000 + at);

test('damage in the entries of functions and what they refer to', async () => {
  let bytes = new Uint8Array(0);
  await fuzz(
    'debug information',
    async (random) => {
      bytes = BUILDS[random.below(BUILDS.length)]!.slice();
      const from = 0x1b0;
      for (let flips = random.below(8); flips >= 0; flips--)
        bytes[from + random.below(bytes.length - from)] = random.below(3) === 0 ? 0xff : random.below(256);
      const elf = await openElf(memorySource(bytes)).catch((error: unknown) => {
        if (error instanceof FormatError) return null;
        throw error;
      });
      if (elf === null) return;
      // It stands in for the file that is shared as well: references lead into it.
      const shared = await readDebugSections(elf);
      const sections = await readDebugSections(elf, '', shared);
      if (sections === null) return;
      const found = await findSources(unitFile(sections), ADDRESSES);
      assert.equal(found.length, ADDRESSES.length);
      for (const frames of found)
        for (const { functionName, file, line, column } of frames) {
          assert.equal(typeof functionName, 'string');
          assert.equal(typeof file, 'string');
          assert.ok(line >= 0 && column >= 0, `${line}:${column}`);
        }
    },
    () => bytes,
  );
});

const SPLIT = [4, 5].map((version) => ({
  skeleton: fixture(`split-${version}.elf`),
  parts: [fixture(`split-${version}.elf-count.dwo`), fixture(`split-${version}.dwp`)],
}));

test('damage in files of split debug information, and in packages of them', async () => {
  let bytes = new Uint8Array(0);
  await fuzz(
    'split debug information',
    async (random) => {
      const { skeleton, parts } = SPLIT[random.below(SPLIT.length)]!;
      const isPackage = random.below(2);
      bytes = parts[isPackage]!.slice();
      for (let flips = random.below(8); flips >= 0; flips--)
        bytes[0x40 + random.below(bytes.length - 0x40)] = random.below(3) === 0 ? 0xff : random.below(256);
      const sections = await readDebugSections(await openElf(memorySource(skeleton)));
      const found = await findSources(unitFile(sections!), ADDRESSES, {
        splitUnit: async (unit) => {
          const elf = await openElf(memorySource(bytes));
          const own =
            isPackage === 0
              ? await readDebugSections(elf, '.dwo')
              : ((await SplitPackage.read(elf))?.sectionsOf(unit.splitId) ?? null);
          return own === null ? null : splitUnit(own, unit);
        },
      });
      assert.ok(found.some((frames) => frames.length > 0));
    },
    () => bytes,
  );
});
