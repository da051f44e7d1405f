/** `loop`: programs that block their event loop where they are known to, on the real kernel. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { LoopRow, LoopsAnswer, LoopTurn } from '@counterpoint/core/query';
import { assertOnTime, onTime } from '../../../../../core/src/test/on-time.ts';
import { commandLineProcess, counterpoint } from '../../../test/command-line.ts';
import { nodeAsNobody, noNobody } from '../../../test/ordinary-user.ts';
import { removePerfMap } from '../../../test/perf-maps.ts';
import { noTracepoints } from '../../../test/rights.ts';
import { until } from '../../../test/until-told.ts';

const skip = noTracepoints;
const folder = mkdtempSync(join(tmpdir(), 'counterpoint-loop-verb-'));
after(() => rmSync(folder, { recursive: true }));

function program(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

async function answerOf(...words: string[]): Promise<{ answer: LoopsAnswer; status: number; err: string }> {
  const { out, err, status } = await counterpoint('loop', '--json', ...words);
  assert.notEqual(out, '', err);
  return { answer: JSON.parse(out), status, err };
}

const mainOf = ({ loops }: LoopsAnswer): LoopRow => {
  const main = loops.find(({ role, comm }) => role === 'main' && comm !== 'sh');
  assert.ok(main !== undefined, JSON.stringify(loops));
  return main;
};

const turnOf = (loop: LoopRow, name: string): LoopTurn => {
  const found = loop.longest.find(({ functions, stack }) =>
    [...functions, ...stack].some((one) => one.name === name),
  );
  assert.ok(found !== undefined, `${name}: ${JSON.stringify(loop.longest.map((turn) => turn.functions))}`);
  return found;
};

/** Blocks in ways that are told apart, and says itself how long each took. */
const BLOCKER = program(
  'blocker.js',
  `const { performance, monitorEventLoopDelay } = require('node:perf_hooks');
   const { execSync } = require('node:child_process');
   const { writeFileSync } = require('node:fs');
   function burnCpu(ms) { const end = process.cpuUsage().user + 1000 * ms; let x = 0; while (process.cpuUsage().user < end) for (let i = 0; i < 1000; i++) x = Math.sqrt(x + 1); return x; }
   function runChild() { execSync('sleep 0.15'); }
   const took = {};
   const timed = (name, work) => () => { const from = performance.now(); work(); took[name] = performance.now() - from; };
   const before = performance.eventLoopUtilization();
   const delay = monitorEventLoopDelay({ resolution: 5 });
   delay.enable();
   const later = (ms) => new Promise((done) => setTimeout(done, ms));
   // One after the other: where others take the CPU, timers that are all set now would fall into one turn.
   later(150)
     .then(timed('burnCpu', () => burnCpu(120)))
     .then(() => later(180))
     .then(timed('runChild', runChild))
     .then(() => later(300))
     .then(() => {
       const { utilization, active, idle } = performance.eventLoopUtilization(before);
       writeFileSync(process.argv[2], JSON.stringify({ took, utilization, active, idle, maxMs: delay.max / 1e6 }));
     })
     .then(() => later(20))
     .then(() => process.exit(6));`,
);

test('turns of a program, beside what it says of itself', { skip }, () => onTime(compareWithItself));

async function compareWithItself(): Promise<void> {
  const own = join(folder, 'own.json');
  const { answer, status, err } = await answerOf('--', process.execPath, BLOCKER, own);
  assert.equal(status, 6, err);
  const { took, utilization, active, maxMs } = JSON.parse(
    await import('node:fs').then((fs) => fs.readFileSync(own, 'utf8')),
  );
  const loop = mainOf(answer);
  assert.equal(loop.state, 'turns');
  const burn = turnOf(loop, 'burnCpu');
  assert.equal(burn.kind, 'turn');
  assert.equal(burn.function?.name, 'burnCpu');
  assert.equal(burn.function?.file, BLOCKER);
  assert.equal(burn.function?.line, 4);
  const near = (ns: number, ms: number) => Math.abs(ns / 1e6 - ms) < 5;
  assertOnTime(near(burn.lengthNs, took.burnCpu), `${burn.lengthNs} ns, ${took.burnCpu} ms`);
  // On a machine that does other things it is ready for a part of it; it waits for its collector at most.
  assert.ok(burn.cpuNs + burn.readyNs > 0.6 * burn.lengthNs, JSON.stringify(burn));
  assert.ok(burn.cpuNs > 0);

  const child = turnOf(loop, 'runChild');
  assertOnTime(near(child.lengthNs, took.runChild), `${child.lengthNs} ns, ${took.runChild} ms`);
  assert.ok(child.waitingNs > 120e6, JSON.stringify(child));
  assert.ok(loop.nestedWaits > 0);
  // Where others take the CPU, the child starts late: the longest wait is that for its pipe then.
  const times = child.waits.map(({ timeNs }) => timeNs);
  assert.deepEqual(
    times,
    [...times].sort((a, b) => b - a),
  );
  const wait = child.waits.find(({ cause }) => cause === 'another event loop');
  assert.ok(wait !== undefined && wait.timeNs > 120e6, JSON.stringify(child.waits));
  // Inferred from the samples just before and after, which the function itself may be in or not.
  assertOnTime(wait.function?.name === 'runChild', JSON.stringify(child.waits));

  // Node's own figure is from the same waits, for the time between two calls.
  const start = loop.longest.find(({ kind }) => kind === 'start')!;
  const share = (loop.busyNs - start.lengthNs) / (loop.busyNs + loop.idleNs - start.lengthNs);
  assertOnTime(Math.abs(share - utilization) < 0.06, `${share}, Node says ${utilization} (${active} ms)`);
  const longestTurnMs = loop.lengths!.maxNs / 1e6;
  assertOnTime(Math.abs(longestTurnMs - maxMs) < 15, `${longestTurnMs} ms, Node says ${maxMs} ms`);
  for (const turn of loop.longest) {
    const parts = turn.cpuNs + turn.waitingNs + turn.readyNs;
    assert.ok(Math.abs(parts - turn.lengthNs) < 10, JSON.stringify(turn));
  }
  assert.equal(
    loop.histogram.reduce((sum, { turns }) => sum + turns, 0),
    loop.turns,
  );
}

