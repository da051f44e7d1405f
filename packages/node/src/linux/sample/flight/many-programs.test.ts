/** On a machine with many programs a file has the names of those that are in it. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { FEATURE_RECORDED_FILES } from '@counterpoint/core/abi';
import { memorySource } from '@counterpoint/core/base';
import { decodeRecordedFiles } from '@counterpoint/core/jit';
import { openPerfData } from '@counterpoint/core/perfdata';
import { temporaryFolder } from '../../../test/perf.ts';
import { flight } from './index.ts';

test('names of generated code are those of programs with samples', async (t) => {
  const start = async (work: string) => {
    const words = ['--perf-basic-prof', '-e', `console.log('ready'); ${work}`];
    const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'inherit'] });
    t.after(() => {
      child.kill('SIGKILL');
      rmSync(`/tmp/perf-${child.pid}.map`, { force: true });
    });
    await once(child.stdout, 'data');
    return child.pid!;
  };
  const busy = await start('for (;;) Math.sqrt(2)');
  const idle = await start('setInterval(() => {}, 1e7)');
  await sleep(300);
  const directory = temporaryFolder(t);
  const recorder = await flight({ pids: [busy, idle], events: 'cpu-clock:u', directory });
  await sleep(300);
  const { path } = await recorder.dump();
  await recorder.stop();
  const reader = await openPerfData(memorySource(new Uint8Array(readFileSync(path))));
  const files = decodeRecordedFiles(new Uint8Array(reader.features.raw.get(FEATURE_RECORDED_FILES)!));
  assert.deepEqual([...new Set(files.map(({ pid }) => pid))], [busy]);
});
