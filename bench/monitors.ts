/**
 * What several monitors of one target cost it, and each other: its own time with none, one, two and four
 * recordings at 4 kHz with call chains, of Counterpoint and of perf.
 *
 *   npm run bench monitors
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { median } from './measure.ts';
import { COUNTERPOINT } from './recording.ts';

const NUMBERS = [1, 2, 4];
const ROUNDS = 5;
const FREQUENCY_HZ = 4000;
/** Until all of them record. */
const SETTLE_MS = 1500;
/** Waits for a line, works, and says its time in microseconds. */
const WORK = `process.stdin.once('data', () => {
  const before = process.cpuUsage();
  let x = 0;
  for (let i = 0; i < 4e8; i++) x = (x * 31 + i) | 0;
  const { user, system } = process.cpuUsage(before);
  console.log(user + system);
  process.exit();
});`;

/** Microseconds of the target's CPU time while so many recorders watch it. */
async function timeOf(recorder: readonly string[], number: number, folder: string): Promise<number> {
  const target = spawn(process.execPath, ['-e', WORK], { stdio: ['pipe', 'pipe', 'inherit'] });
  const watching: ChildProcess[] = [];
  for (let one = 0; one < number; one++) {
    const words = ['record', '-g', '-e', 'cpu-clock', '-F', `${FREQUENCY_HZ}`, '-p', `${target.pid}`];
    const [program, ...before] = recorder;
    watching.push(
      spawn(program!, [...before, ...words, '-o', join(folder, `${one}.data`)], { stdio: 'ignore' }),
    );
  }
  await sleep(SETTLE_MS);
  target.stdin.write('go\n');
  const [text] = await once(target.stdout, 'data');
  // They end with their target.
  await Promise.all(watching.map((one) => (one.exitCode === null ? once(one, 'exit') : null)));
  return Number(text);
}

export async function benchMonitors(): Promise<void> {
  console.log(`several monitors of one target, each at ${FREQUENCY_HZ} Hz with call chains`);
  const folder = mkdtempSync(join(tmpdir(), 'counterpoint-bench-'));
  try {
    for (const number of NUMBERS) {
      const rounds: number[][] = [];
      for (let round = 0; round < ROUNDS; round++)
        rounds.push([
          await timeOf([], 0, folder),
          await timeOf([COUNTERPOINT], number, folder),
          await timeOf(['perf'], number, folder),
        ]);
      const [ours, theirs] = [1, 2].map((side) => median(rounds.map((round) => round[side]! / round[0]!)));
      console.log(
        `  ${number}: the target takes ${ours!.toFixed(3)} of its time alone, with as many of perf ${theirs!.toFixed(3)}`,
      );
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}
