/**
 * Processes that come and go: while the history has samples of them they have their
 * names, and then they are gone.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { FEATURE_RECORDED_FILES } from '@counterpoint/core/abi';
import { topFunctions } from '@counterpoint/core/query';
import { openRecording } from '../../../host/open/index.ts';
import { temporaryFolder } from '../../../test/perf.ts';
import { SPIN_CPU_SOURCE } from '../../../test/until-told.ts';
import { flight } from './index.ts';

const skip = process.getuid?.() === 0 ? false : 'processes of others need root';
/** Of perf.data's header. */
const FEATURES_AT = 72;
const KEEP_MS = 3000;
const WORK = `${SPIN_CPU_SOURCE} function workForMoments() { spinCpu(400); } workForMoments();`;

/** By the bit in the header of the file. */
function hasFeature(path: string, feature: number): boolean {
  return ((readFileSync(path)[FEATURES_AT + (feature >> 3)]! >> (feature & 7)) & 1) === 1;
}

/** The functions of JavaScript in a file, and whether the file has maps of generated code at all. */
async function javascriptOf(path: string): Promise<{ names: string[]; hasMap: boolean }> {
  await using recording = await openRecording(path);
  const { profile } = await recording.profile();
  const { rows } = topFunctions(profile, { sort: ['symbol'], children: true });
  return {
    names: rows.map(({ symbol = '' }) => symbol),
    hasMap: hasFeature(path, FEATURE_RECORDED_FILES),
  };
}

test('a Node that has ended has its names as long as its samples are kept, and costs nothing then', {
  skip,
}, async (t) => {
  const flags = ['--perf-basic-prof', '--interpreted-frames-native-stack'];
  await using recorder = await flight({
    command: ['sh', '-c', '"$@"; exec sleep 30', 'sh', process.execPath, ...flags, '-e', WORK],
    nodeNames: false,
    events: 'cpu-clock:u',
    frequency: 499,
    keepMs: KEEP_MS,
    directory: temporaryFolder(t),
  });
  for (let tries = 0; ; tries++) {
    const { names } = await javascriptOf((await recorder.dump()).path);
    if (names.some((name) => /workForMoments/.test(name))) break;
    assert.ok(tries < 100, `${names.slice(0, 5)}`);
    await sleep(100);
  }
  // Its end is behind the beginning of the history now.
  for (let tries = 0; ; tries++) {
    await sleep(500);
    const { path, records } = await recorder.dump();
    const { names, hasMap } = await javascriptOf(path);
    if (records === 0 && !hasMap) return;
    assert.ok(tries < 30, `${records} records, ${names.slice(0, 5)}, ${hasMap}`);
  }
});
