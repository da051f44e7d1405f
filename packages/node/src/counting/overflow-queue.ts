/** Values wait here for one consumer. Beyond `capacity` the newest are dropped and counted: the producer is the kernel, and cannot wait. */
export class OverflowQueue<T> implements AsyncIterable<T> {
  dropped = 0;
  readonly #values: T[] = [];
  readonly #capacity: number;
  readonly #onReturn: () => void;
  #wake: (() => void) | null = null;
  #hasEnded = false;

  constructor(capacity: number, onReturn: () => void) {
    this.#capacity = capacity;
    this.#onReturn = onReturn;
  }

  push(value: T): void {
    if (this.#values.length >= this.#capacity) this.dropped++;
    else this.#values.push(value);
    this.#wake?.();
  }

  end(): void {
    this.#hasEnded = true;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    try {
      for (;;) {
        const value = this.#values.shift();
        if (value !== undefined) {
          yield value;
          continue;
        }
        if (this.#hasEnded) return;
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        this.#wake = null;
      }
    } finally {
      this.#onReturn();
    }
  }
}
