/** Names of generated code inside recordings. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chownSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { inflateSync } from 'node:zlib';
import { topFunctions } from '@counterpoint/core/query';
import { openRecording } from '../../../host/open/index.ts';
import type { Note } from '../../kernel/perf-events/index.ts';
import { record } from './index.ts';
import { packPerfMaps } from './recorded-maps.ts';

function directory(context: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'maps-'));
  context.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

const uid = process.geteuid?.() ?? 0;

async function textsOf(owners: Parameters<typeof packPerfMaps>[0], notes: Note[] = []) {
  const { files } = await packPerfMaps(owners, notes);
  return files.map(({ pid, packed }) => [pid, inflateSync(packed).toString()]);
}

test('a recording of Node has its names where the map is gone', async (context) => {
  const place = directory(context);
  const output = join(place, 'perf.data');
  const script =
    'function hot() { let x = 0; for (let i = 0; i < 1e8; i++) x += Math.sqrt(i); return x; } hot();';
  let pid: number | null = null;
  await record({
    command: [process.execPath, '-e', script],
    events: 'cpu-clock:u',
    output,
    onStart: (start) => {
      pid = start.pid;
    },
  });
  assert.ok(!existsSync(`/tmp/perf-${pid}.map`));
  await using recording = await openRecording(output);
  const { profile, diagnostics } = await recording.profile();
  const names = topFunctions(profile).rows.map(({ symbol = '' }) => symbol);
  assert.match(names[0]!, /^JS:hot /);
  assert.ok(!diagnostics.some(({ code }) => code === 'no-perf-map'), JSON.stringify(diagnostics));
  if (spawnSync('perf', ['--version']).status !== 0) return;
  const { status, stdout } = spawnSync('perf', ['script', '-F', 'comm', '-i', output], { encoding: 'utf8' });
  assert.ok(status === 0 && stdout.includes('node'), 'perf reads the file');
});

test('whole lines of maps are packed, and none of an earlier process, a link or a stranger', async (context) => {
  const place = directory(context);
  const path = join(place, 'perf-1.map');
  const owner = { pid: 1, paths: [join(place, 'none.map'), path], uid, startMs: Date.now() - 60_000 };
  assert.deepEqual(await textsOf([owner]), []);
  writeFileSync(path, '10 20 whole\n30 40 cut');
  assert.deepEqual(await textsOf([owner]), [[1, '10 20 whole\n']]);
  utimesSync(path, 1, Date.now() / 1000 - 3600);
  assert.deepEqual(await textsOf([owner]), []);
  assert.deepEqual(await textsOf([{ ...owner, startMs: null }]), [[1, '10 20 whole\n']]);
  if (uid === 0) {
    spawnSync('chown', ['4242', path]);
    assert.deepEqual(await textsOf([{ ...owner, startMs: null }]), []);
    assert.deepEqual(await textsOf([{ ...owner, startMs: null, uid: 4242 }]), [[1, '10 20 whole\n']]);
  }
  spawnSync('ln', ['-s', path, join(place, 'link.map')]);
  assert.deepEqual(await textsOf([{ ...owner, paths: [join(place, 'link.map')], startMs: null }]), []);
});

test('what lies where a map would be, and is none of the process, is told', async (context) => {
  const place = directory(context);
  const map = join(place, 'perf-1.map');
  const noteOf = async () => {
    const notes: Note[] = [];
    assert.deepEqual(await textsOf([{ pid: 1, paths: [map], uid, startMs: null }], notes), []);
    return notes.map(({ text }) => text).join();
  };
  assert.equal(await noteOf(), '');
  writeFileSync(join(place, 'secret'), '10 20 secret\n');
  symlinkSync(join(place, 'secret'), map);
  assert.match(await noteOf(), /perf-1\.map is a link: it names nothing of process 1, and was not read/);
  rmSync(map);
  linkSync(join(place, 'secret'), map);
  assert.match(await noteOf(), /has another name, too/);
  rmSync(map);
  mkdirSync(map);
  assert.match(await noteOf(), /is no plain file/);
  rmSync(map, { recursive: true });
  writeFileSync(map, '10 20 lie\n');
  if (uid !== 0) return;
  chownSync(map, 4242, 4242);
  assert.match(await noteOf(), /belongs to user 4242, and neither to that of the process nor to you or root/);
});

test('of a process whose map is an earlier one it is told, and when the process began', async (context) => {
  const path = join(directory(context), 'perf-1.map');
  const startMs = Date.now() - 60_000;
  const owner = { pid: 1, paths: [path], uid, startMs };
  const notes: Note[] = [];
  const startsOf = async () => [...(await packPerfMaps([owner], notes)).starts];
  assert.deepEqual(await startsOf(), [[1, startMs]]);
  assert.equal(notes.length, 0);
  writeFileSync(path, '10 20 of another\n');
  utimesSync(path, startMs / 1000 - 1, startMs / 1000 - 1);
  assert.deepEqual(await startsOf(), [[1, startMs]]);
  assert.match(notes[0]!.text, /perf-1\.map is older than process 1: an earlier process .* was not used/);
  writeFileSync(path, '10 20 own\n');
  assert.deepEqual(await startsOf(), []);
});

test('a report of a process with the map of an earlier one: no name of it, and it is told', async (context) => {
  const place = directory(context);
  const output = join(place, 'perf.data');
  const script =
    "function hot() { let x = 0; for (let i = 0; i < 1e6; i++) x += Math.sqrt(i); return x; } hot(); console.log('up'); setInterval(hot, 1);";
  const { NODE_OPTIONS: _, ...env } = process.env;
  const child = spawn(process.execPath, ['-e', script], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const map = `/tmp/perf-${child.pid}.map`;
  context.after(() => {
    child.kill('SIGKILL');
    rmSync(map, { force: true });
  });
  await once(child.stdout, 'data');
  // The whole address space has one name.
  writeFileSync(map, '1000 7ffffffff000 wrong\n');
  const anHourAgo = Date.now() / 1000 - 3600;
  utimesSync(map, anHourAgo, anHourAgo);
  const { notes } = await record({
    pids: [child.pid!],
    events: 'cpu-clock:u',
    nodeNames: false,
    signal: AbortSignal.timeout(500),
    output,
  });
  child.kill('SIGKILL');
  const told = notes.filter(({ text }) => /older than process \d+: an earlier process/.test(text));
  assert.equal(told.length, 1, JSON.stringify(notes));
  const namesOf = async () => {
    await using recording = await openRecording(output);
    const { profile, diagnostics } = await recording.profile();
    const names = topFunctions(profile).rows.map(({ symbol = '' }) => symbol);
    return { isWrong: names.includes('wrong'), codes: diagnostics.map(({ code }) => code) };
  };
  const { isWrong, codes } = await namesOf();
  assert.ok(!isWrong && codes.includes('perf-map-stale'), codes.join(' '));
  // The process itself might have written it.
  utimesSync(map, Date.now() / 1000, Date.now() / 1000);
  assert.deepEqual(await namesOf(), { isWrong: true, codes: [] });
});

test('a map that is too large is left out, and told', async (context) => {
  const path = join(directory(context), 'perf-1.map');
  writeFileSync(path, '10 20 name\n'.repeat((64 << 20) / 11 + 2));
  const notes: Note[] = [];
  assert.deepEqual(await textsOf([{ pid: 1, paths: [path], uid, startMs: null }], notes), []);
  assert.match(notes[0]!.text, /process 1 are not in the recording.*take .* along/);
  assert.ok(existsSync(path));
});
