/** A history of every hit of a kernel's function is the end of what a recording without loss has. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { assertSameHits, samplesOf } from '../../../test/recorded-samples.ts';
import { record } from '../record/index.ts';
import { flight } from './index.ts';

const CALLS = 3000;
/** Of linux/time.h: the clock of `flight`. */
const CLOCK_MONOTONIC = 1;

for (const events of ['kprobe:vfs_read', 'kretprobe:vfs_read'])
  test(`a history of ${events}`, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'history-'));
    const whole = join(folder, 'whole.data');
    const reads = `read go; exec busybox dd if=/bin/busybox of=/dev/null bs=1 count=${CALLS} 2> /dev/null`;
    const target = spawn('busybox', ['sh', '-c', reads], { stdio: ['pipe', 'ignore', 'inherit'] });
    const asked = { pids: [target.pid!], events, period: 1, callGraph: false, buildIds: false };
    let begun = () => {};
    const hasBegun = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const options = { ...asked, clockId: CLOCK_MONOTONIC, mmapPages: 512 };
    const recorded = record({ ...options, output: whole, onStart: begun });
    await hasBegun;
    const dumps: string[] = [];
    const recorder = await flight({
      ...asked,
      directory: folder,
      memoryBytes: 1 << 15,
      on: ['exit'],
      onDump: ({ path }) => dumps.push(path),
    });
    target.stdin!.write('go\n');
    await recorder.ended;
    assert.deepEqual((await recorded).loss, []);
    const [all, held] = [await samplesOf(whole), await samplesOf(dumps[0]!)];
    assert.ok(all.length > CALLS && all.length < CALLS + 200, `${all.length}`);
    assert.ok(held.length > 100 && held.length < CALLS / 2, `${held.length}`);
    assertSameHits(all, held);
  });
