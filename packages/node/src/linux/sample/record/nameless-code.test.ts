/** Whether JavaScript will have names is told when it can still be changed. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { topFunctions } from '@counterpoint/core/query';
import { openRecording } from '../../../host/open/index.ts';
import { unknownNode } from '../../../test/unknown-node.ts';
import { SPIN_CPU_SOURCE } from '../../../test/until-told.ts';
import { record } from './record.ts';

const folder = mkdtempSync(join(tmpdir(), 'counterpoint-nameless-'));
after(() => rmSync(folder, { recursive: true }));

const BUSY =
  // Wall time: it ends by itself where nobody ends it.
  'console.log("up"); const parent = process.ppid; const end = Date.now() + 60_000; while (Date.now() < end && process.ppid === parent) Math.sqrt(Date.now());';
const unknown = unknownNode(folder);
const { NODE_OPTIONS: _, ...environment } = process.env;

/** A Node program that has run for a moment, and so has made code. */
async function busyNode(
  t: { after(end: () => void): void },
  flags: string[],
  node = process.execPath,
): Promise<ChildProcess> {
  const child = spawn(node, [...flags, '-e', BUSY], {
    env: environment,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => {
    child.kill('SIGKILL');
    rmSync(`/tmp/perf-${child.pid}.map`, { force: true });
  });
  await once(child.stdout!, 'data');
  const hasMadeCode = () =>
    /r[w-]xp 00000000 00:00 0\s*$/m.test(readFileSync(`/proc/${child.pid}/maps`, 'utf8'));
  for (let wait = 0; wait < 500 && !hasMadeCode(); wait++)
    await new Promise((resolve) => setTimeout(resolve, 20));
  return child;
}

async function notesAtStart(pid: number, nodeNames?: boolean): Promise<string[]> {
  const stop = new AbortController();
  let told: string[] = [];
  await record({
    pids: [pid],
    events: 'cpu-clock:u',
    output: join(folder, 'attached.data'),
    signal: stop.signal,
    ...(nodeNames === undefined ? {} : { nodeNames }),
    onStart: ({ notes }) => {
      told = notes.filter(({ kind }) => kind === 'nameless-code').map(({ text }) => text);
      stop.abort();
    },
  });
  return told;
}

test('attached to a Node that writes no map: its names are read from outside, and there is nothing to say', async (t) => {
  const { pid } = await busyNode(t, []);
  assert.deepEqual(await notesAtStart(pid!), []);
  assert.deepEqual(await notesAtStart(pid!, false), []);
});

test('attached to a Node of an unknown version: which flags it must be started with', async (t) => {
  const { pid } = await busyNode(t, [], unknown);
  const told = await notesAtStart(pid!);
  assert.equal(told.length, 1);
  assert.match(told[0]!, new RegExp(`^process ${pid} is Node without names`));
  assert.match(told[0]!, /start Node with --perf-basic-prof --interpreted-frames-native-stack/);
  assert.deepEqual(await notesAtStart(pid!, false), []);
});

test('a map that an earlier process of that number left is none, and would give wrong names', async (t) => {
  const { pid } = await busyNode(t, [], unknown);
  const map = `/tmp/perf-${pid}.map`;
  writeFileSync(map, '7f0000000000 10 LazyCompile:~somebodyElse /app.js:1:1\n');
  const before = new Date(Date.now() - 3_600_000);
  utimesSync(map, before, before);
  const told = await notesAtStart(pid!);
  assert.equal(told.length, 1, told.join());
  assert.ok(told[0]!.includes(`remove ${map}: an earlier process of that number`), told[0]);
});

test("another user's map hides nothing: the names are read from outside, and the map is told of", {
  skip: process.geteuid?.() === 0 ? false : 'only root can give files to another user',
}, async (t) => {
  const { pid } = await busyNode(t, []);
  const map = `/tmp/perf-${pid}.map`;
  const made = [
    ...readFileSync(`/proc/${pid}/maps`, 'utf8').matchAll(/^(\w+)-(\w+) r.xp 00000000 00:00 0\s*$/gm),
  ];
  const lines = made.map(([, start, end]) => {
    const size = Number.parseInt(end!, 16) - Number.parseInt(start!, 16);
    return `${start} ${size.toString(16)} JS:*lie /lie.js:1:1\n`;
  });
  assert.ok(lines.length > 0);
  writeFileSync(map, lines.join(''));
  chownSync(map, 4242, 4242);
  const output = join(folder, 'stranger.data');
  const enough = new AbortController();
  const { notes } = await record({
    pids: [pid!],
    events: 'cpu-clock:u',
    callGraph: true,
    output,
    signal: AbortSignal.any([enough.signal, AbortSignal.timeout(20_000)]),
    onProgress: ({ samples }) => {
      if (samples >= 200) enough.abort();
    },
  });
  assert.ok(
    notes.some(({ text }) => text.startsWith(`${map} belongs to user 4242`)),
    JSON.stringify(notes),
  );
  await using recording = await openRecording(output);
  const { profile } = await recording.profile();
  const names = topFunctions(profile, { children: true }).rows.map(({ symbol = '' }) => symbol);
  assert.ok(
    names.some((name) => name.startsWith('JS:(anonymous) [eval]')),
    names.join('\n'),
  );
  assert.ok(!names.some((name) => name.includes('lie')), names.join('\n'));
});

test('attached to a Node that writes one: nothing to say', async (t) => {
  const { pid } = await busyNode(t, ['--perf-basic-prof']);
  assert.deepEqual(await notesAtStart(pid!), []);
});

test('a Node that a command starts without the flags is told of while it runs', async () => {
  const stop = new AbortController();
  const told: string[] = [];
  await record({
    command: ['sh', '-c', 'unset NODE_OPTIONS; "$0" -e "$1"; true', unknown, BUSY],
    launch: { env: environment, stdio: ['ignore', 'ignore', 'inherit'] },
    events: 'cpu-clock:u',
    output: join(folder, 'child.data'),
    signal: stop.signal,
    onNote: (notes) => {
      told.push(...notes.filter(({ kind }) => kind === 'nameless-code').map(({ text }) => text));
      if (told.length > 0) stop.abort();
    },
  });
  assert.equal(told.length, 1);
  assert.match(told[0]!, /^process \d+ is Node without names/);
});

const HOT_CHILD = join(folder, 'hot-child.js');
writeFileSync(
  HOT_CHILD,
  `${SPIN_CPU_SOURCE} function hotInChild() { return someTurns(); } spinCpu(1500, hotInChild);`,
);

for (const [how, text] of Object.entries({
  'a child with an empty environment': `require('child_process').spawnSync(process.execPath, [${JSON.stringify(HOT_CHILD)}], { env: {} })`,
  'a shell that empties NODE_OPTIONS': `require('child_process').execSync('NODE_OPTIONS= "$NODE" ${HOT_CHILD}', { env: { ...process.env, NODE: process.execPath } })`,
}))
  test(`${how}: its hot function has its name, and what has none is told`, async () => {
    const output = join(folder, 'other-options.data');
    const { notes } = await record({
      command: [process.execPath, '-e', text],
      launch: { env: environment, stdio: ['ignore', 'ignore', 'inherit'] },
      events: 'cpu-clock:u',
      frequency: 1000,
      callGraph: true,
      output,
    });
    const told = notes.filter(({ kind }) => kind === 'nameless-code').map((note) => note.text);
    assert.equal(told.length, 1, JSON.stringify(notes));
    assert.match(told[0]!, /^process \d+ is Node that was started without the flags for names/);
    await using recording = await openRecording(output);
    const { profile } = await recording.profile();
    const rows = topFunctions(profile, { sort: ['symbol'], children: true }).rows;
    const hot = rows.find(({ symbol = '' }) => symbol.startsWith('JS:hotInChild '));
    assert.ok(hot !== undefined && hot.percent > 40, JSON.stringify(rows.slice(0, 20)));
  });
