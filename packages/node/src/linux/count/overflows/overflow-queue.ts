/**
 * Values wait here for one consumer. Beyond `capacity` the newest are dropped and counted: the producer
 * is the kernel, and cannot wait.
 */
export class OverflowQueue<T> implements AsyncIterableIterator<T, void, undefined> {
  dropped = 0;
  readonly #values: T[] = [];
  readonly #waiting: ((result: IteratorResult<T, void>) => void)[] = [];
  readonly #capacity: number;
  readonly #onReturn: () => void;
  #hasEnded = false;

  constructor(capacity: number, onReturn: () => void) {
    this.#capacity = capacity;
    this.#onReturn = onReturn;
  }

  push(value: T): void {
    const waiting = this.#waiting.shift();
    if (waiting !== undefined) waiting({ done: false, value });
    else if (this.#values.length >= this.#capacity) this.dropped++;
    else this.#values.push(value);
  }

  /** Nothing will come any more; what waits is still given out. */
  end(): void {
    this.#hasEnded = true;
    for (const waiting of this.#waiting.splice(0)) waiting({ done: true, value: undefined });
  }

  next(): Promise<IteratorResult<T, void>> {
    const value = this.#values.shift();
    if (value !== undefined) return Promise.resolve({ done: false, value });
    if (this.#hasEnded) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
    });
  }

  return(): Promise<IteratorResult<T, void>> {
    this.#onReturn();
    this.#values.length = 0;
    this.end();
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
