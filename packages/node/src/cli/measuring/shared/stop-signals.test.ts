/** What a verb ends with after a signal, beside perf. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { commandLineProcess } from '../../../test/command-line.ts';
import { perfIsMissing } from '../../../test/perf.ts';
import { until } from '../../../test/until-told.ts';
import { statusAfter } from './stop-signals.ts';

const folder = mkdtempSync(join(tmpdir(), 'counterpoint-stop-'));
after(() => rmSync(folder, { recursive: true }));

/** Ends well when it is told to end, and says when it can be told. */
const COMMAND = ['sh', '-c', 'trap "exit 0" INT TERM; echo ready >&2; while :; do sleep 0.05; done'];

const VERBS: readonly (readonly string[])[] = [
  ['record', '-e', 'cpu-clock', '-o', join(folder, 'record.data')],
  ['stat', '-e', 'task-clock'],
  ['stat', 'record', '-e', 'task-clock', '-o', join(folder, 'stat.data')],
  ['flight', '-e', 'cpu-clock', '-o', folder],
];

/** Sent as a terminal does it, to the whole group, or by `kill` to the verb alone. */
type Way = readonly [name: string, signal: NodeJS.Signals, send: (verb: ChildProcess) => void];

const WAYS: readonly Way[] = [
  ['Ctrl-C', 'SIGINT', ({ pid }) => process.kill(-pid!, 'SIGINT')],
  ['kill -INT', 'SIGINT', (verb) => verb.kill('SIGINT')],
  ['kill -TERM', 'SIGTERM', (verb) => verb.kill('SIGTERM')],
];

async function ended(
  words: readonly string[],
  send: Way[2],
): Promise<{ end: number | NodeJS.Signals | null; err: string }> {
  const verb = spawn(words[0]!, words.slice(1), { detached: true, stdio: ['ignore', 'ignore', 'pipe'] });
  const closed = once(verb, 'close');
  let err = '';
  verb.stderr.on('data', (piece: Buffer) => {
    err += piece;
  });
  assert.ok(await until(() => err.includes('ready') || verb.exitCode !== null), err);
  send(verb);
  const [status, signal] = await closed;
  return { end: signal ?? status, err };
}

const ours = () => [process.execPath, ...commandLineProcess()];

describe('a verb ends by the signal that ended it, however its command ended', { concurrency: 3 }, () => {
  for (const verb of VERBS)
    for (const [name, signal, send] of WAYS)
      test(`${verb[0]} ${verb[1] === 'record' ? 'record ' : ''}and ${name}`, async () => {
        assert.equal((await ended([...ours(), ...verb, '--', ...COMMAND], send)).end, signal);
      });

  test('a signal that comes twice at once is one: what there is is written', async () => {
    const slow = 'trap "" INT TERM; echo ready >&2; sleep 1';
    const words = ['flight', '-e', 'cpu-clock', '-o', folder, '--', 'sh', '-c', slow];
    const { end, err } = await ended([...ours(), ...words], ({ pid }) => {
      process.kill(-pid!, 'SIGINT');
      setTimeout(() => process.kill(pid!, 'SIGINT'), 30);
    });
    assert.equal(end, 'SIGINT');
    assert.match(err, /the command has ended: no trigger fired/);
  });

  // `counterpoint record &` in a script: an interrupt is ignored, and cannot end the verb once more.
  test('where it cannot end by the signal, its status is as of a shell, not that of the command', () => {
    assert.deepEqual([statusAfter('SIGINT', 143), statusAfter('SIGTERM', 0)], [130, 143]);
    assert.deepEqual([statusAfter(null, 7), statusAfter(null, null)], [7, 0]);
  });

  test('as perf record', { skip: perfIsMissing() }, async () => {
    for (const [name, signal, send] of WAYS)
      assert.equal((await ended(['perf', ...VERBS[0]!, '--', ...COMMAND], send)).end, signal, name);
  });
});
