/**
 * ioctls on a perf event descriptor: `_IO('$', n)`, and `_IOW`/`_IOR`/`_IOWR` with
 * their sizes on 64-bit kernels.
 */
export const PERF_EVENT_IOC_ENABLE = 0x2400;
export const PERF_EVENT_IOC_DISABLE = 0x2401;
export const PERF_EVENT_IOC_REFRESH = 0x2402;
export const PERF_EVENT_IOC_RESET = 0x2403;
export const PERF_EVENT_IOC_PERIOD = 0x40082404;
export const PERF_EVENT_IOC_SET_OUTPUT = 0x2405;
export const PERF_EVENT_IOC_SET_FILTER = 0x40082406;
export const PERF_EVENT_IOC_ID = 0x80082407;
export const PERF_EVENT_IOC_SET_BPF = 0x40042408;
export const PERF_EVENT_IOC_PAUSE_OUTPUT = 0x40042409;
export const PERF_EVENT_IOC_QUERY_BPF = 0xc008240a;
export const PERF_EVENT_IOC_MODIFY_ATTRIBUTES = 0x4008240b;

/** Argument of ENABLE, DISABLE and RESET: act on the whole group. */
export const PERF_IOC_FLAG_GROUP = 1;

/** Every ioctl by name, for the ledger test of the system call layer. */
export const PERF_IOCTLS: readonly (readonly [string, number])[] = [
  ['ENABLE', PERF_EVENT_IOC_ENABLE],
  ['DISABLE', PERF_EVENT_IOC_DISABLE],
  ['REFRESH', PERF_EVENT_IOC_REFRESH],
  ['RESET', PERF_EVENT_IOC_RESET],
  ['PERIOD', PERF_EVENT_IOC_PERIOD],
  ['SET_OUTPUT', PERF_EVENT_IOC_SET_OUTPUT],
  ['SET_FILTER', PERF_EVENT_IOC_SET_FILTER],
  ['ID', PERF_EVENT_IOC_ID],
  ['SET_BPF', PERF_EVENT_IOC_SET_BPF],
  ['PAUSE_OUTPUT', PERF_EVENT_IOC_PAUSE_OUTPUT],
  ['QUERY_BPF', PERF_EVENT_IOC_QUERY_BPF],
  ['MODIFY_ATTRIBUTES', PERF_EVENT_IOC_MODIFY_ATTRIBUTES],
];

/** Flags of perf_event_open(2). */
export const PERF_FLAG_FD_NO_GROUP = 1;
export const PERF_FLAG_FD_OUTPUT = 2;
export const PERF_FLAG_PID_CGROUP = 4;
export const PERF_FLAG_FD_CLOEXEC = 8;
