/**
 * `flight --on loop-delay` and `--on function`: what is slow is written while it is, or as soon as it was.
 */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { topFunctions } from '@counterpoint/core/query';
import { assertOnTime, onTime } from '../../../../../core/src/test/on-time.ts';
import { openRecording } from '../../../host/open/index.ts';
import { listPrograms } from '../../../linux/kernel/bpf/index.ts';
import { realSys } from '../../../linux/kernel/sys/index.ts';
import { type FlightDump, flight } from '../../../linux/sample/flight/index.ts';
import { commandLineProcess, counterpoint } from '../../../test/command-line.ts';
import { nodeAsNobody, noNobody } from '../../../test/ordinary-user.ts';

const skip = process.getuid?.() === 0 ? false : 'needs root';
const folder = mkdtempSync(join(tmpdir(), 'counterpoint-latency-'));
after(() => rmSync(folder, { recursive: true }));

/** Shares of the samples that have passed through functions of JavaScript, by name. */
async function shares(path: string): Promise<Map<string, number>> {
  await using recording = await openRecording(path);
  const { profile } = await recording.profile();
  const { rows } = topFunctions(profile, { sort: ['symbol'], children: true });
  return new Map(rows.map(({ symbol = '', percent }) => [/^JS:(\w+)/.exec(symbol)?.[1] ?? symbol, percent]));
}

test('a loop that is blocked is told of while it is, and the file names what blocks it', { skip }, () =>
  onTime(tellBlocked),
);

async function tellBlocked(): Promise<void> {
  const out = mkdtempSync(join(folder, 'loop-'));
  // Wall time: lateness is what is measured.
  const app = `function handleRequest() { const end = Date.now() + 5; while (Date.now() < end); }
    // Wall time: so, too.
    function blockForReport(ms) { const end = Date.now() + ms; while (Date.now() < end); }
    setInterval(handleRequest, 20);
    setTimeout(() => blockForReport(1500), 1000);
    setTimeout(() => process.exit(), 3500);`;
  const { err } = await counterpoint(
    ...['flight', '--on', 'loop-delay:500ms', '-F', '499', '--keep', '700ms', '-o', out],
    ...['--', process.execPath, '-e', app],
  );
  const [, ms] = /loop-delay:500ms: process \d+, (\d+) ms: wrote/.exec(err) ?? [];
  // It was still blocked then.
  assert.ok(Number(ms) >= 500, err);
  assertOnTime(Number(ms) < 1500, err);
  assert.match(err, /1 file \]/);
  const [file] = readdirSync(out);
  const found = await shares(join(out, file!));
  assert.ok((found.get('blockForReport') ?? 0) > 60, JSON.stringify([...found].slice(0, 8)));
  assert.ok((found.get('handleRequest') ?? 0) < 40);
}

