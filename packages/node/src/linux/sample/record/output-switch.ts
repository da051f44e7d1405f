import type { OutputSwitching } from './options.ts';

/** What is written a moment after the wish still goes into the old file. */
const IDLE_MS = 500;

/**
 * When a recording goes on in another file: by the size of this one, by time, or when somebody asks. The
 * switch itself happens between two rounds, when the one before has been looked at.
 */
export class OutputSwitch implements Disposable {
  readonly #rule: OutputSwitching;
  readonly #act: () => Promise<void>;
  #isWanted = false;
  #isDue = false;
  #isRoundOpen = false;
  #running: Promise<void> | null = null;
  readonly #timer: NodeJS.Timeout | null;
  #idle: NodeJS.Timeout | null = null;
  readonly #onError: (error: unknown) => void;

  constructor(rule: OutputSwitching, act: () => Promise<void>, onError: (error: unknown) => void) {
    this.#rule = rule;
    this.#act = act;
    this.#onError = onError;
    this.#timer = rule.everyMs === undefined ? null : setInterval(() => this.want(), rule.everyMs);
  }

  /** As soon as what is in the rings by now is written. */
  want(): void {
    if (this.#isWanted) return;
    this.#isWanted = true;
    // Where nothing comes, there is no round.
    this.#idle = setTimeout(() => {
      this.#isDue = true;
      this.#tryNow();
    }, IDLE_MS);
  }

  /** Before a round is written. */
  async beginRound(): Promise<void> {
    this.#isRoundOpen = true;
    if (this.#isDue) await this.#run();
    await this.#running;
  }

  /** When it is written; `fileBytes` are in the file by then. */
  endRound(fileBytes: number): void {
    if (fileBytes >= (this.#rule.bytes ?? Number.POSITIVE_INFINITY)) this.#isWanted = true;
    if (this.#isWanted) this.#isDue = true;
    setImmediate(() => {
      this.#isRoundOpen = false;
      this.#tryNow();
    });
  }

  #tryNow(): void {
    if (this.#isDue && !this.#isRoundOpen) this.#run().catch(this.#onError);
  }

  #run(): Promise<void> {
    if (this.#idle !== null) clearTimeout(this.#idle);
    this.#isWanted = false;
    this.#isDue = false;
    this.#running ??= this.#act().finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  /** No more; resolves when none is at work. */
  async stop(): Promise<void> {
    this[Symbol.dispose]();
    await this.#running;
  }

  [Symbol.dispose](): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    if (this.#idle !== null) clearTimeout(this.#idle);
    this.#isWanted = false;
    this.#isDue = false;
  }
}
