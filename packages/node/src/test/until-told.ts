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
