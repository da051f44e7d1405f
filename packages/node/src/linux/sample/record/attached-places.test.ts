/** A Node that runs already, without flags, where it is hard to reach: its functions have their names. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { topFunctions } from '@counterpoint/core/query';
import { openRecording } from '../../../host/open/index.ts';
import { record } from './record.ts';

const folder = mkdtempSync(join(tmpdir(), 'counterpoint-attached-places-'));
after(() => rmSync(folder, { recursive: true }));
const { NODE_OPTIONS: _, ...env } = process.env;
const script = join(folder, 'spin.js');
const SPIN = `'use strict';
function spinHot(n) { let t = n; for (let i = 0; i < n; i++) t = (t * 31 + (t % (i | 1))) | 0; return t; }
globalThis.all = 0;
console.log(require('node:fs').readFileSync('/proc/self/status', 'latin1').match(/^NSpid:.*$/m)[0]);
const end = Date.now() + 90_000;
// Wall time: the most that the test may take.
while (Date.now() < end) globalThis.all ^= spinHot(1e6);
`;
writeFileSync(script, SPIN);
const canUnshare = spawnSync('unshare', ['--pid', '--mount', '--fork', 'true']).status === 0;
const canStrip = spawnSync('strip', ['--version']).status === 0;

async function ready(child: ChildProcess): Promise<string> {
  const [text] = (await once(child.stdout!, 'data')) as [Buffer];
  return text.toString();
}

/** The hottest function, by so many samples. */
async function hottest(pid: number): Promise<{ symbol: string; percent: number }> {
  const output = join(folder, `${pid}.data`);
  const enough = new AbortController();
  await record({
    pids: [pid],
    events: 'cpu-clock:u',
    frequency: 1000,
    callGraph: true,
    output,
    signal: AbortSignal.any([enough.signal, AbortSignal.timeout(60_000)]),
    onProgress: ({ samples }) => {
      if (samples >= 1000) enough.abort();
    },
  });
  const recording = await openRecording(output);
  const { profile } = await recording.profile();
  await recording.close();
  const { symbol, percent } = topFunctions(profile, { sort: ['symbol'] }).rows[0]!;
  return { symbol: symbol ?? '', percent };
}

function isNamed({ symbol, percent }: { symbol: string; percent: number }): void {
  assert.match(symbol, /^JS:.?spinHot \S*spin\.js:2:\d+$/);
  assert.ok(percent > 80, `${percent} % ${symbol}`);
}

test('a program without a symbol table: what V8 exports for debuggers is for the dynamic linker', {
  skip: !canStrip && 'strip is not installed',
}, async (t) => {
  const node = join(folder, 'node');
  copyFileSync(process.execPath, node);
  assert.equal(spawnSync('strip', [node]).status, 0);
  const child = spawn(node, [script], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  await ready(child);
  isNamed(await hottest(child.pid!));
});

test('a container: other processes, and a /tmp of its own', {
  skip: !canUnshare && 'no namespaces can be made here',
}, async (t) => {
  const start =
    'mount -t tmpfs tmpfs /tmp && mount -t proc proc /proc && printf %s "$1" > /tmp/spin.js && exec "$0" /tmp/spin.js';
  const child = spawn(
    'unshare',
    ['--pid', '--mount', '--fork', '--kill-child', 'sh', '-c', start, process.execPath, SPIN],
    { env, stdio: ['ignore', 'pipe', 'inherit'] },
  );
  t.after(() => child.kill('SIGKILL'));
  assert.match(await ready(child), /^NSpid:\t1$/m);
  const [pid] = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim().split(' ');
  isNamed(await hottest(Number(pid)));
});
