/** Processes that have ended and are not wanted any more, where a recorder runs for days. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { decodeRecordedFiles } from '@counterpoint/core/jit';
import { waiting } from '../../../test/until-told.ts';
import type { Note } from '../../kernel/perf-events/index.ts';
import { PerfMapKeeper } from './perf-maps.ts';

/** More than a keeper holds at a time. */
const PROCESSES = 5000;
/** No process has such a number. */
const FIRST_PID = 2 ** 23;

test('who is forgotten is not in later recordings, and makes room for others', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'perf-maps-'));
  const process = waiting();
  const notes: Note[] = [];
  using keeper = new PerfMapKeeper(folder);
  const packed = async () => {
    const bytes = await keeper.pack(notes);
    return bytes === null ? [] : decodeRecordedFiles(bytes).map(({ pid }) => pid);
  };
  try {
    for (let pid = FIRST_PID; pid < FIRST_PID + PROCESSES; pid++) {
      keeper.consider(pid);
      assert.equal(keeper.forget(pid), true);
    }
    assert.equal(keeper.forget(FIRST_PID), false);
    keeper.consider(process.pid);
    writeFileSync(join(folder, `perf-${process.pid}.map`), '1000 10 f\n');
    assert.deepEqual(await packed(), [process.pid]);
    keeper.forget(process.pid);
    assert.deepEqual(await packed(), []);
    // Another process has its number.
    keeper.consider(process.pid);
    assert.deepEqual(await packed(), [process.pid]);
    assert.deepEqual(notes, []);
  } finally {
    process.end();
    await once(process.child, 'exit');
    rmSync(folder, { recursive: true });
  }
});
