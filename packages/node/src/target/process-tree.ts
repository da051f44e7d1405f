import { readProc, readProcLink } from './proc.ts';

/** Node needs longer than this to start. */
const SHORTEST_INTERVAL_MS = 20;
const LONGEST_INTERVAL_MS = 500;
/** Looking takes at most this share of a thread. */
const MOST_SHARE = 0.05;
const MOST_PROCESSES = 4096;

/**
 * The processes below one, and the programs that they run, as they come. They may live for some
 * milliseconds only, and tell nobody where they were started.
 */
export class ProcessTree implements Disposable {
  /** Those that run, and their program. */
  readonly #programs = new Map<number, string>();
  readonly #onProgram: (pid: number, program: string) => void;
  #timer: NodeJS.Timeout | null = null;

  /** `onProgram`: a process has begun a program. */
  constructor(root: number, onProgram: (pid: number, program: string) => void) {
    this.#onProgram = onProgram;
    this.#programs.set(root, '');
    this.#wait(SHORTEST_INTERVAL_MS);
  }

  [Symbol.dispose](): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#programs.clear();
  }

  look(): void {
    // Children that are found are looked at in the same round.
    for (const [pid, known] of this.#programs) {
      const program = readProcLink(`${pid}/exe`);
      if (program === null) {
        this.#programs.delete(pid);
        continue;
      }
      if (program !== known) {
        this.#programs.set(pid, program);
        this.#onProgram(pid, program);
      }
      for (const child of (readProc(`${pid}/task/${pid}/children`) ?? '').split(' '))
        if (child !== '' && this.#programs.size < MOST_PROCESSES && !this.#programs.has(Number(child)))
          this.#programs.set(Number(child), '');
    }
  }

  #wait(intervalMs: number): void {
    this.#timer = setTimeout(() => {
      const begin = performance.now();
      this.look();
      const spentMs = performance.now() - begin;
      this.#wait(Math.min(LONGEST_INTERVAL_MS, Math.max(SHORTEST_INTERVAL_MS, spentMs / MOST_SHARE)));
    }, intervalMs).unref();
  }
}
