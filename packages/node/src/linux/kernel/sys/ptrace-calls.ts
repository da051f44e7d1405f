import { checked, lastErrno, libc } from './ffi.ts';

/**
 * ptrace(2) and what a tracer needs beside it. The kernel answers only the thread that attached, so all of
 * these are for one thread of a process of its own.
 */

// long ptrace(enum __ptrace_request op, pid_t pid, void *addr, void *data)
const ptraceWord = libc('long ptrace(int request, int tid, size_t address, size_t data)');
const ptraceInto = libc('long ptrace(int request, int tid, size_t address, void *data)');
const ptraceFrom = libc('long ptrace(int request, int tid, void *address, void *data)');
// pid_t waitpid(pid_t pid, int *wstatus, int options)
const waitpid = libc('int waitpid(int pid, void *status, int options)');
// ssize_t pread(int fd, void *buf, size_t count, off_t offset)
const pread = libc('long pread(int fd, void *buffer, size_t count, long offset)');
const prctl = libc(
  'int prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)',
);
const siginterrupt = libc('int siginterrupt(int signal, int flag)');
const setitimer = libc('int setitimer(int which, const void *value, void *old)');
const pollCall = libc('int poll(void *descriptors, unsigned long count, int timeout)');

/** linux/ptrace.h. */
const PTRACE_POKEUSER = 6;
const PTRACE_CONT = 7;
const PTRACE_SINGLESTEP = 9;
const PTRACE_GETREGS = 12;
const PTRACE_DETACH = 17;
const PTRACE_GETEVENTMSG = 0x4201;
const PTRACE_GETSIGINFO = 0x4202;
const PTRACE_SEIZE = 0x4206;
const PTRACE_INTERRUPT = 0x4207;
const PTRACE_LISTEN = 0x4208;
const PTRACE_PEEKSIGINFO = 0x4209;
/** asm-generic/siginfo.h. */
const SIGINFO_BYTES = 128;
const MOST_PENDING = 32;
const WALL = 0x4000_0000;
const PR_SET_PDEATHSIG = 1;
const ITIMER_REAL = 0;
const POLLIN = 1;
const POLLOUT = 4;

const siginfo = new Int32Array(SIGINFO_BYTES / 4);
const pending = new Int32Array((SIGINFO_BYTES / 4) * MOST_PENDING);
const eventMessage = new BigUint64Array(1);
const waitStatus = new Int32Array(1);

/** Attach without stopping it; `options` are PTRACE_O_*. */
export function ptraceSeize(tid: number, options: number): void {
  checked(ptraceWord(PTRACE_SEIZE, tid, 0, options), 'ptrace', { request: 'PTRACE_SEIZE', tid });
}

/** These say whether it was done: a thread that was killed meanwhile is no tracee any more (ESRCH). */
export const ptraceStep = (tid: number, signal: number): boolean =>
  Number(ptraceWord(PTRACE_SINGLESTEP, tid, 0, signal)) === 0;
export const ptraceContinue = (tid: number, signal: number): boolean =>
  Number(ptraceWord(PTRACE_CONT, tid, 0, signal)) === 0;
export const ptraceInterrupt = (tid: number): boolean =>
  Number(ptraceWord(PTRACE_INTERRUPT, tid, 0, 0)) === 0;
/** Leaves it in its group stop, and hears when that ends. */
export const ptraceListen = (tid: number): boolean => Number(ptraceWord(PTRACE_LISTEN, tid, 0, 0)) === 0;
export const ptraceDetach = (tid: number, signal: number): boolean =>
  Number(ptraceWord(PTRACE_DETACH, tid, 0, signal)) === 0;

/** struct user_regs_struct (sys/user.h) as 32-bit halves. */
export const ptraceRegisters = (tid: number, into: Uint32Array): boolean =>
  Number(ptraceInto(PTRACE_GETREGS, tid, 0, into)) === 0;

/** `si_code` of the signal that stopped it; `null` when it is gone or in a group stop. */
export function ptraceSignalCode(tid: number): number | null {
  return Number(ptraceInto(PTRACE_GETSIGINFO, tid, 0, siginfo)) === 0 ? siginfo[2]! : null;
}

