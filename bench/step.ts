/**
 * Promise: stepping reaches at least 0.7 of the rate of a C loop of ptrace calls, both
 * with their target on one CPU.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { countSoft } from '../packages/node/src/linux/stepping/softpmu/index.ts';
import { median } from './measure.ts';

const PAIRS = 7;
const COUNTER = new URL('../packages/node/src/test/step-counter.c', import.meta.url).pathname;

/** Instructions a second. */
async function ours(command: readonly string[]): Promise<number> {
  const sink = openSync('/dev/null', 'r+');
  const { counts, elapsedNs } = await countSoft({ command, stdio: [sink, sink, 'inherit'] });
  return counts.iterations! / (Number(elapsedNs) / 1e9);
}

function peer(counter: string, result: string, isPinned: boolean, command: readonly string[]): number {
  const words = [...(isPinned ? ['taskset', '-c', '0'] : []), counter, result, ...command];
  const env = { ...process.env, STEPS_ALONE: '1' };
  spawnSync(words[0]!, words.slice(1), { stdio: ['ignore', 'ignore', 'inherit'], env });
  const [steps, , elapsedNs] = readFileSync(result, 'utf8').trim().split(' ').map(Number);
  return steps! / (elapsedNs! / 1e9);
}

export async function benchStep(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'counterpoint-step-'));
  try {
    const [counter, result, input] = ['counter', 'result', 'input'].map((name) => join(folder, name));
    spawnSync('gcc', ['-O2', '-w', '-o', counter!, COUNTER], { stdio: 'inherit' });
    writeFileSync(input!, 'one and two and three and four and five\n'.repeat(20));
    for (const command of [['true'], ['gzip', '-1', '-c', input!]]) {
      const rounds: { ours: number; pinned: number; free: number }[] = [];
      for (let round = 0; round < PAIRS; round++)
        rounds.push({
          ours: await ours(command),
          pinned: peer(counter!, result!, true, command),
          free: peer(counter!, result!, false, command),
        });
      const rate = (side: 'ours' | 'pinned' | 'free') =>
        Math.round(median(rounds.map((round) => round[side]))).toLocaleString('en-US');
      const ratio = (side: 'pinned' | 'free') =>
        median(rounds.map((round) => round.ours / round[side])).toFixed(2);
      console.log(
        `stepping ${command[0]}: ${rate('ours')} instructions/s; the C loop ${rate('pinned')} on one CPU` +
          ` (${ratio('pinned')} of its rate), ${rate('free')} where the kernel puts it (${ratio('free')})`,
      );
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}
