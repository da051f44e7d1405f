import { closeSync, openSync } from 'node:fs';
import { constants } from 'node:os';
import { isMainThread } from 'node:worker_threads';
import { checked, libc } from './ffi.ts';
import { Fd } from './handles.ts';
import { SysError } from './sys-error.ts';

const dup3 = libc('int dup3(int from, int to, int flags)');
const closeCall = libc('int close(int fd)');

/** asm-generic/fcntl.h; the same on x86-64 and arm64. */
const O_CLOEXEC = 0o2000000;

/**
 * A descriptor that a system call of ours has opened. Node closes those of a worker that is terminated, when
 * no code of the worker runs any more, but only numbers that it gave out itself; and it warns of others that
 * are closed through it. So in a worker the descriptor moves to a number of Node's:
 *
 *   openSync('/dev/null') = 25     perf_event_open() = 26     dup3(26, 25)     close(26)
 */
export function adopt(number: number): Fd {
  if (isMainThread) return new Fd(number);
  try {
    const own = openSync('/dev/null', 'r');
    try {
      checked(dup3(number, own, O_CLOEXEC), 'dup3', { from: number, to: own });
    } catch (error) {
      closeSync(own);
      throw error;
    }
    return new Fd(own);
  } catch (error) {
    if (error instanceof SysError) throw error;
    const { code, errno } = error as NodeJS.ErrnoException;
    if (code !== 'EMFILE' && code !== 'ENFILE') throw error;
    throw new SysError('open', errno === undefined ? constants.errno[code] : -errno, { path: '/dev/null' });
  } finally {
    closeCall(number);
  }
}
