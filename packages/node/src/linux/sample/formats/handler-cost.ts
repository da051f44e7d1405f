/**
 * What programs cost, measured by the kernel. It reads a clock before and after every run of every program
 * on the machine, which costs as much as a small handler does: so it measures for the first second, and
 * then for a tenth of the time.
 */
import { type Sys, SysError } from '../../kernel/sys/index.ts';

const FIRST_MS = 1000;
const WINDOW_MS = 100;
const PERIOD_MS = 1000;

export class HandlerCost implements Disposable {
  readonly #sys: Sys;
  #measuring: Disposable | null;
  #timer: NodeJS.Timeout | null = null;

  constructor(sys: Sys) {
    this.#sys = sys;
    this.#measuring = measure(sys);
    // Refused once, it will not be asked again.
    if (this.#measuring !== null) this.#after(FIRST_MS);
  }

  #after(delayMs: number): void {
    this.#timer = setTimeout(() => this.#toggle(), delayMs).unref();
  }

  #toggle(): void {
    if (this.#measuring === null) {
      this.#measuring = measure(this.#sys);
      this.#after(WINDOW_MS);
      return;
    }
    this.#measuring[Symbol.dispose]();
    this.#measuring = null;
    this.#after(PERIOD_MS - WINDOW_MS);
  }

  [Symbol.dispose](): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#measuring?.[Symbol.dispose]();
    this.#measuring = null;
  }
}

/** The kernel measures programs for the administrator only; others go without. */
function measure(sys: Sys): Disposable | null {
  try {
    return sys.bpfEnableStats();
  } catch (error) {
    if (error instanceof SysError) return null;
    throw error;
  }
}
