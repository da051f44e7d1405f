/** Results that come by themselves, beside those of a generator that may wait for long. */
export class SideResults {
  readonly #found: unknown[] = [];
  #tell: () => void = () => {};

  add(results: Iterable<unknown>): void {
    this.#found.push(...results);
    if (this.#found.length > 0) this.#tell();
  }

  /** All of both; those that are added before the generator gives one come before it. */
  async *mergedWith(generated: AsyncIterable<unknown>): AsyncGenerator<unknown> {
    const main = generated[Symbol.asyncIterator]();
    try {
      for (let step = main.next(); ; ) {
        const added = new Promise<null>((resolve) => {
          this.#tell = () => resolve(null);
        });
        const settled = this.#found.length > 0 ? null : await Promise.race([step, added]);
        yield* this.#found.splice(0);
        if (settled === null) continue;
        if (settled.done === true) return;
        yield settled.value;
        step = main.next();
      }
    } finally {
      this.#tell = () => {};
      // Not awaited: where nobody reads on, it may wait for what comes at the end only.
      main.return?.()?.catch(() => {});
    }
  }
}
