import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { commandLineProcess } from '../test/command-line.ts';
import { perfIsMissing, temporaryFolder } from '../test/perf.ts';

/** perf's own tests of its command line, as Debian installs them. */
const TESTS = '/usr/lib/perf-core/tests/shell';
const quoted = (word: string) => `'${word.replaceAll("'", "'\\''")}'`;

describe("perf's own tests, with our command line in the place of perf", () => {
  for (const [name, expected, tool] of [
    ['stat+json_output.sh', /event \[Success\]/, 'python3'],
    ['stat+csv_output.sh', /event \[Success\]/, 'awk'],
    ['stat.sh', /stat record and report test \[Success\]/, 'grep'],
  ] as const) {
    const missing = !existsSync(join(TESTS, name))
      ? `there is no ${name} (Debian: linux-perf)`
      : spawnSync(tool, ['--version']).error !== undefined && `${tool} is not installed`;
    test(name, { skip: perfIsMissing() || missing }, (t) => {
      const folder = temporaryFolder(t);
      const words = [process.execPath, ...commandLineProcess()].map(quoted).join(' ');
      writeFileSync(join(folder, 'perf'), `#!/bin/sh\nexec ${words} "$@"\n`);
      chmodSync(join(folder, 'perf'), 0o755);
      const { status, stdout, stderr } = spawnSync('bash', [join(TESTS, name)], {
        encoding: 'utf8',
        env: { ...process.env, PATH: `${folder}:${process.env['PATH']}` },
      });
      assert.equal(status, 0, stdout + stderr);
      assert.match(stdout, expected);
      assert.doesNotMatch(stdout, /Failed/);
    });
  }
});
