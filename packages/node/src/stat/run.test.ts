import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { countRun } from './run.ts';

test('a run that is aborted already starts nothing', async () => {
  const trace = join(tmpdir(), `counterpoint-aborted-${process.pid}`);
  const run = countRun({
    scope: { kind: 'command' },
    command: ['/bin/touch', trace],
    control: null,
    signal: AbortSignal.abort(),
    onStart: () => assert.fail('it began'),
  });
  await assert.rejects(run, { code: 'ERR_ABORTED' });
  await sleep(50);
  assert.equal(existsSync(trace), false);
});
