/**
 * Programs of which every moment is known: how much of a recording has the right function and the right line.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { assertOnTime, onTime } from '../../../../../core/src/test/on-time.ts';
import { openRecording } from '../../../host/open/index.ts';
import { type KnownShare, knownShares } from '../../../test/known-shares.ts';
import { parseIntervals, writeKnownTruth } from '../../../test/known-truth.ts';
import { nodePrograms } from '../../../test/node-versions.ts';
import { record } from '../record/index.ts';

const folder = mkdtempSync(join(tmpdir(), 'counterpoint-truth-'));
after(() => rmSync(folder, { recursive: true }));
const { places, tiers, lines } = writeKnownTruth(folder);
const output = join(folder, 'truth.data');
const logPath = join(folder, 'truth.log');

/** Of each part, on a CPU: what V8 needs to compile it is a small part. */
const PART_MS = '500';
const LEAST_RIGHT = 0.92;
const LEAST_SAMPLES = 100;
const OPTIONS = { events: 'cpu-clock', frequency: 1500, callGraph: true, output } as const;
const INTERPRETER = ['--no-opt', '--no-maglev', '--no-sparkplug'];
const BASELINE = ['--no-opt', '--no-maglev', '--always-sparkplug'];

/** What is right of each part. */
type Expected = Readonly<Record<string, 'function' | 'line'>>;

const EVERYTHING: Expected = {
  deoptimised: 'line',
  fields: 'line',
  initialisers: 'line',
  statics: 'line',
  privates: 'line',
  generator: 'line',
  worker: 'line',
  eval: 'line',
  function: 'line',
};
/** Which line of an interpreted function calls is known where its frames are read. */
const LAUNCHED: Expected = { ...EVERYTHING, wasm: 'function', regexp: 'function' };
const ATTACHED: Expected = { ...EVERYTHING, regexp: 'line' };
const LINES: Expected = { arithmetic: 'line', properties: 'line', calls: 'line' };

async function shares(): Promise<Map<string, KnownShare>> {
  await using recording = await openRecording(output);
  const { profile } = await recording.profile();
  return knownShares(profile, parseIntervals(readFileSync(logPath, 'utf8')), places);
}

const { NODE_OPTIONS: _, ...env } = process.env;

async function launch(node: string, words: readonly string[]): Promise<void> {
  await record({ ...OPTIONS, command: [node, ...words, logPath, PART_MS], nodeNames: true });
}

async function attach(node: string, words: readonly string[]): Promise<void> {
  const child = spawn(node, [...words, logPath, PART_MS, 'wait'], {
    env,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  try {
    await once(child.stdout, 'data');
    await record({ ...OPTIONS, pids: [child.pid!], onStart: () => child.stdin.write('go\n') });
  } finally {
    child.kill('SIGKILL');
  }
}

/**
 * A part is right once it was right in one attempt: a recorder that gets no CPU reads code late, and what is
 * wrong is wrong each time.
 */
async function check(expected: Expected, recordOnce: () => Promise<void>): Promise<void> {
  const waiting = new Map(Object.entries(expected));
  await onTime(async () => {
    await recordOnce();
    const found = await shares();
    if (process.env['TRUTH_SHOWN'] !== undefined) console.log(found);
    for (const [kind, what] of [...waiting]) {
      const share = found.get(kind);
      assert.ok(share !== undefined && share.samples > LEAST_SAMPLES, `${kind}: ${share?.samples} samples`);
      const right = what === 'line' ? share.rightLine : share.rightFunction;
      if (right >= LEAST_RIGHT * share.samples) waiting.delete(kind);
    }
    const missed = [...waiting.keys()].map((kind) => `${kind} ${JSON.stringify(found.get(kind))}`);
    assertOnTime(missed.length === 0, missed.join('\n'));
  });
}

for (const node of nodePrograms) {
  test(`function and line are right in a program that is launched: ${node}`, () =>
    check(LAUNCHED, () => launch(node, [tiers])));
  test(`and in one that runs already: ${node}`, () => check(ATTACHED, () => attach(node, [tiers])));
  test(`lines of baseline code are right: ${node}`, () =>
    check(LINES, () => launch(node, [...BASELINE, lines])));
  test(`lines of interpreted functions are right where their frames are read: ${node}`, () =>
    check(LINES, () => attach(node, [...INTERPRETER, lines])));
}
