import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openRecording } from '../../../host/open/index.ts';
import { commandLineProcess } from '../../../test/command-line.ts';
import { perf, perfIsMissing, temporaryFolder } from '../../../test/perf.ts';
import { until } from '../../../test/until-told.ts';

const ENDLESS = 'setInterval(() => { for (let i = 0; i < 1e6; i++) Math.sqrt(i); }, 1)';
const DATA_SIZE_OFFSET = 48;

test('what a recorder that was killed leaves is read by perf, too, and is known to be unfinished', {
  skip: perfIsMissing(),
}, async (t) => {
  const path = join(temporaryFolder(t), 'killed.data');
  const target = spawn(process.execPath, ['-e', ENDLESS], { stdio: 'ignore' });
  const words = ['record', '-e', 'cpu-clock:u', '-F', '2000', '-m', '8', '-o', path, '-p', `${target.pid}`];
  const recorder = spawn(process.execPath, [...commandLineProcess(), ...words], { stdio: 'ignore' });
  t.after(() => {
    target.kill('SIGKILL');
    recorder.kill('SIGKILL');
  });
  const size = () => (existsSync(path) ? readFileSync(path) : Buffer.alloc(0)).subarray(DATA_SIZE_OFFSET);
  assert.ok(await until(() => size().length > 40_000 && size().readUInt32LE() > 30_000));
  const ended = once(recorder, 'exit');
  recorder.kill('SIGKILL');
  await ended;

  const theirs = perf('script', '-i', path, '-F', 'ip').trim().split('\n').length;
  await using recording = await openRecording(path);
  const { loss } = await recording.stats();
  const { profile } = await recording.profile();
  const ours = profile.samples.length;
  assert.ok(theirs > 100 && theirs <= ours, `perf reads ${theirs} samples, we ${ours}`);
  assert.ok(
    loss.some(({ kind }) => kind === 'file-truncated'),
    JSON.stringify(loss),
  );
});
