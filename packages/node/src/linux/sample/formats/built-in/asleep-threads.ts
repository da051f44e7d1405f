/** Threads that are off the CPU already, when nobody has seen them leave it: what /proc says of them. */
import { listProcesses, listThreads, processOfThread, readProc } from '../../../kernel/target/index.ts';
import type { FormatTarget } from '../format.ts';

export interface AsleepThread {
  readonly pid: number;
  readonly tid: number;
  /** As /proc has it: `S`, `D`. */
  readonly state: string;
  /** Where in user space it is; null where nobody may know. */
  readonly userIp: bigint | null;
}

/** Flag of a thread of the kernel, in the ninth field of /proc/TID/stat (include/linux/sched.h). */
const PF_KTHREAD = 0x0020_0000;
/** Runs, or waits for a CPU: it will be seen when it leaves. */
const READY = 'R';
const DEAD = /[ZX]/;

/** Of the recording's target; the command has not begun. */
export function* asleepThreads(
  { kind, ids }: Pick<FormatTarget, 'kind' | 'ids'>,
  withKernelThreads: boolean,
): Generator<AsleepThread> {
  if (kind === 'command') return;
  const tids = kind === 'cpus' ? listProcesses().flatMap(listThreads) : ids;
  for (const tid of tids) {
    const pid = processOfThread(tid);
    const found = pid === null ? null : stateOf(tid);
    if (pid === null || found === null || found.state === READY || DEAD.test(found.state)) continue;
    if ((found.flags & PF_KTHREAD) !== 0 && !withKernelThreads) continue;
    yield { pid, tid, state: found.state, userIp: userIp(tid) };
  }
}

/** It has not run since. */
export function isStillAsleep({ tid, state }: AsleepThread): boolean {
  return stateOf(tid)?.state === state;
}

/** `12 (a name) S 1 12 12 0 -1 4194560 …`: a name may have brackets and blanks in it. */
function stateOf(tid: number): { state: string; flags: number } | null {
  const text = readProc(`${tid}/stat`);
  if (text === null) return null;
  const [state = '', ...words] = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return { state, flags: Number(words[5] ?? 0) };
}

/**
 * `232 0x3 … 0x7ffe4fd1c0 0x7fe51a706aec`: the system call with its arguments, the stack, the instruction.
 */
function userIp(tid: number): bigint | null {
  const last = /(0x[0-9a-f]+)\s*$/.exec(readProc(`${tid}/syscall`) ?? '')?.[1];
  return last === undefined || BigInt(last) === 0n ? null : BigInt(last);
}