test('a server with one slow route: the file names the function of that route', { skip }, async () => {
  const app = `const { createServer } = require('node:http');
    // Wall time: lateness is what is measured.
    function spin(ms) { const end = Date.now() + ms; while (Date.now() < end); }
    function fastRoute(response) { spin(2); response.end('fast'); }
    function slowRoute(response) { spin(700); response.end('slow'); }
    const server = createServer((request, response) => (request.url === '/report' ? slowRoute : fastRoute)(response));
    server.listen(0, '127.0.0.1', () => console.log(server.address().port));`;
  const flags = ['--perf-basic-prof', '--interpreted-frames-native-stack', '-e', app];
  const server = spawn(process.execPath, flags, { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    const port = Number(await new Promise((done) => server.stdout.once('data', done)));
    const ask = (path: string) =>
      new Promise<string>((done, fail) => {
        get({ port, path, host: '127.0.0.1' }, (response) => {
          let text = '';
          response.on('data', (piece) => {
            text += piece;
          });
          response.on('end', () => done(text));
        }).on('error', fail);
      });
    let told: (dump: FlightDump) => void = () => {};
    const dumped = new Promise<FlightDump>((resolve) => {
      told = resolve;
    });
    await using _recorder = await flight({
      pids: [server.pid!],
      on: ['loop-delay:300ms'],
      events: 'cpu-clock',
      frequency: 499,
      keepMs: 400,
      directory: folder,
      onDump: (dump) => told(dump),
    });
    for (let round = 0; round < 50; round++) assert.equal(await ask('/'), 'fast');
    const slow = ask('/report');
    const dump = await dumped;
    // The server goes on, and answers.
    assert.equal(await slow, 'slow');
    assert.equal(await ask('/'), 'fast');
    const found = await shares(dump.path);
    assert.ok((found.get('slowRoute') ?? 0) > 50, JSON.stringify([...found].slice(0, 8)));
  } finally {
    server.kill();
    rmSync(`/tmp/perf-${server.pid}.map`, { force: true });
  }
});

test('a loop that waits is not late, and nothing is left in the kernel', { skip }, async () => {
  const own = () =>
    listPrograms(realSys).flatMap(({ id, name }) => (/^(calls_(in|out)|epoll_)/.test(name) ? [id] : []));
  const before = new Set(own());
  await onTime(async () => {
    const { status, err } = await counterpoint(
      ...['flight', '--on', 'loop-delay:50ms', '-o', join(folder, 'idle')],
      ...['--', process.execPath, '-e', 'setTimeout(() => {}, 700)'],
    );
    assert.equal(status, 0, err);
    // What starts Node is not its loop. What ends Node is: 50 ms where others take the CPU.
    assertOnTime(/no trigger fired/.test(err), err);
  });
  for (let tries = 0; own().some((id) => !before.has(id)) && tries < 100; tries++)
    await new Promise((done) => setTimeout(done, 50));
  assert.deepEqual(
    own().filter((id) => !before.has(id)),
    [],
  );
  const { err: refused } = await counterpoint('flight', '--on', 'loop-delay:50ms', '-a', '-o', folder);
  assert.match(refused, /needs processes/);
});

test('an ordinary user is told which rights loop-delay needs, and what does without', {
  skip: noNobody(),
}, () => {
  const own = mkdtempSync(join(tmpdir(), 'counterpoint-latency-nobody-'));
  try {
    const words = ['flight', '--on', 'loop-delay:500ms', '-o', own, '--', 'touch', join(own, 'ran')];
    const { status, stderr } = nodeAsNobody([...commandLineProcess(), ...words], own);
    assert.equal(status, 1, stderr);
    assert.match(stderr, /the trigger loop-delay:500ms: this user may not run programs in the kernel/);
    assert.match(stderr, /CAP_BPF and CAP_PERFMON missing/);
    assert.match(stderr, /Run it as root.*\n?.*counterpoint doctor.*--on signal:USR2/s);
    assert.doesNotMatch(stderr, /tracefs/);
    assert.ok(!readdirSync(own).includes('ran'));
  } finally {
    rmSync(own, { recursive: true });
  }
});

test('a slow call of a function, and not the quick ones', { skip }, async () => {
  const pipe = join(folder, 'pipe');
  assert.equal(spawnSync('mkfifo', [pipe]).status, 0);
  const script = `const { openSync, readFileSync } = require('node:fs');
    for (let i = 0; i < 200; i++) readFileSync('/proc/self/stat');
    openSync(process.argv[1], 'r');`;
  const writer = [
    'sh',
    '-c',
    `(sleep 1.5; : > "$1") & exec "$0" -e "$2" "$1"`,
    process.execPath,
    pipe,
    script,
  ];
  const on = (ms: number) => ['--on', `function:${process.execPath}:uv_fs_open>${ms}ms`];
  const out = join(folder, 'function');
  const { err } = await counterpoint('flight', ...on(150), '-o', out, '--', ...writer);
  const [, ms] = /uv_fs_open>150ms: ([\d.]+) ms: wrote/.exec(err) ?? [];
  assert.ok(Number(ms) > 150 && Number(ms) < 3000, err);
  assert.equal(readdirSync(out).length, 1);
  const quick = await counterpoint('flight', ...on(5000), '-o', out, '--', ...writer);
  assert.match(quick.err, /no trigger fired/);
});

test('what is no latency is refused', async () => {
  writeFileSync(join(folder, 'no-program'), 'x');
  for (const [on, says] of [
    ['loop-delay', /needs a time/],
    ['loop-delay:0ms', /from 1ms to 1h/],
    [`function:${process.execPath}:uv_fs_open`, /needs a file, a function and a time/],
    [`function:${process.execPath}:uv_fs_open>soon`, /needs a file/],
    [`function:${process.execPath}:no_such_function>5ms`, /no_such_function/],
    [`function:${join(folder, 'no-program')}:f>5ms`, /no-program/],
  ] as const) {
    const { status, err } = await counterpoint('flight', '--on', on, '-o', folder, '--', 'true');
    assert.notEqual(status, 0, on);
    assert.match(err, says);
  }
});