/** What belongs to the event: the new thread, or the thread that called exec. */
export function ptraceEventMessage(tid: number): number {
  return Number(ptraceInto(PTRACE_GETEVENTMSG, tid, 0, eventMessage)) === 0 ? Number(eventMessage[0]) : 0;
}

/** Whether `signal` waits to be delivered to this very thread. */
export function isSignalPending(tid: number, signal: number): boolean {
  return pendingSignalCode(tid, signal) !== null;
}

/** `si_code` of a signal that waits to be delivered to this very thread; null: it does not. */
export function pendingSignalCode(tid: number, signal: number): number | null {
  // struct ptrace_peeksiginfo_args { u64 off; u32 flags; s32 nr; }
  const request = Int32Array.of(0, 0, 0, MOST_PENDING);
  const count = Number(ptraceFrom(PTRACE_PEEKSIGINFO, tid, request, pending));
  for (let index = 0; index < count; index++)
    if (pending[(index * SIGINFO_BYTES) / 4] === signal) return pending[(index * SIGINFO_BYTES) / 4 + 2]!;
  return null;
}

/** The next tracee that stopped or ended, `null` when a signal came first; tid 0: there are none any more. */
export function waitForTracee(tid = -1): { tid: number; status: number } | null {
  const EINTR = 4;
  const found = Number(waitpid(tid, waitStatus, WALL));
  if (found > 0) return { tid: found, status: waitStatus[0]! };
  return lastErrno() === EINTR ? null : { tid: 0, status: 0 };
}

/** Bytes of another process's memory, by a descriptor of its /proc/PID/mem; how many could be read. */
export function readTargetMemory(fd: number, address: number, into: Uint8Array): number {
  return Math.max(0, Number(pread(fd, into, into.byteLength, address)));
}

/** This process gets `signal` when the thread that started it has ended. An exec clears it. */
export function setParentDeathSignal(signal: number): void {
  checked(prctl(PR_SET_PDEATHSIG, signal, 0, 0, 0), 'prctl', { option: 'PR_SET_PDEATHSIG', signal });
}

/** `signal`, which has a handler, interrupts system calls from now on, and comes every `intervalMs`. */
export function interruptCallsEvery(signal: number, intervalMs: number): void {
  checked(siginterrupt(signal, 1), 'siginterrupt', { signal });
  const [seconds, microseconds] = [Math.floor(intervalMs / 1000), (intervalMs % 1000) * 1000];
  const interval = [BigInt(seconds), BigInt(microseconds)];
  checked(setitimer(ITIMER_REAL, BigInt64Array.from([...interval, ...interval]), null), 'setitimer', {});
}

/** There is something to read, or the other end is closed. Does not wait. */
export function isReadable(fd: number): boolean {
  return Number(pollCall(Int32Array.of(fd, POLLIN), 1, 0)) > 0;
}

/** There is room to write, or nobody reads any more; or the time is over. */
export function waitUntilWritable(fd: number, timeoutMs: number): void {
  pollCall(Int32Array.of(fd, POLLOUT), 1, timeoutMs);
}

/** offsetof(struct user, u_debugreg) of x86-64 (sys/user.h). */
const DEBUG_REGISTERS = 848;
const DR7 = DEBUG_REGISTERS + 7 * 8;
/** Debug register 0, for this task, at execution. */
const BREAK_AT_FIRST = 1;
const ESRCH = 3;

/**
 * A stopped thread stops before the instruction at `address`, by a debug register; 0: nowhere any more.
 * False: there is no register for it. A thread that is gone has nothing to say.
 */
export function ptraceBreakAt(tid: number, address: number): boolean {
  const poke = (offset: number, value: number): boolean =>
    Number(ptraceWord(PTRACE_POKEUSER, tid, offset, value)) === 0 || lastErrno() === ESRCH;
  if (!poke(DR7, 0)) return false;
  return address === 0 || (poke(DEBUG_REGISTERS, address) && poke(DR7, BREAK_AT_FIRST));
}
