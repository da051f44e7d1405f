import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/**
 * Who made something that outlives a process that is killed (a temporary directory, a probe in tracefs), in
 * its name, so that the next run can tell what was left behind:
 *
 *   counterpoint_4711_88213_4026531836
 *                pid  start time (clock ticks since boot)
 *                           PID namespace
 */
export interface Owner {
  readonly pid: number;
  readonly startTicks: string;
  readonly namespace: string;
}

const PREFIX = 'counterpoint';
const GROUP = new RegExp(`^${PREFIX}_(\\d{1,10})_(\\d{1,20})_(\\d{1,10})$`);

/** PROC_PID_INIT_INO of linux/proc_ns.h: who is in it sees every process. */
const FIRST_NAMESPACE = '4026531836';

export function groupOf({ pid, startTicks, namespace }: Owner): string {
  return `${PREFIX}_${pid}_${startTicks}_${namespace}`;
}

/** Null for a name that somebody else gave. */
export function ownerOf(group: string): Owner | null {
  const match = GROUP.exec(group);
  return match === null ? null : { pid: Number(match[1]), startTicks: match[2]!, namespace: match[3]! };
}

let own: Owner | null = null;

export function thisOwner(): Owner {
  own ??= { pid: process.pid, startTicks: startTicks('self') ?? '0', namespace: namespaceOf('self') ?? '0' };
  return own;
}

/** Whether the process has ended. Where that cannot be known it has not. */
export function hasEnded({ pid, startTicks: start, namespace }: Owner): boolean {
  const { namespace: ours } = thisOwner();
  if (namespace === ours) return isGone(pid) || isAnother(String(pid), start);
  // A container's processes are seen from outside, under other numbers: only that none is left can be told.
  return (
    ours === FIRST_NAMESPACE && seesAll() && !processes().some((each) => namespaceOf(each) === namespace)
  );
}

/** By a signal that is none: /proc may hide a process of this user, too (hidepid). */
function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}

/**
 * The number was given again. In another time namespace all processes seem to have started at other times.
 */
function isAnother(pid: string, start: string): boolean {
  const found = startTicks(pid);
  if (found === null || found === start) return false;
  const ours = namespaceOf('self', 'time');
  return ours === null || namespaceOf(pid, 'time') === ours;
}

/** Who may look at the first process may look at every other. */
function seesAll(): boolean {
  return namespaceOf('1') !== null;
}

function processes(): string[] {
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name));
}

/** Field 22 of /proc/PID/stat; null for no process. The name in field 2 may have anything in it. */
function startTicks(pid: string): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null;
  } catch {
    return null;
  }
}

/** Null where it may not be seen, or the kernel has none. */
function namespaceOf(pid: string, kind: 'pid' | 'time' = 'pid'): string | null {
  try {
    return /\d+/.exec(readlinkSync(`/proc/${pid}/ns/${kind}`))?.[0] ?? null;
  } catch {
    return null;
  }
}
