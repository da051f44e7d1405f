import { readProc } from '../../../kernel/target/index.ts';

/** Numbers of epoll_wait (where there is one), epoll_pwait and epoll_pwait2 (asm/unistd.h). */
const EPOLL_CALLS: Readonly<Record<string, readonly number[]>> = {
  x64: [232, 281, 441],
  arm64: [22, 441],
};

/**
 * Where the main thread of a process is. `running`: not blocked, so nobody can say; `hidden`: this user
 * may not know, or the kernel does not say it.
 */
export type Whereabouts = 'waiting' | 'elsewhere' | 'running' | 'hidden' | 'gone';

export function whereIsMainThread(pid: number): Whereabouts {
  const call = readProc(`${pid}/syscall`);
  if (call === null) return readProc(`${pid}/stat`) === null ? 'gone' : 'hidden';
  if (call.startsWith('running')) return 'running';
  return EPOLL_CALLS[process.arch]?.includes(Number.parseInt(call, 10)) === true ? 'waiting' : 'elsewhere';
}

/**
 * How long the main thread has had a CPU, as far as the kernel has counted it; null where it does not say.
 */
export function mainThreadCpuNs(pid: number): number | null {
  const ns = Number.parseInt(readProc(`${pid}/schedstat`) ?? '', 10);
  return Number.isNaN(ns) ? null : ns;
}
