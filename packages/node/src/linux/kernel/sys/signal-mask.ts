import { libc } from './ffi.ts';

const pthreadSigmask = libc('int pthread_sigmask(int how, void *set, void *old)');

const SIG_SETMASK = 2;
/** `sigset_t`: glibc's is the larger one, of 1024 bits. */
const SIGNAL_SET_BYTES = 128;
const EVERY_SIGNAL = new Uint8Array(new ArrayBuffer(SIGNAL_SET_BYTES)).fill(0xff);

/**
 * Run something whose system call would not come to its end among signals; they come afterwards. For this
 * thread, and not for those that nobody can block.
 */
export function withoutSignals<Result>(run: () => Result): Result {
  const before = new Uint8Array(new ArrayBuffer(SIGNAL_SET_BYTES));
  pthreadSigmask(SIG_SETMASK, EVERY_SIGNAL, before);
  try {
    return run();
  } finally {
    pthreadSigmask(SIG_SETMASK, before, null);
  }
}
