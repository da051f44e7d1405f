/** Addresses of code that are used again and again: a sample has the name of what ran there then, or none. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { NAME_NOT_CERTAIN } from '@counterpoint/core/jit';
import { NONE, type Profile } from '@counterpoint/core/profile';
import { assertOnTime, onTime } from '../../../../../core/src/test/on-time.ts';
import { openRecording } from '../../../host/open/index.ts';
import { CHURN, type Interval, parseLog } from '../../../test/churning-code.ts';
import { javascriptStack } from '../../../test/javascript-stack.ts';
import { nodePrograms } from '../../../test/node-versions.ts';
import { record } from '../record/index.ts';

const folder = mkdtempSync(join(tmpdir(), 'counterpoint-churn-'));
after(() => rmSync(folder, { recursive: true }));
const script = join(folder, 'churn.js');
writeFileSync(script, CHURN);
const output = join(folder, 'churn.data');
const logPath = join(folder, 'churn.log');

const { NODE_OPTIONS: _, ...env } = process.env;
/** `CHURN_SCALE=20` is a minute. */
const SCALE = Number(process.env['CHURN_SCALE'] ?? 1);
/** Who reads memory from outside does not see what lives for some milliseconds only. */
const LAUNCHED = [`${200 * SCALE}`, '15'];
const ATTACHED = [
  { count: 20 * SCALE, spinMs: 200, flags: [] },
  { count: 200 * SCALE, spinMs: 15, flags: [] },
  // Which function it is says only the frame, by bytecode whose memory is used again.
  { count: 100 * SCALE, spinMs: 15, flags: ['--no-opt', '--no-maglev', '--no-sparkplug'] },
] as const;
const OPTIONS = { events: 'cpu-clock:u', frequency: 2000, callGraph: true, output } as const;

const LEAST_RIGHT = 20;

interface Verdict {
  right: number;
  /** Told to be so. */
  uncertain: number;
  /** Code without a name, or none of it is in the chain. */
  unknown: number;
  wrong: string[];
}

/** Of all samples in which a function was running, by the log of truth. */
async function judged(): Promise<Verdict> {
  await using recording = await openRecording(output);
  const { profile } = await recording.profile();
  const intervals = parseLog(readFileSync(logPath, 'utf8'));
  const verdict: Verdict = { right: 0, uncertain: 0, unknown: 0, wrong: [] };
  for (let row = 0; row < profile.samples.length; row++) {
    const timeNs = profile.baseTimeNs! + BigInt(Math.round(profile.samples.timeNs.at(row)));
    const truth = intervalAt(intervals, timeNs);
    if (truth === null) continue;
    const names = javascriptStack(profile, profile.samples.stack.at(row)).filter((name) =>
      /^churn\d/.test(name),
    );
    if (names.length === 0)
      verdict[isUncertain(profile, profile.samples.stack.at(row)) ? 'uncertain' : 'unknown']++;
    else if (names.every((name) => name === truth.name)) verdict.right++;
    else
      verdict.wrong.push(
        `${names.join(' ')} where ${truth.name} was, ${timeNs - truth.startNs} ns after its start`,
      );
  }
  return verdict;
}

function isUncertain({ frames, stacks, strings, symbols }: Profile, innermost: number): boolean {
  for (let stack = innermost; stack !== NONE; stack = stacks.prefix.at(stack)) {
    const symbol = frames.symbol.at(stacks.frame.at(stack));
    if (symbol !== NONE && strings.get(symbols.name.at(symbol)) === NAME_NOT_CERTAIN) return true;
  }
  return false;
}

function intervalAt(intervals: readonly Interval[], timeNs: bigint): Interval | null {
  const after = intervals.findIndex(({ endNs }) => endNs >= timeNs);
  const found = intervals[after];
  return found !== undefined && found.startNs <= timeNs ? found : null;
}

/** How many are known is a matter of how often the recorder gets to look. */
function check({ right, uncertain, unknown, wrong }: Verdict): void {
  if (process.env['CHURN_SHOWN'] !== undefined)
    console.log({ right, uncertain, unknown, wrong: wrong.length });
  assert.deepEqual(wrong.slice(0, 5), [], `${wrong.length} wrong, ${right} right`);
  assertOnTime(right > LEAST_RIGHT, `${right} right, ${uncertain} uncertain, ${unknown} unknown`);
}

for (const node of nodePrograms) {
  test(`a launched program that churns code has no wrong name: ${node}`, async () => {
    await onTime(async () => {
      await record({ ...OPTIONS, command: [node, script, logPath, ...LAUNCHED], nodeNames: true });
      check(await judged());
    });
  });

  for (const { count, spinMs, flags } of ATTACHED)
    test(`nor has one that runs already, of functions that live ${spinMs} ms${flags.length > 0 ? ', interpreted' : ''}: ${node}`, async (t) => {
      await onTime(async () => {
        const words = [...flags, script, logPath, `${count}`, `${spinMs}`, 'wait'];
        const child = spawn(node, words, { env, stdio: ['pipe', 'pipe', 'inherit'] });
        t.after(() => child.kill('SIGKILL'));
        await once(child.stdout, 'data');
        await record({ ...OPTIONS, pids: [child.pid!], onStart: () => child.stdin.write('go\n') });
        check(await judged());
      });
    });
}
