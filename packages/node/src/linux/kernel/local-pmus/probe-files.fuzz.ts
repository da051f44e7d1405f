/** Programs with changed bytes: a probe in them is found or refused, and reading them ends. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { ProbeFiles } from './probe-files.ts';

test('mutated programs', () => {
  const seconds = Number(process.env['FUZZ_SECONDS'] ?? 1);
  const end = performance.now() + seconds * 1000;
  const whole = readFileSync('/bin/true');
  const dir = mkdtempSync(join(tmpdir(), 'counterpoint-probes-'));
  try {
    // Wall time: a fuzzer runs for so long.
    for (let round = 0; performance.now() < end; round++) {
      const bytes = Buffer.from(
        whole.subarray(0, round % 7 === 0 ? 1 + ((round * 7919) % whole.length) : whole.length),
      );
      // Headers of the file, of its segments and of its sections.
      const tables = [0, 64, Math.max(0, bytes.length - 2000)];
      for (let change = 0; change < 6; change++) {
        const at = tables[(round + change) % 3]! + Math.floor(Math.random() * (change % 3 === 0 ? 64 : 2000));
        if (at < bytes.length) bytes[at] = Math.floor(Math.random() * 256);
      }
      const path = join(dir, String(round));
      writeFileSync(path, bytes);
      const file = new ProbeFiles().get(path);
      if ('functions' in file) {
        for (const address of file.functions.values()) assert.notEqual(file.offsetOf(address), null);
      } else assert.ok(file.unavailable.startsWith(path));
      rmSync(path);
    }
  } finally {
    rmSync(dir, { recursive: true });
  }
});
