import { libc } from './ffi.ts';

// int sched_getaffinity(pid_t pid, size_t cpusetsize, cpu_set_t *mask)
const getAffinity = libc('int sched_getaffinity(int tid, size_t size, void *mask)');
// int sched_setaffinity(pid_t pid, size_t cpusetsize, const cpu_set_t *mask)
const setAffinity = libc('int sched_setaffinity(int tid, size_t size, const void *mask)');

/** The kernel's largest number of CPUs (NR_CPUS), a bit for each. */
const MASK_BYTES = 8192 / 8;

/** Where a thread may run, a bit for each CPU; 0: this thread. `null`: there is no such thread. */
export function affinityOf(tid: number): Uint8Array | null {
  const mask = new Uint8Array(MASK_BYTES);
  return Number(getAffinity(tid, MASK_BYTES, mask)) < 0 ? null : mask;
}

/** Says whether it was done: a thread may be gone, or another user's, or have no such CPU. */
export function setAffinityOf(tid: number, mask: Uint8Array): boolean {
  return Number(setAffinity(tid, mask.byteLength, mask)) === 0;
}
