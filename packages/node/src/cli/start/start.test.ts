/** The built command line with code that was kept, as it is installed. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { examineMachine } from '../../linux/kernel/probe/index.ts';
import { realSys } from '../../linux/kernel/sys/index.ts';
import { VERBS } from '../main.ts';
import { verbsOfScripts } from './run-kind.ts';

const PACKAGE = fileURLToPath(new URL('../../..', import.meta.url));
const skip = existsSync(join(PACKAGE, 'dist/start.cjs')) ? false : 'not built: npm run build';
const recorderSkip = examineMachine(realSys, 1).canRecord ? false : 'nothing can be recorded here';
const root = mkdtempSync(join(tmpdir(), 'counterpoint-start-'));
after(() => rmSync(root, { recursive: true }));

/** `list sw`, with everything that is said; `environment` beside HOME. */
function list(home: string, environment: Record<string, string> = {}, program = 'bin/counterpoint') {
  const { NODE_COMPILE_CACHE: _, XDG_CACHE_HOME: __, NODE_OPTIONS: ___, ...rest } = process.env;
  const env = { ...rest, HOME: home, ...environment };
  return spawnSync(join(PACKAGE, program), ['list', 'sw'], { encoding: 'utf8', env });
}

/** The files of kept code below a home folder. */
function kept(home: string): string[] {
  const folder = join(home, '.cache/counterpoint');
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.includes('/'))
    .map((name) => join(folder, name));
}

function newHome(name: string): string {
  const home = join(root, name);
  mkdirSync(home);
  return home;
}

test('a signal before a recorder listens is told of', { skip: skip || recorderSkip }, () => {
  // When the first script has run, and before the program that it loaded does.
  const early = join(root, 'early.cjs');
  writeFileSync(
    early,
    `if (require('node:worker_threads').isMainThread)
  process.nextTick(() => process.kill(process.pid, process.env.EARLY_SIGNAL));`,
  );
  for (const name of ['SIGINT', 'SIGTERM']) {
    const env = { ...process.env, NODE_OPTIONS: `--require ${early}`, EARLY_SIGNAL: name };
    const data = join(root, 'early.data');
    for (const words of [
      ['record', '-e', 'cpu-clock', '-o', data, 'sleep', '0.1'],
      ['pt', 'record', '--source', 'soft_pt', '--stop-after', '10', '-o', data, 'true'],
    ]) {
      const { signal, stderr } = spawnSync(join(PACKAGE, 'bin/counterpoint'), words, {
        encoding: 'utf8',
        env,
      });
      assert.equal(signal, name, stderr);
      // Or it listens by the time at which Node hands the signal on.
      assert.match(
        stderr,
        /ended by SIG\w+ before it began to watch|Captured and wrote|nothing was recorded/,
      );
    }
  }
});

