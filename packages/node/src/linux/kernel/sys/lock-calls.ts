import { lastErrno, libc } from './ffi.ts';
import type { LockCalls } from './sys.ts';
import { SysError } from './sys-error.ts';

const flockCall = libc('int flock(int fd, int operation)');

// asm-generic/fcntl.h
const LOCK_EX = 2;
const LOCK_NB = 4;
const EWOULDBLOCK = 11;

export const lockCalls: LockCalls = {
  // int flock(int fd, int operation)
  tryLock(fd) {
    if (Number(flockCall(fd.number, LOCK_EX | LOCK_NB)) === 0) return true;
    if (lastErrno() === EWOULDBLOCK) return false;
    throw new SysError('flock', lastErrno(), { fd: fd.number });
  },
};
