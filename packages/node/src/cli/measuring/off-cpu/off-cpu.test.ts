/** `off-cpu`: programs that wait where they are known to, on the real kernel. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { OffCpuAnswer } from '@counterpoint/core/query';
import { untilAsleep } from '../../../test/asleep.ts';
import { commandLineProcess, counterpoint } from '../../../test/command-line.ts';
import { noTracepoints } from '../../../test/rights.ts';

const skip = noTracepoints;
const folder = mkdtempSync(join(tmpdir(), 'counterpoint-off-cpu-verb-'));
after(() => rmSync(folder, { recursive: true }));

async function answerOf(...words: string[]): Promise<{ answer: OffCpuAnswer; status: number }> {
  const { out, err, status } = await counterpoint('off-cpu', '--json', ...words);
  assert.notEqual(out, '', err);
  return { answer: JSON.parse(out), status };
}

const seconds = (ns: string) => Number(ns) / 1e9;

test('a command: who waited in what, and its status', { skip }, async () => {
  const { answer, status } = await answerOf('--', 'sh', '-c', 'sleep 0.3; exit 4');
  assert.equal(status, 4);
  assert.ok(!answer.loss.some(({ kind }) => kind === 'file-truncated'), JSON.stringify(answer.loss));
  const slept = answer.rows.find(({ comm, wait }) => comm === 'sleep' && /nanosleep/.test(wait ?? ''));
  assert.ok(slept !== undefined && seconds(slept.timeNs) > 0.25, JSON.stringify(answer.rows));
  assert.deepEqual([slept.role, slept.state, slept.threads], ['main', 'waiting', 1]);
  const waited = answer.rows.find(({ comm, wait }) => comm === 'sh' && wait === 'do_wait');
  assert.ok(waited !== undefined && seconds(waited.timeNs) > 0.25);
  const sum = answer.rows.reduce((total, { timeNs }) => total + BigInt(timeNs), 0n);
  assert.ok(Math.abs(Number(sum - BigInt(answer.totalNs))) < answer.rows.length + 1);
});

test('Node: the JavaScript function that waited, and threads of pools apart', { skip }, async () => {
  const pipe = join(folder, 'pipe');
  assert.equal(spawnSync('mkfifo', [pipe]).status, 0);
  const app = join(folder, 'app.js');
  writeFileSync(
    app,
    `const { openSync, readSync } = require('node:fs');
     function waitForWriter() { const fd = openSync(process.argv[2], 'r'); while (readSync(fd, Buffer.alloc(9)) > 0); }
     waitForWriter();`,
  );
  const writer = spawn('sh', ['-c', 'exec 3>"$0"; echo a >&3; sleep 0.4', pipe], { stdio: 'ignore' });
  after(() => writer.kill());
  const { answer } = await answerOf('--', process.execPath, app, pipe);
  const own = answer.rows.filter(({ symbol }) => symbol.includes('waitForWriter'));
  assert.ok(
    own.some(({ wait, role }) => role === 'main' && /pipe_read/.test(wait ?? '')),
    JSON.stringify(answer.rows),
  );
  assert.equal(own[0]!.file?.endsWith('app.js'), true);
  assert.equal(own[0]!.line, 2);
  const pool = answer.rows.filter(({ role }) => role === 'other');
  assert.ok(pool.length > 0 && pool.every(({ symbol }) => !symbol.includes('waitForWriter')));
});

test('times are times, in a table for each kind of thread', { skip }, async () => {
  const { out } = await counterpoint(
    'off-cpu',
    '-q',
    '--',
    process.execPath,
    '-e',
    'setTimeout(() => {}, 300)',
  );
  assert.match(out, /^# Off the CPU: \d[\d.]* (?:ms|s) of \d+ threads/m);
  assert.match(out, /^# Main threads: /m);
  assert.match(out, /^# Other threads: pools, workers, libraries: /m);
  assert.doesNotMatch(out, /traceiter|\d G\b/);
});

test('a running process until Ctrl-C: the answer comes, and the process goes on', { skip }, async (t) => {
  const sleeper = spawn('sleep', ['100']);
  t.after(() => sleeper.kill());
  await untilAsleep(sleeper.pid!);
  const verb = spawn(process.execPath, [...commandLineProcess(), 'off-cpu', '-p', String(sleeper.pid)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [out, err] = ['', ''];
  verb.stdout.on('data', (text) => (out += text));
  verb.stderr.on('data', (text) => {
    err += text;
    if (err.includes('watching; press Ctrl-C')) verb.kill('SIGINT');
  });
  const [, signal] = await once(verb, 'close');
  assert.equal(signal, 'SIGINT', err);
  assert.match(out, / sleep +\[off the CPU from the start\]/);
  assert.equal(sleeper.exitCode, null);
});

test('what cannot be meant is refused, with what to do', async () => {
  const nothing = await counterpoint('off-cpu');
  assert.equal(nothing.status, 129);
  assert.match(nothing.err, /there is nothing to watch/);
  const both = await counterpoint('off-cpu', '--input', 'x', '-p', '1');
  assert.equal(both.status, 129);
});
