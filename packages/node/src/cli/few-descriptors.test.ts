/** With few open files allowed, a verb works or says so in a sentence: no stack, and not twice. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const PACKAGE = fileURLToPath(new URL('../..', import.meta.url));
const skip = existsSync(join(PACKAGE, 'dist/cli.js')) ? false : 'not built: npm run build';
const directory = mkdtempSync(join(tmpdir(), 'counterpoint-few-'));
after(() => rmSync(directory, { recursive: true }));

/** Below 32 Node does not start; from there on each value cuts the loading of the program elsewhere. */
const LIMITS = [3, 7, 20, 31, 32, 33, 36, 40, 44, 52, 64] as const;
const TOO_FEW = /too many open files|too few/g;

describe('few descriptors', { skip }, () => {
  for (const words of [
    ['record', '-e', 'page-faults', '-o', join(directory, 'perf.data'), 'true'],
    ['stat', '-e', 'page-faults', 'true'],
    ['report', '-i', join(directory, 'none.data')],
    ['list', 'sw'],
  ])
    for (const program of ['bin/counterpoint', 'bin/counterpoint.js'])
      test(`${program} ${words[0]}`, () => {
        for (const limit of LIMITS) {
          const isScript = program.endsWith('.js');
          // Node itself says what it lacks when it starts; that is not ours.
          if (isScript && limit < 32) continue;
          const script = `ulimit -n ${limit} && exec ${isScript ? '"$0" ' : ''}"$@"`;
          const command = [process.execPath, join(PACKAGE, program), ...words].slice(isScript ? 0 : 1);
          const zero = isScript ? [] : ['sh'];
          const { status, stderr } = spawnSync('sh', ['-c', script, ...zero, ...command], {
            encoding: 'utf8',
            cwd: directory,
          });
          const where = `${limit}: ${status} ${stderr}`;
          assert.doesNotMatch(stderr, /^ +at |node:internal|Node\.js v|not foreseen/m, where);
          const told = [...stderr.matchAll(TOO_FEW)].length;
          assert.ok(told <= 1, where);
          if (told === 1) assert.equal(status, 1, where);
        }
      });
});
