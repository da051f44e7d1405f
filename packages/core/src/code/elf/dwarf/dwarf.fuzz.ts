/**
 * Damaged line tables: damage is counted, lookups stay sane, and nothing costs more than the bytes are worth.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { FormatError, memorySource } from '../../../base/index.ts';
import { fuzz } from '../../../test/fuzz.ts';
import { openElf, readLines } from '../index.ts';

const BUILDS = [4, 5].map(
  (version) =>
    new Uint8Array(
      readFileSync(new URL(`../../../../../../fixtures/dwarf/lines-${version}.elf`, import.meta.url)),
    ),
);
/** Where the debug sections of the fixtures are. */
const FROM = 0x1b0;
const TO = 0x720;

test('damage in line tables, their strings and units', async () => {
  let bytes = new Uint8Array(0);
  await fuzz(
    'line tables',
    async (random) => {
      bytes = BUILDS[random.below(BUILDS.length)]!.slice();
      for (let flips = random.below(6); flips >= 0; flips--)
        bytes[FROM + random.below(TO - FROM)] = random.below(3) === 0 ? 0xff : random.below(256);
      if (random.below(4) === 0) bytes[random.below(bytes.length)]! ^= 1 << random.below(8);
      const elf = await openElf(memorySource(bytes)).catch((error: unknown) => {
        if (error instanceof FormatError) return null;
        throw error;
      });
      const table = elf === null ? null : await readLines(elf);
      if (table === null) return;
      for (let sequence = 0; sequence < table.sequenceCount; sequence++) {
        const row = table.sequenceStart(sequence);
        const found = table.lookup(table.address(row));
        assert.ok(found < 0 || table.address(found) <= table.address(row));
        assert.equal(typeof table.filePath(table.file(row)), 'string');
      }
      for (let tries = 0; tries < 20; tries++) table.lookup(random.below(0x1_0000_0000) * 16 - 100);
    },
    () => bytes,
  );
});
