import { readFileSync, readlinkSync, statSync } from 'node:fs';

/** What a process of the recording sees of files and pids, if it still runs. */
export interface ProcessView {
  /** Path of its root directory, `/proc/PID/root`, or empty where it sees the same files as we do. */
  root: string;
  /** Its pid in its own pid namespace. */
  ownPid: number;
  /** Its user, or -1. */
  uid: number;
}

/** Null where there is no such process (any more). */
export function viewOfProcess(pid: number, procDir = '/proc'): ProcessView | null {
  if (!Number.isInteger(pid) || pid <= 0) return null;
  const directory = `${procDir}/${pid}`;
  let status: string;
  let uid: number;
  try {
    status = readFileSync(`${directory}/status`, 'utf8');
    uid = statSync(directory).uid;
  } catch {
    return null;
  }
  // "NSpid:	4711	12": one pid per namespace, from ours inwards. Missing before Linux 4.1.
  const pids = /^NSpid:\s+(.+)$/m.exec(status)?.[1]?.trim().split(/\s+/) ?? [];
  const ownPid = Number(pids.at(-1) ?? pid);
  return { root: seesOtherFiles(directory, procDir) ? `${directory}/root` : '', ownPid, uid };
}

function seesOtherFiles(directory: string, procDir: string): boolean {
  try {
    if (readlinkSync(`${directory}/ns/mnt`) !== readlinkSync(`${procDir}/self/ns/mnt`)) return true;
    return readlinkSync(`${directory}/root`) !== readlinkSync(`${procDir}/self/root`);
  } catch {
    // Another user's process: what it sees is not for us to know, nor to read.
    return false;
  }
}
