import type { Output } from '../../common/output.ts';

/**
 * What the keys are when the terminal is gone: end of transmission, as a terminal sends
 * Ctrl-D for the end of a file.
 */
const HANGUP = '\x04';
/** Long enough for a signal to arrive. */
const STOPPING_MS = 100;

/**
 * A whole screen, and the keyboard as it is pressed. What it was before comes back in every case but
 * SIGKILL: when this is disposed, when the process exits for whatever reason, and before an error
 * that nobody caught is printed.
 */
export class Terminal implements Disposable {
  readonly #out: Output;
  readonly #input: NodeJS.ReadStream | null;
  readonly #onKeys: (text: string) => void;
  readonly #onResize: () => void;
  readonly #onGone = () => this.#onKeys(HANGUP);
  readonly #leave = () => this.leave();
  #isEntered = false;
  #isDisposed = false;

  /** Call `enter`. `onKeys` gets what the keyboard sends, if there is one. */
  constructor(out: Output, onKeys: (text: string) => void, onResize: () => void) {
    this.#out = out;
    this.#input = process.stdin.isTTY === true ? process.stdin : null;
    this.#onKeys = onKeys;
    this.#onResize = onResize;
    process.on('exit', this.#leave);
    process.on('uncaughtExceptionMonitor', this.#leave);
  }

  get hasKeyboard(): boolean {
    return this.#input !== null;
  }

  get size(): { columns: number; rows: number } {
    const { columns, rows } = process.stdout;
    // A serial line does not know its size.
    return { columns: columns > 0 ? columns : 80, rows: rows > 0 ? rows : 24 };
  }

  enter(): void {
    if (this.#isEntered) return;
    this.#isEntered = true;
    this.#out.control('enterScreen');
    process.stdout.on('resize', this.#onResize);
    if (this.#input === null) return;
    this.#input.setRawMode(true);
    this.#input.setEncoding('utf8');
    this.#input.on('data', this.#onKeys);
    // A terminal that is gone says so to the first process of its session only; others find
    // the end of what they read.
    this.#input.on('end', this.#onGone);
    this.#input.on('error', this.#onGone);
    this.#input.resume();
  }

  /** Everything as it was. */
  leave(): void {
    if (!this.#isEntered) return;
    this.#isEntered = false;
    process.stdout.off('resize', this.#onResize);
    try {
      this.#input?.off('data', this.#onKeys);
      this.#input?.off('end', this.#onGone);
      this.#input?.pause();
      this.#input?.setRawMode(false);
      this.#out.control('leaveScreen');
    } catch {
      // The terminal is gone: there is nothing to put back.
    }
  }

  /** Write a screen over the one before. */
  show(lines: readonly string[]): void {
    if (this.#isEntered) this.#out.screen(lines);
  }

  /**
   * Ctrl-Z: give the terminal back, stop, and be there again when this process goes on. Where nobody could
   * make it go on (an orphaned process group, POSIX 2.4.3) the kernel does not stop it; the timer runs in
   * both cases, but not while it is stopped.
   */
  suspend(onReturn: () => void): void {
    this.leave();
    process.kill(process.pid, 'SIGTSTP');
    setTimeout(() => {
      if (this.#isDisposed) return;
      this.enter();
      onReturn();
    }, STOPPING_MS);
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true;
    this.leave();
    process.off('exit', this.#leave);
    process.off('uncaughtExceptionMonitor', this.#leave);
  }
}
