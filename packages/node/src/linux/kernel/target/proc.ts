import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { CounterpointError } from '@counterpoint/core/base';

/**
 * What /proc says of processes. A process may end at any moment, even between two reads: what is gone reads
 * as null or as nothing, never as an error.
 */

/** The text of a file under /proc, or null where it is gone or forbidden. */
export function readProc(path: string): string | null {
  try {
    return readFileSync(`/proc/${path}`, 'utf8');
  } catch {
    return null;
  }
}

export function readProcLink(path: string): string | null {
  try {
    return readlinkSync(`/proc/${path}`);
  } catch {
    return null;
  }
}

function numbersIn(path: string): number[] {
  try {
    return readdirSync(path)
      .filter((name) => name.charCodeAt(0) >= 0x30 && name.charCodeAt(0) <= 0x39)
      .map(Number)
      .sort((a, b) => a - b);
  } catch {
    return [];
  }
}

/** Every process that is visible. */
export function listProcesses(): number[] {
  return numbersIn('/proc');
}

/** Those that run now with the rights of this user: its effective number. */
export function listProcessesOf(uid: number): number[] {
  return listProcesses().filter((pid) => {
    const ids = /^Uid:\s*\d+\s+(\d+)/m.exec(readProc(`${pid}/status`) ?? '');
    return ids !== null && Number(ids[1]) === uid;
  });
}

/** Threads of a process, itself among them; empty when it is gone. */
export function listThreads(pid: number): number[] {
  return numbersIn(`/proc/${pid}/task`);
}

/** Children of all threads of a process. */
export function childrenOf(pid: number): number[] {
  return listThreads(pid).flatMap((tid) =>
    (readProc(`${pid}/task/${tid}/children`) ?? '').split(' ').filter(Boolean).map(Number),
  );
}

/**
 * The number of the task that was made last, by whomever (/proc/loadavg). Numbers rise, and begin
 * again at kernel.pid_max.
 */
export function newestTask(): number {
  return Number(readProc('loadavg')?.trim().split(' ').pop() ?? 0);
}

export interface TaskFacts {
  tid: number;
  /** The process. */
  pid: number;
  parentPid: number;
  name: string;
}

/**
 * Facts of a task from its `stat`: `123 (name, maybe with ) and spaces) S PPID ...`. Null when it is gone.
 */
export function readTask(pid: number, tid: number): TaskFacts | null {
  const stat = readProc(`${pid}/task/${tid}/stat`);
  if (stat === null) return null;
  const nameEnd = stat.lastIndexOf(')');
  const name = stat.slice(stat.indexOf('(') + 1, nameEnd);
  return { tid, pid, parentPid: Number(stat.slice(nameEnd + 2).split(' ')[1]), name };
}

/** The process that a thread belongs to, or null when there is no such thread. */
export function processOfThread(tid: number): number | null {
  const status = readProc(`${tid}/status`);
  const match = status === null ? null : /^Tgid:\s*(\d+)/m.exec(status);
  return match === null ? null : Number(match[1]);
}

/** Throws where there is no process `pid`. */
export function requireProcess(pid: number): void {
  if (listThreads(pid).length > 0 && processOfThread(pid) === pid) return;
  const owner = processOfThread(pid);
  if (owner !== null && owner !== pid) {
    throw new CounterpointError(
      'ERR_NO_PROCESS',
      `${pid} is a thread of process ${owner}, not a process`,
      `Record the thread with -t ${pid}, or the process with -p ${owner}.`,
    );
  }
  throw new CounterpointError('ERR_NO_PROCESS', `there is no process ${pid}`, 'List processes with ps -e.');
}

/** Throws where there is no thread `tid`. Gives its process. */
export function requireThread(tid: number): number {
  const pid = processOfThread(tid);
  if (pid !== null) return pid;
  throw new CounterpointError('ERR_NO_PROCESS', `there is no thread ${tid}`, 'List threads with ps -eL.');
}

/** CPU lists as the kernel writes them: `0-3,8`. */
export function parseCpuList(text: string): number[] {
  const cpus: number[] = [];
  for (const piece of text.trim().split(',')) {
    if (piece === '') continue;
    const [from = 0, to = from] = piece.split('-').map(Number);
    for (let cpu = from; cpu <= to; cpu++) cpus.push(cpu);
  }
  return cpus;
}

/** CPUs that are online. */
export function onlineCpus(): number[] {
  try {
    return parseCpuList(readFileSync('/sys/devices/system/cpu/online', 'utf8'));
  } catch {
    return parseCpuList(`0-${(readProc('cpuinfo')?.match(/^processor\s*:/gm)?.length ?? 1) - 1}`);
  }
}
