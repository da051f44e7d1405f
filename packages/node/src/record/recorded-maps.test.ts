/** Names of generated code inside recordings. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { inflateSync } from 'node:zlib';

import { topFunctions } from '@counterpoint/core/query';
import { openRecording } from '../open/index.ts';
import type { Note } from '../perf-events/index.ts';
import { record } from './index.ts';
import { packPerfMaps } from './recorded-maps.ts';

function directory(context: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'maps-'));
  context.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

const uid = process.geteuid?.() ?? 0;

async function textsOf(owners: Parameters<typeof packPerfMaps>[0], notes: Note[] = []) {
  const files = await packPerfMaps(owners, notes);
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

test('a map that is too large is left out, and told', async (context) => {
  const path = join(directory(context), 'perf-1.map');
  writeFileSync(path, '10 20 name\n'.repeat((64 << 20) / 11 + 2));
  const notes: Note[] = [];
  assert.deepEqual(await textsOf([{ pid: 1, paths: [path], uid, startMs: null }], notes), []);
  assert.match(notes[0]!.text, /process 1 are not in the recording.*take .* along/);
  assert.ok(existsSync(path));
});