describe('code that is kept', { skip }, () => {
  test('the first run keeps it, later ones use it and leave it as it is', () => {
    const home = newHome('first');
    const first = list(home);
    assert.equal(first.status, 0, first.stderr);
    assert.match(first.stdout, /context-switches/);
    const [path, ...others] = kept(home);
    assert.deepEqual(others, []);
    const before = readFileSync(path!);
    assert.deepEqual({ ...list(home), pid: 0 }, { ...first, pid: 0 });
    assert.deepEqual({ ...list(home, {}, 'bin/counterpoint.js'), pid: 0 }, { ...first, pid: 0 });
    assert.ok(readFileSync(kept(home)[0]!).equals(before));
    // V8 takes it: without, it says so in the process that reads it.
    const report = spawnSync(
      process.execPath,
      ['-e', USES_CACHE, join(PACKAGE, 'dist/cli-list.cjs'), path!],
      {
        encoding: 'utf8',
      },
    );
    assert.equal(report.stdout.trim(), 'false', report.stderr);
  });

  test('damaged code, and that of other flags, is made again', () => {
    const home = newHome('damaged');
    const first = list(home);
    const [path] = kept(home);
    const whole = readFileSync(path!);
    writeFileSync(path!, whole.subarray(0, whole.length >> 1));
    assert.deepEqual({ ...list(home), pid: 0 }, { ...first, pid: 0 });
    assert.ok(readFileSync(path!).length > whole.length >> 1);
    // Whole by our sum, and not by V8's.
    const damaged = readFileSync(path!);
    damaged.fill(0x41, 4096, 4100);
    const strange = rewrittenSum(damaged);
    writeFileSync(path!, strange);
    assert.deepEqual({ ...list(home), pid: 0 }, { ...first, pid: 0 });
    assert.ok(!readFileSync(path!).equals(strange));
    assert.deepEqual(
      { ...list(home, { NODE_OPTIONS: '--max-old-space-size=500' }), pid: 0 },
      { ...first, pid: 0 },
    );
    assert.equal(kept(home).length, 2);
  });

  test('a recorder runs from it, and says nothing of what it tells V8', { skip: recorderSkip }, () => {
    const home = newHome('record');
    const record = () => {
      const words = ['record', '-q', '-e', 'cpu-clock', '-o', join(home, 'a'), 'sleep', '0.4'];
      const env = {
        ...process.env,
        HOME: home,
        XDG_CACHE_HOME: '',
        NODE_COMPILE_CACHE: '',
        NODE_OPTIONS: '',
      };
      return spawnSync(join(PACKAGE, 'bin/counterpoint'), words, { encoding: 'utf8', env });
    };
    const first = record();
    const [path] = kept(home);
    const before = readFileSync(path!);
    const inode = statSync(path!).ino;
    for (const again of [record(), record()]) assert.deepEqual({ ...again, pid: 0 }, { ...first, pid: 0 });
    assert.ok(readFileSync(path!).equals(before));
    assert.equal(statSync(path!).ino, inode, 'it was written again');
  });

  test('each script has its verbs, and no other', () => {
    const env = { ...process.env, NODE_DISABLE_COMPILE_CACHE: '1', NODE_OPTIONS: '' };
    for (const [file, verbs] of verbsOfScripts())
      for (const name of VERBS.map((one) => one.name).filter((one) => verbs.includes(one.split(' ')[0]!))) {
        const words = [...name.split(' '), '--help'];
        const { stdout, stderr } = spawnSync(join(PACKAGE, 'bin/counterpoint.js'), words, {
          encoding: 'utf8',
          env,
        });
        assert.equal(stdout, readFileSync(join(PACKAGE, `dist/help/${name}.txt`), 'utf8'), name + stderr);
        const text = readFileSync(join(PACKAGE, 'dist', file), 'latin1');
        assert.match(text, /dynamic-import of \.\/reading\/pt\/profile\.ts: this script has only/, file);
      }
  });

  test('nothing is kept where Node shall keep nothing, or can', () => {
    const home = newHome('none');
    const { status } = list(home, { NODE_DISABLE_COMPILE_CACHE: '1' });
    assert.deepEqual([status, kept(home)], [0, []]);
    assert.equal(list('/proc/none').status, 0);
    assert.equal(list('').status, 0);
  });
});

const USES_CACHE = `
  const { readFileSync } = require('node:fs');
  const [path, cache] = process.argv.slice(1);
  const code = readFileSync(path, 'latin1');
  const { cachedDataRejected } = new (require('node:vm').Script)(code, { cachedData: readFileSync(cache).subarray(4096) });
  console.log(cachedDataRejected);
`;

/** A header with the sum of what is there now, as the writer makes it. */
function rewrittenSum(file: Buffer): Buffer {
  const code = Buffer.from(file.subarray(4096));
  const words = new Int32Array(code.buffer, code.byteOffset, code.length >> 2);
  let sum = code.length;
  for (let at = 0; at < words.length; at += 128) sum = (Math.imul(sum, 31) + words[at]!) | 0;
  const lines = file.toString('latin1', 0, 4096).trimEnd().split('\n');
  lines[2] = `${sum}`;
  return Buffer.concat([Buffer.from(lines.join('\n').padEnd(4096)), code]);
}
