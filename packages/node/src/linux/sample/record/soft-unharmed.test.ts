/** What is sampled by stepping must not notice it: output and status are those of a run without us. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { noAssembler } from '../../../test/assembled-program.ts';
import { perf, perfIsMissing, temporaryFolder } from '../../../test/perf.ts';
import { record } from './record.ts';

const options = { skip: noAssembler || perfIsMissing(), timeout: 300_000 };
const SOURCE = fileURLToPath(new URL('../../../test/stepped-program.c', import.meta.url));

interface Sampled {
  samples: number;
  instructions: number;
  threads: number;
  /** Threads that have samples. */
  tids: Set<string>;
}

async function compareRuns(t: TestContext, mode: string): Promise<Sampled> {
  const folder = temporaryFolder(t);
  const [program, output, path] = ['program', 'perf.data', 'out'].map((name) => join(folder, name));
  const built = spawnSync('gcc', ['-O1', '-static', '-o', program!, SOURCE], { encoding: 'utf8' });
  assert.equal(built.status, 0, built.stderr);
  const alone = spawnSync(program!, [mode], { encoding: 'utf8' });
  const out = openSync(path!, 'w');
  const { exitCode, exitSignal, soft, samples, loss } = await record({
    command: [program!, mode],
    events: 'soft/instructions/,soft/calls,period=11/',
    period: 13,
    callGraph: true,
    output: output!,
    launch: { stdio: ['ignore', out, 'inherit'] },
  });
  closeSync(out);
  assert.equal(readFileSync(path!, 'utf8'), alone.stdout);
  assert.equal(exitCode, alone.status);
  assert.equal(exitSignal, alone.signal);
  assert.deepEqual(loss, []);
  const { instructions, calls, threads } = soft!;
  assert.equal(samples, Math.floor(instructions / 13) + Math.floor(calls / 11));
  const tids = perf('script', '-i', output!, '-F', 'tid', '-G').trim().split(/\s+/);
  assert.equal(tids.length, samples);
  return { samples, instructions, threads, tids: new Set(tids) };
}

test('a hundred threads, each with samples of its own', options, async (t) => {
  const { threads, tids } = await compareRuns(t, 'threads');
  assert.equal(threads, 101);
  assert.equal(tids.size, 101);
});

test('fork, vfork, and exec', options, async (t) => {
  const { threads, tids } = await compareRuns(t, 'family');
  assert.equal(threads, 3);
  assert.equal(tids.size, 3);
});

test('exec by another thread than the leader', options, async (t) => {
  assert.equal((await compareRuns(t, 'exec-by-thread')).threads, 2);
});

test('calls that signals and stops of the group interrupt', options, async (t) => {
  await compareRuns(t, 'restarted');
});

test('code that changes itself, and a program that uses SIGTRAP', options, async (t) => {
  await compareRuns(t, 'self-modifying');
  await compareRuns(t, 'trap-signal');
});
