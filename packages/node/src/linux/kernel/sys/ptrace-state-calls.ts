import { libc } from './ffi.ts';

/** ptrace(2) where a tracer changes what it traces. */

const ptraceWord = libc('long ptrace(int request, int tid, size_t address, size_t data)');
const ptraceInto = libc('long ptrace(int request, int tid, size_t address, void *data)');
// ssize_t pwrite(int fd, const void *buf, size_t count, off_t offset)
const pwrite = libc('long pwrite(int fd, const void *buffer, size_t count, long offset)');

/** linux/ptrace.h. */
const PTRACE_SETREGS = 13;
const PTRACE_GETSIGINFO = 0x4202;
const PTRACE_SETSIGINFO = 0x4203;
const PTRACE_SYSCALL = 24;
const PTRACE_GETSIGMASK = 0x420a;
const PTRACE_SETSIGMASK = 0x420b;
/** Of the kernel's sigset_t. */
const SIGNAL_MASK_BYTES = 8;
/** asm-generic/siginfo.h, in 32-bit words. */
export const SIGINFO_WORDS = 32;

/** struct user_regs_struct as 32-bit halves. */
export const ptraceSetRegisters = (tid: number, from: Uint32Array): boolean =>
  Number(ptraceInto(PTRACE_SETREGS, tid, 0, from)) === 0;

/** siginfo_t of the signal that stopped it, of SIGINFO_WORDS. */
export const ptraceSignalInfo = (tid: number, into: Int32Array): boolean =>
  Number(ptraceInto(PTRACE_GETSIGINFO, tid, 0, into)) === 0;
export const ptraceSetSignalInfo = (tid: number, from: Int32Array): boolean =>
  Number(ptraceInto(PTRACE_SETSIGINFO, tid, 0, from)) === 0;

/** Runs on to the beginning or end of its next system call. */
export const ptraceToCall = (tid: number, signal: number): boolean =>
  Number(ptraceWord(PTRACE_SYSCALL, tid, 0, signal)) === 0;

/** The signals that it blocks, a bit each from signal 1 on; `null` when it is gone. */
export function ptraceSignalMask(tid: number): Uint8Array | null {
  const mask = new Uint8Array(SIGNAL_MASK_BYTES);
  return Number(ptraceInto(PTRACE_GETSIGMASK, tid, SIGNAL_MASK_BYTES, mask)) === 0 ? mask : null;
}
export const ptraceSetSignalMask = (tid: number, mask: Uint8Array): boolean =>
  Number(ptraceInto(PTRACE_SETSIGMASK, tid, SIGNAL_MASK_BYTES, mask)) === 0;

/** Bytes into another process's memory, also where it may not write itself. How many were written. */
export function writeTargetMemory(fd: number, address: number, bytes: Uint8Array): number {
  return Math.max(0, Number(pwrite(fd, bytes, bytes.byteLength, address)));
}
