/** `profile()` in programs that know what they do, on the real kernel. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { topFunctions } from '@counterpoint/core/query';
import { nodeAsNobody, noNobody } from '../../../test/ordinary-user.ts';
import { sourceModule, sourceOptions } from '../../../test/sources.ts';
import { until } from '../../../test/until-told.ts';
import { type OwnProfile, profile, startProfile } from './index.ts';

const skip = process.getuid?.() === 0 ? false : 'needs root';
const folder = mkdtempSync(join(tmpdir(), 'counterpoint-own-profile-'));
after(() => rmSync(folder, { recursive: true }));
/** The profiler's own folders are made here, and nowhere else. */
const temporary = join(folder, 'tmp');
const HERE = JSON.stringify(sourceModule('linux/sample/profiler/index.ts'));

const usedMs = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e3;
};

/** On a CPU: a busy machine takes longer. */
function spinFor(ms: number): number {
  let x = 1;
  for (const end = usedMs() + ms; usedMs() < end; ) for (let i = 0; i < 1e5; i++) x = (x * 31 + i) | 0;
  return x;
}

function spinLong(): number {
  return spinFor(300);
}

function spinShort(): number {
  return spinFor(100);
}

function spinBoth(): string {
  for (let round = 0; round < 3; round++) {
    spinLong();
    spinShort();
  }
  return 'spun';
}

/** With callees, of what JavaScript had. */
function shares({ profile: seen }: OwnProfile<unknown>): Map<string, number> {
  const { rows } = topFunctions(seen, { sort: ['symbol'], children: true });
  return new Map(rows.map(({ symbol, percent }) => [/^JS:(\S+)/.exec(symbol ?? '')?.[1] ?? '', percent]));
}

const near = (value: number | undefined, wanted: number, most: number) =>
  value !== undefined && Math.abs(value - wanted) <= most;

/** A program of its own, that profiles itself. */
function startProgram(text: string, flags: readonly string[] = [], env: NodeJS.ProcessEnv = {}) {
  const path = join(folder, `program-${Math.random().toString(36).slice(2)}.mjs`);
  writeFileSync(path, `const { profile, startProfile } = await import(${HERE});\n${text}`);
  const started = spawn(process.execPath, [...sourceOptions(), ...flags, path], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, TMPDIR: temporary, ...env },
  });
  let [out, err] = ['', ''];
  started.stdout.on('data', (piece) => (out += piece));
  started.stderr.on('data', (piece) => (err += piece));
  const ended = once(started, 'close').then(([status, signal]) => ({ status, signal, out, err }));
  return { started, ended, out: () => out };
}

mkdirSync(temporary);

test('a function that blocks the event loop, with its share and its result', { skip }, async () => {
  let used = 0;
  const seen = await profile(() => {
    const before = usedMs();
    const result = spinBoth();
    used = usedMs() - before;
    return result;
  });
  assert.equal(seen.result, 'spun');
  assert.ok(seen.timeNs >= 1_200_000_000n, `${seen.timeNs}`);
  // A busy machine lets the recorder wait for longer than its buffers last: that is told.
  const lost = seen.loss.reduce(
    (sum, { count, kind }) => sum + (kind === 'ring-full' ? Number(count) : 0),
    0,
  );
  const found = shares(seen);
  const both = found.get('spinBoth') ?? 0;
  assert.ok(both > 85, JSON.stringify([...found]));
  // Three times as long as the other one: of both, 75 %. Below tsx, source maps give
  // both one name: not mended yet.
  const long = found.get('spinLong') ?? 0;
  const short = found.get('spinShort') ?? 0;
  assert.ok(near((100 * long) / (long + short), 75, 6), `${long} and ${short}`);
  const [first] = seen.functions(1);
  assert.match(first!.symbol!, /spin/);
  assert.ok(import.meta.url.endsWith(first!.file!), first!.file);
  // Nothing of the recorder, and nothing of before and after.
  for (const name of found.keys()) assert.doesNotMatch(name, /^(?:stopWith|record|startProfile)$/);
  // One for each millisecond on a CPU.
  assert.ok(
    near((seen.samples + lost) / used, 1, 0.25),
    `${seen.samples} and ${lost} lost samples of ${used} ms`,
  );
});

test('the same functions as in the profile of the inspector', { skip }, async () => {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.start');
  const seen = await profile(spinBoth);
  const { profile: other } = await session.post('Profiler.stop');
  session.disconnect();
  const hits = (names: RegExp) =>
    other.nodes
      .filter(({ callFrame }) => names.test(callFrame.functionName))
      .reduce((sum, { hitCount = 0 }) => sum + hitCount, 0);
  const own = hits(/^(?:spinFor|spinLong|spinShort|spinBoth)$/);
  assert.ok(own > 100, `${own}`);
  const rows = seen.functions();
  const ours = rows.filter(({ symbol }) => /JS:spin/.test(symbol ?? ''));
  const share = ours.reduce((sum, { selfPercent }) => sum + selfPercent, 0);
  assert.ok(share > 85, JSON.stringify(rows.slice(0, 4)));
});

