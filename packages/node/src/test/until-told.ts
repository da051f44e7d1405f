import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readlinkSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

const LOOK_MS = 20;
/** 60 s: for what always comes, however busy the machine is. */
const MOST_LOOKS = 3000;

/** A process that does nothing until it is told to end: no length of sleep fits every machine. */
export function waiting(): { pid: number; end: () => void; child: ChildProcess } {
  const child = spawn('cat', { stdio: ['pipe', 'ignore', 'ignore'] });
  return { pid: child.pid!, end: () => child.stdin.end(), child };
}

/** Look again and again until `isSo`, or for a minute; says whether it came. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<boolean> {
  for (let looks = 0; looks < MOST_LOOKS; looks++) {
    if (await isSo()) return true;
    await delay(LOOK_MS);
  }
  return isSo();
}

/** Whether a process has perf events open now. */
export function hasEvents(pid: number): boolean {
  try {
    const folder = `/proc/${pid}/fd`;
    return readdirSync(folder).some((fd) => readlinkSync(`${folder}/${fd}`).includes('perf_event'));
  } catch {
    // A descriptor that was closed meanwhile.
    return false;
  }
}

/** So many additions take some 20 µs, beside which a look at the CPU time is little. */
const TURNS_PER_LOOK = 20_000;

/**
 * Run for so many milliseconds of this process's CPU time, however many others want the CPU: that is what a
 * least number of samples, or a share of them, is of. On a busy machine it takes longer. Time of all threads
 * counts: where others work, too, this one gets less. `work` is what is done again and again, between two
 * looks at the CPU time: it should take far longer than a look, which is a few microseconds.
 */
export function spinCpu(ms: number, work: () => unknown = someTurns): void {
  const before = process.cpuUsage();
  for (;;) {
    work();
    const { user, system } = process.cpuUsage(before);
    if (user + system >= 1000 * ms) return;
  }
}

function someTurns(): number {
  let sum = 0;
  for (let turn = 0; turn < TURNS_PER_LOOK; turn++) sum = (sum * 31 + turn) | 0;
  return sum;
}

/**
 * The same `spinCpu`, as text for a program that a test starts: `node -e`, or a file. It is one line without
 * quotes, so that a shell's quotes may stand around it. What should be hot is `work`, or calls it.
 */
export const SPIN_CPU_SOURCE = [
  'function spinCpu(ms, work = someTurns) {',
  'const before = process.cpuUsage();',
  'for (;;) { work(); const { user, system } = process.cpuUsage(before); if (user + system >= 1000 * ms) return; }',
  '}',
  `function someTurns() { let sum = 0; for (let turn = 0; turn < ${TURNS_PER_LOOK}; turn++) sum = (sum * 31 + turn) | 0; return sum; }`,
  '',
].join(' ');
