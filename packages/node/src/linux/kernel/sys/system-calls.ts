import { adopt } from './adopt.ts';
import { checked, libc } from './ffi.ts';
import { pageSizeBytes } from './memory-calls.ts';
import { RESOURCES, type SystemCalls } from './sys.ts';
import { syscallNumbers } from './syscall-numbers.ts';

const readCall = libc('long read(int fd, void *buffer, size_t count)');
const prlimitCall = libc('int prlimit(int pid, int resource, void *new_limit, void *old_limit)');
const capgetCall = libc('long syscall(long number, void *header, void *data)');
const pidfdOpenCall = libc('long syscall(long number, int pid, unsigned int flags)');
const clockGettime = libc('int clock_gettime(int clock, void *time)');
const clockGetres = libc('int clock_getres(int clock, void *time)');

const prctlCall = libc(
  'int prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)',
);

const getrusage = libc('int getrusage(int who, void *usage)');
const RUSAGE_CHILDREN = -1;
/** `struct rusage`: two timevals and fourteen longs. */
const RUSAGE_WORDS = 18;

/** linux/prctl.h. */
const PR_CAP_AMBIENT = 47;
const PR_SET_PTRACER = 0x5961_6d61;
const PR_CAP_AMBIENT_CLEAR_ALL = 4;
const CAPABILITY_VERSION_3 = 0x2008_0522;
/** The same number on every architecture (asm-generic/unistd.h). */
const PIDFD_OPEN = 434;
/** RLIM_INFINITY, and what it is here. */
const NO_LIMIT = 0xffff_ffff_ffff_ffffn;

export const systemCalls: SystemCalls = {
  // ssize_t read(int fd, void *buf, size_t count)
  read(fd, into) {
    return checked(readCall(fd.number, into, into.byteLength), 'read', { fd: fd.number });
  },
  // int prlimit(pid_t pid, int resource, const struct rlimit *new_limit, struct rlimit *old_limit)
  resourceLimit(resource) {
    const old = new BigUint64Array(2);
    checked(prlimitCall(0, RESOURCES[resource], null, old), 'prlimit', { resource });
    const [soft, hard] = [...old].map((value) =>
      value === NO_LIMIT ? Number.POSITIVE_INFINITY : Number(value),
    );
    return { soft: soft!, hard: hard! };
  },
  setResourceLimit(resource, { soft, hard }) {
    const words = [soft, hard].map((value) =>
      value === Number.POSITIVE_INFINITY ? NO_LIMIT : BigInt(value),
    );
    checked(prlimitCall(0, RESOURCES[resource], BigUint64Array.from(words), null), 'prlimit', {
      resource,
      soft,
    });
  },
  pageSizeBytes,
  // int capget(cap_user_header_t hdrp, cap_user_data_t datap)
  effectiveCapabilities() {
    const header = Uint32Array.of(CAPABILITY_VERSION_3, 0);
    // Two times { effective, permitted, inheritable }: the low and the high 32 capabilities.
    const data = new Uint32Array(6);
    checked(capgetCall(syscallNumbers().capget, header, data), 'capget', {});
    return (BigInt(data[3]!) << 32n) | BigInt(data[0]!);
  },
  // int prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
  clearAmbientCapabilities() {
    checked(prctlCall(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0), 'prctl', {});
  },
  // int prctl(PR_SET_PTRACER, pid_t pid, 0, 0, 0); it fails without the security module
  // Yama, which then forbids nothing
  allowTracer: (pid) => void prctlCall(PR_SET_PTRACER, pid, 0, 0, 0),
  // int clock_gettime(clockid_t clockid, struct timespec *tp)
  clockNs(clockId) {
    const time = new BigInt64Array(2);
    checked(clockGettime(clockId, time), 'clock_gettime', { clockId });
    return time[0]! * 1_000_000_000n + time[1]!;
  },
  // int clock_getres(clockid_t clockid, struct timespec *res)
  clockResolutionNs(clockId) {
    const time = new BigInt64Array(2);
    checked(clockGetres(clockId, time), 'clock_getres', { clockId });
    return time[0]! * 1_000_000_000n + time[1]!;
  },
  // int pidfd_open(pid_t pid, unsigned int flags); close-on-exec by itself
  pidfdOpen(pid) {
    return adopt(checked(pidfdOpenCall(PIDFD_OPEN, pid, 0), 'pidfd_open', { pid }));
  },
  // int getrusage(int who, struct rusage *usage)
  childrenTimes() {
    const usage = new BigInt64Array(RUSAGE_WORDS);
    checked(getrusage(RUSAGE_CHILDREN, usage), 'getrusage', {});
    return {
      userNs: usage[0]! * 1_000_000_000n + usage[1]! * 1000n,
      systemNs: usage[2]! * 1_000_000_000n + usage[3]! * 1000n,
    };
  },
};
