import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { assertOnTime, onTime } from './on-time.ts';
import { TemporaryFolder } from './perf.ts';

// What this file tries again on purpose is none of the run's.
delete process.env['COUNTERPOINT_TEST_RETRIES'];

test('what misses its time is tried again, up to five times', async () => {
  let attempts = 0;
  await onTime(() => assertOnTime(++attempts === 3, `attempt ${attempts}`));
  assert.equal(attempts, 3);
  attempts = 0;
  const work = onTime(() => assertOnTime(false, `attempt ${++attempts}`));
  await assert.rejects(work, { message: 'attempt 5' });
});

test('what is wrong otherwise is not tried again', async () => {
  let attempts = 0;
  const wrong = onTime(() => {
    attempts++;
    assert.equal(1, 2);
  });
  await assert.rejects(wrong, { code: 'ERR_ASSERTION' });
  assert.equal(attempts, 1);
});

test('a run is told of each that was tried again, and of none that held', (t) => {
  const folder = new TemporaryFolder();
  t.after(() => folder.remove());
  const retries = join(folder.path, 'retries');
  writeFileSync(retries, '');
  const script = `
    import { assertOnTime, onTime } from ${JSON.stringify(new URL('on-time.ts', import.meta.url).href)};
    let attempts = 0;
    await onTime(() => assertOnTime(++attempts > 2, \`attempt \${attempts}\`));
    await onTime(() => assertOnTime(true, 'never'));`;
  const path = folder.file('late.mts', new TextEncoder().encode(script));
  const { status, stderr } = spawnSync(process.execPath, ['--import', import.meta.resolve('tsx'), path], {
    encoding: 'utf8',
    cwd: fileURLToPath(new URL('.', import.meta.url)),
    env: { ...process.env, COUNTERPOINT_TEST_RETRIES: retries },
  });
  assert.equal(status, 0, stderr);
  assert.deepEqual(JSON.parse(readFileSync(retries, 'utf8')), { file: path, missed: 2, why: 'attempt 2' });
});
