import { closeSync, openSync, readSync } from 'node:fs';
import { readProc, readProcLink } from './proc.ts';

/** Node needs longer than this to start. */
const SHORTEST_INTERVAL_MS = 20;
const LONGEST_INTERVAL_MS = 500;
/** Looking takes at most this share of a thread. */
const MOST_SHARE = 0.05;
const MOST_PROCESSES = 4096;
/** With two open files each; others are opened at each look. */
const MOST_HELD = 64;
/** A program that runs another one of its own name is noticed so late. */
const LOOKS_OF_PROGRAMS = 8;
/** Who runs another program does so early, as a rule: a shell, a wrapper. */
const EARLY_LOOKS = 25;
/** More children are read from their file by its name. */
const HELD_BYTES = 4096;

/** A process, and what is asked of it at each look: open files of /proc say how it is now. */
class Follower implements Disposable {
  readonly #pid: number;
  readonly #childrenFd: number;
  readonly #nameFd: number;
  #children = '';
  #name = '';
  #looks = 0;
  /** Its file, as it was last known. */
  program = '';

  constructor(pid: number, isHeld: boolean) {
    this.#pid = pid;
    this.#childrenFd = isHeld ? tryOpen(`/proc/${pid}/task/${pid}/children`) : -1;
    this.#nameFd = isHeld ? tryOpen(`/proc/${pid}/comm`) : -1;
  }

  [Symbol.dispose](): void {
    for (const fd of [this.#childrenFd, this.#nameFd]) if (fd >= 0) closeSync(fd);
  }

  /**
   * The file that it runs; null: it has ended. Following a link costs ten times as much as reading a name.
   */
  lookAtProgram(): string | null {
    const name = readHeld(this.#nameFd);
    const looks = this.#looks++;
    if (name !== null && name === this.#name && looks > EARLY_LOOKS && looks % LOOKS_OF_PROGRAMS !== 0)
      return this.program;
    const program = readProcLink(`${this.#pid}/exe`);
    if (name !== this.#name || program !== this.program) this.#looks = 0;
    this.#name = name ?? '';
    return program;
  }

  /** None where there are the same as at the look before. */
  newChildren(): number[] {
    const held = readHeld(this.#childrenFd);
    if (held !== null && held === this.#children) return [];
    this.#children = held ?? '';
    const text = held ?? readProc(`${this.#pid}/task/${this.#pid}/children`) ?? '';
    return text.split(' ').filter(Boolean).map(Number);
  }
}

const bytes = Buffer.allocUnsafeSlow(HELD_BYTES);

/** Null: it is not open, or gone, or too long. */
function readHeld(fd: number): string | null {
  if (fd < 0) return null;
  try {
    const size = readSync(fd, bytes, 0, HELD_BYTES, 0);
    return size === HELD_BYTES ? null : bytes.toString('latin1', 0, size);
  } catch {
    return null;
  }
}

function tryOpen(path: string): number {
  try {
    return openSync(path, 'r');
  } catch {
    return -1;
  }
}

/**
 * The processes below one, and the programs that they run, as they come. They may live for some
 * milliseconds only, and tell nobody where they were started.
 */
export class ProcessTree implements Disposable {
  /** Those that run. */
  readonly #followers = new Map<number, Follower>();
  readonly #onProgram: (pid: number, program: string) => void;
  #timer: NodeJS.Timeout | null = null;

  /** `onProgram`: a process has begun a program. */
  constructor(root: number, onProgram: (pid: number, program: string) => void) {
    this.#onProgram = onProgram;
    this.#follow(root);
    this.#wait(SHORTEST_INTERVAL_MS);
  }

  [Symbol.dispose](): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    for (const follower of this.#followers.values()) follower[Symbol.dispose]();
    this.#followers.clear();
  }

  look(): void {
    // Children that are found are looked at in the same round.
    for (const [pid, follower] of this.#followers) {
      const program = follower.lookAtProgram();
      if (program === null) {
        this.#followers.delete(pid);
        follower[Symbol.dispose]();
        continue;
      }
      if (program !== follower.program) {
        follower.program = program;
        this.#onProgram(pid, program);
      }
      for (const child of follower.newChildren()) this.#follow(child);
    }
  }

  #follow(pid: number): void {
    if (this.#followers.size >= MOST_PROCESSES || this.#followers.has(pid)) return;
    this.#followers.set(pid, new Follower(pid, this.#followers.size < MOST_HELD));
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
