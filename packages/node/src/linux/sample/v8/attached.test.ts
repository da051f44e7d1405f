/** Functions of a Node that runs already and was started without any flag, on each version that is here. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { Profile } from '@counterpoint/core/profile';
import { assertOnTime, onTime } from '../../../../../core/src/test/on-time.ts';
import { openRecording } from '../../../host/open/index.ts';
import { leastShare, PHASE_CHAINS, PHASES_FOREVER, phaseShares } from '../../../test/javascript-phases.ts';
import { javascriptStack } from '../../../test/javascript-stack.ts';
import { nodePrograms } from '../../../test/node-versions.ts';
import { unknownNode } from '../../../test/unknown-node.ts';
import { record } from '../record/index.ts';

const folder = mkdtempSync(join(tmpdir(), 'counterpoint-attached-'));
after(() => rmSync(folder, { recursive: true }));

const { NODE_OPTIONS: _, ...env } = process.env;

/** Runs a script, and waits until it says that it is ready. */
async function started(
  t: { after(end: () => void): void },
  node: string,
  script: string,
  flags: readonly string[] = [],
): Promise<ChildProcess & { pid: number }> {
  const child = spawn(node, [...flags, script], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  await once(child.stdout!, 'data');
  return child as ChildProcess & { pid: number };
}

/** However long that takes on a busy machine. */
async function recorded(pid: number, leastSamples: number) {
  const output = join(folder, `${pid}.data`);
  const enough = new AbortController();
  const { notes } = await record({
    pids: [pid],
    events: 'cpu-clock:u',
    frequency: 1000,
    callGraph: true,
    output,
    signal: AbortSignal.any([enough.signal, AbortSignal.timeout(60_000)]),
    onProgress: ({ samples }) => {
      if (samples >= leastSamples) enough.abort();
    },
  });
  const recording = await openRecording(output);
  const { profile } = await recording.profile();
  await recording.close();
  // Another attempt shall not share the CPU with it.
  process.kill(pid, 'SIGKILL');
  return { profile, notes };
}

const stacksOf = (profile: Profile) =>
  Array.from({ length: profile.samples.length }, (_, row) =>
    javascriptStack(profile, profile.samples.stack.at(row)),
  );

for (const node of nodePrograms)
  test(`compiled functions, and those that are inlined in them, have their names: ${node}`, async (t) => {
    const script = join(folder, 'phases.js');
    writeFileSync(script, PHASES_FOREVER);
    await onTime(async () => {
      const { pid } = await started(t, node, script);
      const { profile, notes } = await recorded(pid, 2000);
      assert.deepEqual(
        notes.filter(({ kind }) => kind === 'nameless-code' || kind === 'inlined-code'),
        [],
      );
      const shares = phaseShares(stacksOf(profile));
      for (const phase of Object.keys(PHASE_CHAINS)) {
        const { count, share } = shares.get(phase) ?? { count: 0, share: 0 };
        assertOnTime(count > 100, `${phase}: ${count} samples`);
        assertOnTime(
          share > leastShare(phase),
          `${phase}: ${share} of ${count} samples are of ${PHASE_CHAINS[phase]!.join(' ')}`,
        );
      }
      // Those that have no name would not be among them.
      const hot = [...shares.values()].reduce((sum, { count }) => sum + count, 0);
      assertOnTime(hot > 0.9 * profile.samples.length, `${hot} of ${profile.samples.length} samples`);
      // An ordinary program keeps its names, whatever is done for those that drop code all the time.
      const lost = samplesWithout(profile);
      assertOnTime(
        lost < 0.03 * profile.samples.length,
        `${lost} of ${profile.samples.length} without a name`,
      );
    });
  });

/** Samples in generated code that has no name, or none that is certain. */
function samplesWithout({ binaries, frames, samples, stacks, strings, symbols }: Profile): number {
  let count = 0;
  for (let row = 0; row < samples.length; row++) {
    if (samples.stack.at(row) < 0) continue;
    const frame = stacks.frame.at(samples.stack.at(row));
    const symbol = frames.symbol.at(frame);
    const name = symbol < 0 ? '' : strings.get(symbols.name.at(symbol));
    const isJit = binaries[frames.binary.at(frame)]!.kind === 'jit';
    if (isJit && (name === '' || name.startsWith('['))) count++;
  }
  return count;
}

const INTERPRETED = `'use strict';
const list = Array.from({ length: 40 }, (_, i) => ({ ['p' + i]: i, x: i }));
function hot(n) { let t = 0; for (let i = 0; i < n; i++) { const o = list[i % 40]; t = (t * 31 + o.x) | 0; } return t; }
function caller(n) { let t = 0; for (let i = 0; i < n; i++) t ^= hot(40); return t; }
const parent = process.ppid;
function outer() { while (process.ppid === parent) caller(50); }
console.log('up');
outer();
`;

for (const node of nodePrograms)
  test(`interpreted functions have their names, by their frames: ${node}`, {
    skip: process.arch !== 'x64' && 'only x86-64',
  }, async (t) => {
    const script = join(folder, 'interpreted.js');
    writeFileSync(script, INTERPRETED);
    await onTime(async () => {
      const { pid } = await started(t, node, script, ['--no-opt', '--no-maglev', '--no-sparkplug']);
      const { profile } = await recorded(pid, 1000);
      const stacks = stacksOf(profile);
      const right = stacks.filter((names) => / outer caller hot$/.test(` ${names.join(' ')}`)).length;
      assertOnTime(stacks.length > 300, `${stacks.length} samples`);
      // Of a kernel's chain alone, none is.
      assertOnTime(right > 0.9 * stacks.length, `${right} of ${stacks.length}`);
      // Nothing has another function than these at its inner end.
      const wrong = stacks.filter(
        (names) => names.length > 0 && !/^(outer|caller|hot|get ppid|get)$/.test(names.at(-1)!),
      );
      assert.ok(wrong.length < 0.02 * stacks.length, JSON.stringify(wrong.slice(0, 5)));
    });
  });

test('a V8 that is not known is told at the start, with what to do', async (t) => {
  const script = join(folder, 'phases.js');
  writeFileSync(script, PHASES_FOREVER);
  const { pid } = await started(t, unknownNode(folder), script);
  const told: string[] = [];
  await record({
    pids: [pid],
    events: 'cpu-clock:u',
    output: join(folder, 'unknown.data'),
    signal: AbortSignal.timeout(500),
    onStart: ({ notes }) =>
      told.push(...notes.filter(({ kind }) => kind === 'nameless-code').map(({ text }) => text)),
  });
  assert.equal(told.length, 1);
  assert.match(told[0]!, /^process \d+ is Node without names/);
  assert.match(
    told[0]!,
    /start Node with --perf-basic-prof .*; it was not possible to read them from outside: its version of V8 is not known$/,
  );
});

test('code that tsx compiled when it was loaded has the functions and lines of its source', async (t) => {
  const script = join(folder, 'loaded.ts');
  // The types and the comment take lines that the code does not have.
  writeFileSync(
    script,
    `interface Unused {
  a: number;
}

const spin = (count: number): number => {
  let sum = 0;
  for (let i = 0; i < count; i++) sum = (sum * 31 + (sum % (i | 1))) | 0;
  return sum;
};

let all = 0;
const turn = (): void => {
  for (let i = 0; i < 50; i++) all ^= spin(20_000);
  setImmediate(turn);
};
turn();
console.log('ready');
`,
  );
  // It is compiled while the recording begins: code that was made while nobody could look has no lines.
  await onTime(async () => {
    const { pid } = await started(t, process.execPath, script, ['--import', import.meta.resolve('tsx')]);
    const { profile } = await recorded(pid, 2000);
    const times = new Map<string, number>();
    for (let row = 0; row < profile.samples.length; row++) {
      const stack = profile.samples.stack.at(row);
      if (stack < 0) continue;
      const frame = profile.stacks.frame.at(stack);
      const source = profile.frames.source.at(frame);
      const line = source < 0 ? 0 : profile.sources.line.at(source);
      const name = profile.strings.get(profile.symbols.name.at(profile.frames.symbol.at(frame)));
      times.set(`${name} ${line}`, (times.get(`${name} ${line}`) ?? 0) + 1);
    }
    const [hottest] = [...times].reduce((a, b) => (a[1] > b[1] ? a : b));
    // Without its line, or without a certain name: it was read too late.
    assertOnTime(!hottest.endsWith(' 0'), JSON.stringify([...times]));
    assert.match(hottest, new RegExp(`^JS:spin ${script}:5:\\d+ 7$`), JSON.stringify([...times]));
  });
});
