import { CounterpointError } from '@counterpoint/core/base';

export type Wake = 'notified' | 'interval' | 'paused' | 'stopped';

/** Of two that come before anybody waits, the one that asks for more is kept. */
const WEIGHT: Readonly<Record<Wake, number>> = { interval: 0, notified: 1, paused: 2, stopped: 3 };

/** One who waits, and what woke it. A notification that comes while nobody waits is kept; the end stays. */
export class Waiter {
  #pending: Wake | null = null;
  #resolve: ((wake: Wake) => void) | null = null;
  #tellEnd: () => void = () => {};
  readonly #ended = new Promise<void>((resolve) => {
    this.#tellEnd = resolve;
  });

  wake(wake: Wake): void {
    if (this.#pending === null || WEIGHT[wake] > WEIGHT[this.#pending]) this.#pending = wake;
    if (wake === 'stopped') this.#tellEnd();
    this.#resolve?.(wake);
  }

  async next(intervalMs?: number): Promise<Wake> {
    if (this.#resolve !== null)
      throw new CounterpointError(
        'ERR_FORMAT_COLLECT',
        'a format waits twice at the same time',
        'Await the first wait before the next one.',
      );
    if (this.#pending === null) {
      let timer: NodeJS.Timeout | undefined;
      const wake = await new Promise<Wake>((resolve) => {
        this.#resolve = resolve;
        if (intervalMs !== undefined) timer = setTimeout(resolve, intervalMs, 'interval');
      });
      clearTimeout(timer);
      this.#resolve = null;
      if (wake === 'interval') return wake;
    }
    const wake = this.#pending ?? 'interval';
    if (wake !== 'stopped') this.#pending = null;
    return wake;
  }

  /** For so long, or until the end. */
  async delay(ms: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const over = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, ms);
    });
    await Promise.race([over, this.#ended]);
    clearTimeout(timer);
  }
}
