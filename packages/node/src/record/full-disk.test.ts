/** Where the output takes no more: what it has, and what it says of the rest. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, test } from 'node:test';
import { memorySource } from '@counterpoint/core/base';
import { openPerfData, readRecords } from '@counterpoint/core/perfdata';
import { collectStats } from '@counterpoint/core/query';
import { liveHandles } from '../sys/index.ts';
import { record } from './index.ts';

const directory = mkdtempSync(join(tmpdir(), 'counterpoint-full-disk-'));
after(() => rmSync(directory, { recursive: true }));
afterEach(() => assert.deepEqual(liveHandles(), []));
const skip = process.getuid?.() === 0 ? false : 'needs root';

for (const [size, hasFeatures, format] of [
  ['256k', true, null],
  ['48k', false, null],
  ['256k', true, 'double-buffer'],
  ['256k', true, 'on-miss'],
] as const)
  test(`a disk full at ${size}${format === null ? '' : `, ${format}`}: what was written stays readable, what was not is counted in it, and the command ends`, {
    skip,
  }, async () => {
    const small = mkdtempSync(join(directory, 'small-'));
    if (spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'none', small]).status !== 0) return;
    try {
      const path = join(small, 'perf.data');
      const result = await record({
        command: ['sh', '-c', 'while :; do :; done'],
        events: 'cpu-clock',
        frequency: 9000,
        ...(format === null ? { callGraph: true } : { formats: [format] }),
        flushIntervalMs: 10,
        launch: { stdio: ['ignore', 'ignore', 'ignore'] },
        output: path,
      });
      assert.equal(result.stopped, 'write-error');
      assert.match(result.error!.message, /no space left/);
      // Each overflow is a sample, or a loss.
      const overflows = result.formats.reduce((sum, one) => sum + Number(one.overflows), 0);
      const losses = result.loss.reduce((sum, { count }) => sum + Number(count), 0);
      if (format !== null) assert.equal(result.samples + losses, overflows);
      const unwritten = result.loss.find(({ kind }) => kind === 'recorder-stopped');
      assert.ok(Number(unwritten?.count) > 0);
      const stats = await collectStats(await openPerfData(memorySource(new Uint8Array(readFileSync(path)))));
      const told = stats.loss.find(({ kind }) => kind === 'recorder-stopped');
      assert.deepEqual([told?.count, told?.unit, told?.exact], [unwritten?.count, 'samples', true]);
      assert.equal(stats.samples, result.samples);
      const reader = await openPerfData(memorySource(new Uint8Array(readFileSync(path))));
      let samples = 0;
      for await (const { record: one } of readRecords(reader)) if ('sample' in one) samples++;
      assert.equal(reader.isUnfinished, false);
      // On the smallest disk they find room or not, by where the last records ended.
      if (hasFeatures) assert.ok((reader.features.buildIds?.length ?? 0) > 0, 'the features found no room');
      assert.ok(samples > 10);
      assert.deepEqual(reader.damage.list(), []);
    } finally {
      spawnSync('umount', [small]);
    }
  });
