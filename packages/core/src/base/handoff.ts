/**
 * Hands values from a producer to one consumer, one at a time: `put` waits until the value was taken, so the
 * producer never runs ahead. Turns a callback-driven operation into an async iterable with back-pressure.
 */
export class Handoff<T> {
  #value: { item: T } | null = null;
  #taken: (() => void) | null = null;
  #arrived: (() => void) | null = null;
  #ended = false;
  #stopped = false;
  #failure: { error: unknown } | null = null;

  /** Resolves when the consumer has taken the value and asks for the next. False: the consumer has gone. */
  async put(item: T): Promise<boolean> {
    if (this.#stopped) return false;
    this.#value = { item };
    this.#arrived?.();
    await new Promise<void>((resolve) => {
      this.#taken = resolve;
    });
    return !this.#stopped;
  }

  /** The producer has finished. */
  end(): void {
    this.#ended = true;
    this.#arrived?.();
  }

  /** The producer has failed; the consumer gets the error after what was put. */
  fail(error: unknown): void {
    this.#failure = { error };
    this.end();
  }

  /** What `put` gave, in its order, up to `end` or `fail`. */
  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    try {
      for (;;) {
        if (this.#value === null) {
          if (this.#ended) break;
          await new Promise<void>((resolve) => {
            this.#arrived = resolve;
          });
          this.#arrived = null;
          continue;
        }
        const { item } = this.#value;
        this.#value = null;
        yield item;
        this.#taken?.();
      }
      if (this.#failure !== null) throw this.#failure.error;
    } finally {
      this.#stopped = true;
      this.#taken?.();
    }
  }
}
