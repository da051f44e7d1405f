/**
 * Random numbers that come out the same for the same seed (Marsaglia's
 * xorshift32), for fuzzers and model tests.
 */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 0 || 1;
  }

  /** 32 random bits, unsigned. */
  u32(): number {
    let x = this.#state;
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    this.#state = x;
    return x >>> 0;
  }

  /** 0 up to but not including `limit`. */
  below(limit: number): number {
    return this.u32() % limit;
  }

  u64(): bigint {
    return (BigInt(this.u32()) << 32n) | BigInt(this.u32());
  }

  bytes(size: number): Uint8Array<ArrayBuffer> {
    return Uint8Array.from({ length: size }, () => this.u32() >>> 24);
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)]!;
  }

  /** True once in `n`. */
  oneIn(n: number): boolean {
    return this.below(n) === 0;
  }
}