test('a span of time with awaits, and files for other tools', { skip }, async () => {
  const running = await startProfile({ frequency: 2000, view: 'categories' });
  for (let round = 0; round < 5; round++) {
    spinFor(60);
    await new Promise((resolve) => setTimeout(resolve, 30));
  }
  const seen = await running.stop();
  assert.equal(seen.result, undefined);
  assert.ok(seen.timeNs > 440_000_000n);
  assert.ok(
    near(shares(seen).get('spinFor'), 95, 10),
    JSON.stringify([[...shares(seen)].slice(0, 5), seen.notes, seen.diagnostics, seen.loss]),
  );
  await assert.rejects(running.stop(), { code: 'ERR_CLOSED' });
  const path = join(folder, 'own.cpuprofile');
  await seen.save(path);
  const { nodes } = JSON.parse(readFileSync(path, 'utf8'));
  assert.ok(
    nodes.some(({ callFrame }: never) => (callFrame as { functionName: string }).functionName === 'spinFor'),
  );
  const svg = Buffer.from(await seen.encode('svg')).toString();
  assert.match(svg, /spinFor/);
  const packed = await seen.encode('pprof');
  assert.deepEqual([...packed.subarray(0, 2)], [0x1f, 0x8b]);
  await assert.rejects(seen.save('/proc/none/own.svg'), { code: 'ENOENT' });
  await assert.rejects(seen.encode('picture.png'), { code: 'ERR_EXPORT_FORMAT', remedy: /cpuprofile/ });
});

test('what the function throws is thrown, and the recorder is gone', { skip }, async () => {
  const wrong = new Error('of the program');
  await assert.rejects(
    profile(() => {
      throw wrong;
    }),
    (error) => error === wrong,
  );
  await assert.rejects(
    profile(async () => {
      await null;
      throw wrong;
    }),
    (error) => error === wrong,
  );
});

test('what cannot be meant is refused', async () => {
  await assert.rejects(profile('x' as never), { code: 'ERR_OPTION' });
  await assert.rejects(startProfile({ frequncy: 1 } as never), { code: /ERR_/ });
  await assert.rejects(startProfile({ events: 'no-such-event' }), /no-such-event/);
});

test('options of the program are not those of its recorder, and nothing is left behind', {
  skip,
}, async () => {
  const hook = join(folder, 'hook.cjs');
  const list = join(folder, 'hooked');
  writeFileSync(hook, `require('node:fs').appendFileSync(${JSON.stringify(list)}, process.pid + '\\n');`);
  const { started, ended } = startProgram(
    `const seen = await profile(() => { for (const end = process.cpuUsage().user + 2e5; process.cpuUsage().user < end; ); return 5; });
     console.log(JSON.stringify([seen.result, seen.samples > 20, process.execArgv.length, process.env.NODE_OPTIONS]));`,
    [],
    { NODE_OPTIONS: `--require ${hook}` },
  );
  const { status, out, err } = await ended;
  assert.equal(status, 0, err);
  assert.deepEqual(JSON.parse(out), [5, true, sourceOptions().length, `--require ${hook}`]);
  const pids = new Set(readFileSync(list, 'utf8').trim().split('\n').map(Number));
  // tsx may have processes of its own; the recorder is none of those that the hook saw.
  assert.ok(pids.has(started.pid!));
  assert.equal(pids.size, 1, [...pids].join(' '));
  assert.deepEqual(
    readdirSync(temporary).filter((name) => name.startsWith('counterpoint-')),
    [],
  );
});

test('a program that ends meanwhile, or forgets to stop, takes its recorder with it', { skip }, async () => {
  const endings = {
    exit: 'process.exit(7)',
    kill: 'process.kill(process.pid, "SIGKILL")',
    forgets: 'process.exitCode = 7',
  };
  for (const [name, ending] of Object.entries(endings)) {
    const { ended } = startProgram(`await startProfile(); ${ending};`);
    const { status, signal, err } = await ended;
    assert.ok(name === 'kill' ? signal === 'SIGKILL' : status === 7, `${name}: ${status} ${signal} ${err}`);
    const isClean = () => readdirSync(temporary).every((entry) => !entry.startsWith('counterpoint-'));
    assert.ok(await until(isClean), `${name} left ${readdirSync(temporary)}`);
  }
});

test('an ordinary user has names, too', { skip: skip || noNobody() }, () => {
  const path = join(folder, 'user.mjs');
  writeFileSync(
    path,
    `const { profile } = await import(${HERE});
     function spinUser() { let x = 1; for (const end = process.cpuUsage().user + 4e5; process.cpuUsage().user < end; ) for (let i = 0; i < 1e4; i++) x = (x * 31 + i) | 0; return x; }
     const seen = await profile(spinUser);
     console.log(JSON.stringify(seen.functions(1)));`,
  );
  const { status, stdout, stderr } = nodeAsNobody([...sourceOptions(), path], folder);
  assert.equal(status, 0, stderr);
  const [row] = JSON.parse(stdout);
  assert.match(row.symbol, /spinUser/);
  assert.ok(row.file.endsWith(path), row.file);
});
