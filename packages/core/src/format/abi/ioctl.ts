/**
 * ioctls on a perf event descriptor: `_IO('$', n)`, and `_IOW`/`_IOR`/`_IOWR` with
 * their sizes on 64-bit kernels.
 */

/** Counting starts. Argument: 0 or PERF_IOC_FLAG_GROUP. */
export const PERF_EVENT_IOC_ENABLE = 0x2400;
/** Counting stops; the count stays. Argument: 0 or PERF_IOC_FLAG_GROUP. */
export const PERF_EVENT_IOC_DISABLE = 0x2401;
/** Counting starts, and stops after as many overflows as the argument says. */
export const PERF_EVENT_IOC_REFRESH = 0x2402;
/** The count becomes 0; its times stay. Argument: 0 or PERF_IOC_FLAG_GROUP. */
export const PERF_EVENT_IOC_RESET = 0x2403;
/** Another period, or frequency with `freq`. Argument: pointer to a u64. */
export const PERF_EVENT_IOC_PERIOD = 0x40082404;
/** Records go to the ring of another event. Argument: its descriptor; -1: they are not written. */
export const PERF_EVENT_IOC_SET_OUTPUT = 0x2405;
/** A filter of a tracepoint, or of addresses of a trace. Argument: pointer to text that ends with a zero. */
export const PERF_EVENT_IOC_SET_FILTER = 0x40082406;
/** The kernel's id of the event. Argument: pointer to a u64, which it fills. */
export const PERF_EVENT_IOC_ID = 0x80082407;
/** A BPF program runs at each event. Argument: descriptor of the program. */
export const PERF_EVENT_IOC_SET_BPF = 0x40042408;
/** The ring takes no records (argument 1), or takes them again (0). */
export const PERF_EVENT_IOC_PAUSE_OUTPUT = 0x40042409;
/** Ids of the BPF programs on a tracepoint. Argument: pointer to a `perf_event_query_bpf`, which it fills. */
export const PERF_EVENT_IOC_QUERY_BPF = 0xc008240a;
/** Another attr for a breakpoint. Argument: pointer to a `perf_event_attr`. */
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

/** Flag of perf_event_open(2): the group descriptor is for FD_OUTPUT alone. */
export const PERF_FLAG_FD_NO_GROUP = 1;
/** Flag of perf_event_open(2): records go to the ring of the group's leader. Broken since Linux 2.6.35. */
export const PERF_FLAG_FD_OUTPUT = 2;
/** Flag of perf_event_open(2): `pid` is a descriptor of a cgroup directory; the event is of one CPU. */
export const PERF_FLAG_PID_CGROUP = 4;
/** Flag of perf_event_open(2): execve(2) closes the descriptor. */
export const PERF_FLAG_FD_CLOEXEC = 8;