test('text: the functions that blocked, and a status for CI', { skip }, async () => {
  const own = join(folder, 'own2.json');
  const file = join(folder, 'kept.data');
  const { out, status } = await counterpoint(
    'loop',
    '-q',
    '--record',
    file,
    '--',
    process.execPath,
    BLOCKER,
    own,
  );
  assert.equal(status, 6);
  assert.match(out, /^# Event loop of node, main thread of \d+: busy [\d.]+ % of /m);
  assert.match(out, /^ +[\d.]+ m?s +1 turn +[\d.]+ m?s {2}burnCpu \(.*blocker\.js:4\)$/m);
  assert.match(out, /waited: .*another event loop/);
  const again = await counterpoint('loop', '-i', file, '--fail-over', '100ms', '--slow', '50s');
  assert.equal(again.status, 4, again.err);
  assert.match(again.err, /a turn took [\d.]+ m?s, more than 100 ms/);
  assert.match(again.out, /No turn took 50.0 s/);
  assert.equal((await counterpoint('loop', '-i', file, '--fail-over', '60s')).status, 0);
});

test('a picture: beside the text, or alone to standard output', { skip }, async () => {
  const data = join(folder, 'picture.data');
  const picture = join(folder, 'loop.svg');
  const own = join(folder, 'own3.json');
  const run = await counterpoint(
    'loop',
    '-o',
    picture,
    '--record',
    data,
    '--',
    process.execPath,
    BLOCKER,
    own,
  );
  assert.match(run.out, /^# Event loop of node/m);
  assert.match(run.err, /wrote [\d.]+ KB to .*loop\.svg/);
  const svg = readFileSync(picture, 'utf8');
  assert.match(svg, /class="script"[^>]*><title>[\d.]+ ms JavaScript in burnCpu</);
  assert.match(svg, />runChild \(blocker\.js:5\), called by .*, waited: another event loop</);
  const alone = await counterpoint('loop', '-i', data, '-o', '-');
  assert.equal(alone.out, svg);
  const wrong = await counterpoint(
    'loop',
    '-o',
    join(folder, 'loop.png'),
    '--',
    'touch',
    join(folder, 'ran'),
  );
  assert.equal(wrong.status, 129);
  assert.match(wrong.err, /does not end in \.svg/);
  assert.ok(!existsSync(join(folder, 'ran')));
});

test('a worker has a loop of its own', { skip }, async () => {
  const app = program(
    'worker.js',
    `const { Worker, isMainThread, parentPort } = require('node:worker_threads');
     // Wall time: the length of a turn is what is measured.
     function spin(ms) { const end = Date.now() + ms; while (Date.now() < end); }
     if (isMainThread) { new Worker(__filename).on('exit', () => process.exit(0)); setInterval(() => {}, 10); }
     else setTimeout(function blockWorker() { spin(150); setTimeout(() => process.exit(), 50); }, 50);`,
  );
  const { answer } = await answerOf('--', process.execPath, app);
  const worker = answer.loops.find(({ role }) => role === 'worker');
  assert.ok(worker !== undefined, JSON.stringify(answer.loops));
  assert.ok(worker.lengths!.maxNs > 145e6);
  assert.equal(turnOf(worker, 'blockWorker').function?.name, 'spin');
  const main = mainOf(answer);
  assert.ok(main.longest.every(({ functions }) => functions.every(({ name }) => name !== 'spin')));
  assert.equal(answer.loops.length, 2, JSON.stringify(answer.loops.map(({ tid, role }) => [tid, role])));
});

test('a program that never waits is one turn, and says so', { skip }, async () => {
  const app = program(
    'busy.js',
    'const end = process.cpuUsage().user + 300e3; (function spinAll() { while (process.cpuUsage().user < end); })(); process.kill(process.pid, "SIGKILL");',
  );
  const { answer } = await answerOf('--', process.execPath, app);
  const loop = mainOf(answer);
  assert.equal(loop.state, 'no-wait');
  assert.equal(loop.turns, 0);
  assert.equal(loop.lengths, null);
  assert.equal(loop.busyPercent, 100);
  assert.equal(loop.longest[0]!.function?.name, 'spinAll');
});

test('threads of the pool, by what they do', { skip }, async () => {
  const app = program(
    'pool.js',
    `const { scrypt } = require('node:crypto'); const { gzip } = require('node:zlib'); const { lookup } = require('node:dns');
     for (let i = 0; i < 8; i++) { scrypt('a', 'b', 64, () => {}); gzip(Buffer.alloc(4e6, 'abc' + i), () => {}); lookup('host' + i + '.invalid', () => {}); }`,
  );
  const { answer } = await answerOf('--', process.execPath, app);
  const kinds = answer.pool.map(({ kind }) => kind);
  for (const kind of ['crypto', 'compression']) assert.ok(kinds.includes(kind), JSON.stringify(answer.pool));
  const crypto = answer.pool.find(({ kind }) => kind === 'crypto')!;
  assert.ok(crypto.cpuNs > 50e6 && crypto.threads > 0, JSON.stringify(answer.pool));
});

test('a running process until Ctrl-C, busy from before the recording to its end', { skip }, async (t) => {
  const app = program('endless.js', "console.log('busy'); (function spinOn() { for (;;); })();");
  const target = spawn(process.execPath, ['--perf-basic-prof', app], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  t.after(async () => {
    const ended = once(target, 'exit');
    target.kill('SIGKILL');
    await ended;
    removePerfMap(target.pid);
  });
  await once(target.stdout, 'data');
  const verb = spawn(process.execPath, [...commandLineProcess(), 'loop', '-p', String(target.pid)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [out, err] = ['', ''];
  verb.stdout.on('data', (text) => (out += text));
  verb.stderr.on('data', (text) => (err += text));
  const closed = once(verb, 'close');
  assert.ok(await until(() => err.includes('watching; press Ctrl-C')), err);
  const onCpuNs = () => Number(readFileSync(`/proc/${target.pid}/schedstat`, 'utf8').split(' ')[0]);
  const seenFromNs = onCpuNs();
  assert.ok(await until(() => onCpuNs() > seenFromNs + 300e6), 'it got no CPU');
  // Once: a second Ctrl-C ends the verb without its answer.
  verb.kill('SIGINT');
  const [, signal] = await closed;
  assert.equal(signal, 'SIGINT', err);
  assert.match(out, /It did not come back to its wait once/);
  assert.match(out, /spinOn \(.*endless\.js/);
  assert.equal(target.exitCode, null);
});

test('what cannot be meant is refused, with what to do', async () => {
  const nothing = await counterpoint('loop');
  assert.equal(nothing.status, 129);
  assert.match(nothing.err, /there is nothing to watch/);
  const both = await counterpoint('loop', '-i', 'x', '-p', '1');
  assert.equal(both.status, 129);
  const other = join(folder, 'other.data');
  if (noTracepoints) return;
  await counterpoint('record', '-q', '-o', other, '--', 'true');
  const { out } = await counterpoint('loop', '-i', other);
  assert.match(out, /the recording has no waits of event loops/);
});

test('a program of four turns that ends by itself has these four, and waits between them', {
  skip,
}, async () => {
  const script = `let n = 0;
    const timer = setInterval(() => {
      // Wall time: the length of a turn is what is measured.
      for (const end = Date.now() + 80; Date.now() < end; );
      if (++n === 4) clearInterval(timer);
    }, 300);`;
  const { answer, status, err } = await answerOf('--', process.execPath, '-e', script);
  assert.equal(status, 0, err);
  const loop = mainOf(answer);
  // On a busy machine the start of Node takes as long, too.
  const isOwn = ({ function: most }: LoopTurn) => most?.file?.includes('[eval]') === true;
  const long = loop.longest.filter((turn) => isOwn(turn) && turn.lengthNs >= 79e6 && turn.lengthNs < 300e6);
  assert.equal(long.length, 4, JSON.stringify(loop.longest.map((turn) => [turn.lengthNs, turn.function])));
  // The start of Node is before the first wait, and longer than all turns where others take the CPU.
  const busyNs = loop.busyNs - loop.longest.find(({ kind }) => kind === 'start')!.lengthNs;
  assert.ok(busyNs < 0.7 * (busyNs + loop.idleNs), `busy ${busyNs}, idle ${loop.idleNs}`);
});

test('an ordinary user learns what is missing, and the command is not started', {
  skip: skip || noNobody(),
}, () => {
  const words = [...commandLineProcess(), 'loop', '--', 'touch', 'ran'];
  const { status, stderr } = nodeAsNobody(words, folder);
  assert.notEqual(status, 0);
  assert.match(
    stderr,
    /event loops are watched by tracepoints of system calls, but .* (?:only root may read|may not mount it)/,
  );
  assert.match(stderr, /sudo mount -/);
  assert.ok(!existsSync(join(folder, 'ran')));
});
