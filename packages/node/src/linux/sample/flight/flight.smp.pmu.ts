/** Recorders of whole CPUs, one of which goes offline. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { PERF_RECORD_SAMPLE } from '@counterpoint/core/abi';
import { openRecording } from '../../../host/open/index.ts';
import { liveHandles } from '../../kernel/sys/index.ts';
import { record } from '../record/index.ts';
import { flight } from './index.ts';

afterEach(() => assert.deepEqual(liveHandles(), []));

const online = (cpu: number, is: boolean) =>
  writeFileSync(`/sys/devices/system/cpu/cpu${cpu}/online`, is ? '1' : '0');

/** Samples by CPU, and the newest time. */
async function samplesOf(path: string): Promise<{ byCpu: number[]; lastNs: bigint }> {
  await using recording = await openRecording(path);
  const byCpu = [0, 0];
  let lastNs = 0n;
  for await (const { record } of recording.records()) {
    if (record.type !== PERF_RECORD_SAMPLE || !('sample' in record)) continue;
    byCpu[record.sample.cpu!]!++;
    lastNs = record.sample.time!;
  }
  return { byCpu, lastNs };
}

test('a recording says that a CPU went offline', async () => {
  const notes: string[] = [];
  const end = new AbortController();
  const directory = mkdtempSync(join(tmpdir(), 'record-'));
  const recorded = record({
    systemWide: true,
    events: 'cpu-clock',
    frequency: 200,
    output: join(directory, 'perf.data'),
    buildIds: false,
    signal: end.signal,
    onNote: (all) => notes.push(all.at(-1)!.kind),
  });
  try {
    await sleep(1500);
    online(1, false);
    await sleep(2500);
    end.abort();
    const { samples } = await recorded;
    assert.ok(samples > 100, `${samples} samples`);
    assert.deepEqual(
      notes.filter((kind) => kind === 'cpu-gone'),
      ['cpu-gone'],
    );
  } finally {
    online(1, true);
  }
});

test('what a CPU did before it went offline stays in the history, and the others go on', async () => {
  const load = spawn('taskset', ['-c', '1', '/bin/busybox', 'sh', '-c', 'while :; do :; done'], {
    stdio: 'ignore',
  });
  const recorder = await flight({
    systemWide: true,
    events: 'cpu-clock',
    frequency: 200,
    directory: mkdtempSync(join(tmpdir(), 'flight-')),
    buildIds: false,
  });
  try {
    await sleep(1000);
    const before = await samplesOf((await recorder.dump('before')).path);
    assert.ok(before.byCpu[1]! > 50, `${before.byCpu}`);
    online(1, false);
    await sleep(500);
    const after = await samplesOf((await recorder.dump('offline')).path);
    assert.ok(after.byCpu[1]! >= before.byCpu[1]!, `${after.byCpu} after ${before.byCpu}`);
    assert.ok(after.byCpu[0]! > before.byCpu[0]! && after.lastNs > before.lastNs, `${after.byCpu}`);
    // It looks once a second.
    await sleep(1500);
    assert.deepEqual(
      recorder.notes.filter(({ kind }) => kind === 'cpu-gone').map(({ text }) => text),
      ['CPU 1 went offline: its samples end there, even if it comes back (start again to record it)'],
    );
    online(1, true);
    await sleep(300);
    const later = await samplesOf((await recorder.dump('online again')).path);
    assert.ok(later.byCpu[1]! >= before.byCpu[1]! && later.byCpu[0]! > after.byCpu[0]!, `${later.byCpu}`);
  } finally {
    online(1, true);
    await recorder.stop();
    load.kill('SIGKILL');
    await once(load, 'exit');
  }
});
