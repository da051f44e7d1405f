import { setImmediate } from 'node:timers/promises';
import { type Fd, type Sys, SysError } from '../../kernel/sys/index.ts';

/** linux/time.h; the clock of all times of a run. */
export const CLOCK_MONOTONIC = 1;
/** So long a command is young: what Node does late is then much beside what it takes. */
const YOUNG_MS = 100;
/** So long this thread is blocked at a time; signals and timers wait as long. */
const BLOCK_MS = 10;

/**
 * When a young command ended. Node tells of it through its event loop, which may be late by more than such
 * a command takes, because it runs code for the first time just then. So this waits in the kernel, and
 * looks at the clock as it wakes.
 */
export class CommandEnd implements Disposable {
  readonly #sys: Sys;
  readonly #pidfd: Fd | null;
  endNs: bigint | null = null;

  constructor(sys: Sys, pid: number) {
    this.#sys = sys;
    this.#pidfd = openProcess(sys, pid);
    // The first call of each function takes long.
    this.#hasEnded(0);
  }

  /** Returns when the command has ended, when it is young no longer, or soon after `stop`. */
  async whileYoung(stop: Promise<unknown>): Promise<void> {
    let isStopped = this.#pidfd === null;
    void stop.then(() => {
      isStopped = true;
    });
    for (let waitedMs = 0; waitedMs < YOUNG_MS && !isStopped; waitedMs += BLOCK_MS) {
      if (this.#hasEnded(BLOCK_MS)) return;
      await setImmediate();
    }
  }

  #hasEnded(timeoutMs: number): boolean {
    const hasEnded = this.#pidfd !== null && this.#sys.waitReadable(this.#pidfd, timeoutMs);
    const now = this.#sys.clockNs(CLOCK_MONOTONIC);
    if (hasEnded) this.endNs = now;
    return hasEnded;
  }

  [Symbol.dispose](): void {
    this.#pidfd?.close();
  }
}

/** Null where the kernel has no such descriptors, or a sandbox refuses them. */
function openProcess(sys: Sys, pid: number): Fd | null {
  try {
    return sys.pidfdOpen(pid);
  } catch (error) {
    if (error instanceof SysError) return null;
    throw error;
  }
}
