import { adopt } from './adopt.ts';
import { checked, libc } from './ffi.ts';
import { withoutSignals } from './signal-mask.ts';
import type { ThreadCalls } from './sys.ts';
import { SysError } from './sys-error.ts';

const pthreadCreate = libc('int pthread_create(void *thread, void *attributes, void *start, void *argument)');
const pthreadJoin = libc('int pthread_join(unsigned long thread, void *result)');
const pthreadSetschedparam = libc(
  'int pthread_setschedparam(unsigned long thread, int policy, const void *parameters)',
);
const eventfdCall = libc('int eventfd(unsigned int initial, int flags)');
const pipe2 = libc('int pipe2(void *descriptors, int flags)');
const fcntlCall = libc('int fcntl(int fd, int command, long argument)');
const closeCall = libc('int close(int fd)');
const writeCall = libc('long write(int fd, const void *buffer, size_t count)');

/** linux/sched.h. */
const SCHED_FIFO = 1;
/** asm-generic/fcntl.h; the same on x86-64 and arm64. EFD_ has the same values. */
const O_NONBLOCK = 0o4000;
const O_CLOEXEC = 0o2000000;
const F_DUPFD_CLOEXEC = 1030;

export const threadCalls: ThreadCalls = {
  // int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *),
  // void *arg); it gives an errno
  startThread(code, argument) {
    const thread = new BigUint64Array(1);
    // The new thread inherits the mask: no signal of the process is ever handled on it.
    const errno = withoutSignals(() => Number(pthreadCreate(thread, null, code.address, argument)));
    if (errno !== 0) throw new SysError('pthread_create', errno);
    return thread[0]!;
  },
  // int pthread_join(pthread_t thread, void **retval)
  joinThread: (thread) => void pthreadJoin(thread, null),
  // int pthread_setschedparam(pthread_t thread, int policy, const struct
  // sched_param *param); it gives an errno
  setRealtime(thread, priority) {
    const errno = Number(pthreadSetschedparam(thread, SCHED_FIFO, Int32Array.of(priority)));
    if (errno !== 0) throw new SysError('pthread_setschedparam', errno, { policy: 'SCHED_FIFO', priority });
  },
  // int eventfd(unsigned int initval, int flags)
  eventFd: () => adopt(checked(eventfdCall(0, O_CLOEXEC | O_NONBLOCK), 'eventfd', {})),
  // int pipe2(int pipefd[2], int flags)
  pipe() {
    const ends = new Int32Array(2);
    checked(pipe2(ends, O_CLOEXEC), 'pipe2', {});
    return { readEnd: ends[0]!, writeEnd: adopt(ends[1]!) };
  },
  // int fcntl(int fd, int cmd, ... /* arg */)
  duplicate: (fd) => checked(fcntlCall(fd, F_DUPFD_CLOEXEC, 0), 'fcntl', { fd }),
  // int close(int fd)
  closeNumber: (number) => void closeCall(number),
  // ssize_t write(int fd, const void *buf, size_t count)
  write: (fd, bytes) => checked(writeCall(fd.number, bytes, bytes.byteLength), 'write', { fd: fd.number }),
};
