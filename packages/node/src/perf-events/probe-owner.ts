import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/**
 * Who made a probe in tracefs, in the name of its group, so that the next run can tell what was left behind:
 *
 *   counterpoint_4711_88213_4026531836
 *                pid  start time (clock ticks since boot)
 *                           PID namespace
 */
export interface ProbeOwner {
  readonly pid: number;
  readonly startTicks: string;
  readonly namespace: string;
}

const PREFIX = 'counterpoint';
const GROUP = new RegExp(`^${PREFIX}_(\\d{1,10})_(\\d{1,20})_(\\d{1,10})$`);

/** PROC_PID_INIT_INO of linux/proc_ns.h: who is in it sees every process. */
const FIRST_NAMESPACE = '4026531836';

export function groupOf({ pid, startTicks, namespace }: ProbeOwner): string {
  return `${PREFIX}_${pid}_${startTicks}_${namespace}`;
}

/** Null for a group that somebody else made. */
export function ownerOf(group: string): ProbeOwner | null {
  const match = GROUP.exec(group);
  return match === null ? null : { pid: Number(match[1]), startTicks: match[2]!, namespace: match[3]! };
}

let own: ProbeOwner | null = null;

export function thisOwner(): ProbeOwner {
  own ??= { pid: process.pid, startTicks: startTicks('self') ?? '0', namespace: namespaceOf('self') ?? '0' };
  return own;
}

/**
 * Of one group are all threads of a process, and there may be several copies of this
 * library: chance keeps them apart.
 */
export function newProbeName(): string {
  return `p${randomBytes(6).toString('hex')}`;
}

/** Whether the process has ended. Where that cannot be known it has not. */
export function hasEnded({ pid, startTicks: start, namespace }: ProbeOwner): boolean {
  const { namespace: ours } = thisOwner();
  if (namespace === ours) return startTicks(String(pid)) !== start;
  // A container's processes are seen from outside, under other numbers: only that none is left can be told.
  return ours === FIRST_NAMESPACE && !processes().some((each) => namespaceOf(each) === namespace);
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

function namespaceOf(pid: string): string | null {
  try {
    return /\d+/.exec(readlinkSync(`/proc/${pid}/ns/pid`))?.[0] ?? null;
  } catch {
    return null;
  }
}
