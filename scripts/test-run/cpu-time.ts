/** What a test file costs: its seconds depend on its neighbours, its CPU time hardly does. */
import { readFileSync } from 'node:fs';

/** Fields of /proc/self/stat after the name of the command, counted from 0: man 5 proc. */
const CHILDREN_USER_TICKS = 13;
const CHILDREN_SYSTEM_TICKS = 14;
/** USER_HZ of every architecture that Node runs on. */
const TICKS_PER_SECOND = 100;

let told = 0;

/**
 * CPU time of the children that ended since the last call, with all that they started and waited for. Of
 * two files that run at one time, each is told of by itself, because a child counts once it has ended.
 */
export function childrenCpuSeconds(): number | null {
  const now = endedChildrenTicks();
  if (now === null) return null;
  const ticks = now - told;
  told = now;
  return ticks / TICKS_PER_SECOND;
}

function endedChildrenTicks(): number | null {
  try {
    const fields = readFileSync('/proc/self/stat', 'latin1')
      .replace(/^.*\) /s, '')
      .split(' ');
    return Number(fields[CHILDREN_USER_TICKS]) + Number(fields[CHILDREN_SYSTEM_TICKS]);
  } catch {
    return null;
  }
}
