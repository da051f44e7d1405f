/** The files that samples are in are those of a profile of all of them, which is made in another way. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { ingestPerfData } from '@counterpoint/core/ingest';
import { openPerfData } from '@counterpoint/core/perfdata';
import { perfIsMissing, temporaryFolder } from '../../test/perf.ts';
import { openFileSource } from '../locate/index.ts';
import { readSampledCode } from './sampled-code.ts';

const FIXTURES = fileURLToPath(new URL('../../../../../fixtures/perfdata', import.meta.url));
const names = (all: { path: string; buildId: string }[]) =>
  [...new Set(all.map(({ path, buildId }) => `${path} ${buildId}`))].sort();

async function both(path: string): Promise<{ sampled: string[]; profiled: string[] }> {
  await using source = await disposable(path);
  const { profile } = await ingestPerfData(await openPerfData(source), { aggregate: true });
  const named = profile.binaries.filter(
    ({ kind, buildId }) => kind !== 'jit' && kind !== 'unknown' && buildId !== '',
  );
  await using again = await disposable(path);
  return { profiled: names(named), sampled: names(await readSampledCode(await openPerfData(again))) };
}

async function disposable(path: string) {
  const source = await openFileSource(path);
  return Object.assign(source, { [Symbol.asyncDispose]: () => source.close() });
}

describe('files with samples', () => {
  for (const file of readdirSync(FIXTURES).filter((name) => name.endsWith('.data')))
    test(file, async () => {
      const { sampled, profiled } = await both(join(FIXTURES, file));
      assert.deepEqual(sampled, profiled);
    });

  test('of programs that fork, exec and end', { skip: perfIsMissing() }, async (t) => {
    const path = join(temporaryFolder(t), 'perf.data');
    const script =
      'for i in 1 2 3 4 5 6 7 8; do ls -R /usr/share >/dev/null & (gzip -c /bin/bash | sha1sum; true) >/dev/null & wait; done';
    const words = [
      'record',
      '-q',
      '-e',
      'cpu-clock',
      '-F',
      '5000',
      '-g',
      '-o',
      path,
      '--',
      'sh',
      '-c',
      script,
    ];
    assert.equal(spawnSync('perf', words, { stdio: 'ignore' }).status, 0);
    const { sampled, profiled } = await both(path);
    assert.ok(
      profiled.some((name) => name.includes('/gzip ')) && profiled.some((name) => name.includes('libc')),
    );
    assert.deepEqual(
      profiled.filter((name) => !sampled.includes(name)),
      [],
    );
    // Of files that took turns at an address both may be there.
    assert.ok(sampled.length <= profiled.length + 2, `${sampled} instead of ${profiled}`);
  });
});
