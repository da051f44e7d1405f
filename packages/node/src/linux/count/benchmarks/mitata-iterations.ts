import type { RunCounter } from './run-counter.ts';

const MOST_PER_BATCH = 4096;
const WARM_UP_MS = 10;
const FEWEST_BATCHES = 12;

/**
 * Counts the body of `for (const _ of state)`, which mitata's own counters leave out. Gives how often it ran.
 */
export async function countIterations(
  counter: RunCounter,
  fn: (state: unknown) => unknown,
  args: Record<string, unknown>,
  leastMs: number,
): Promise<number> {
  let calls = 0;
  function* iterations(): Generator<undefined, void> {
    let batch = 0;
    const begin = performance.now();
    do {
      yield;
      batch++;
    } while (batch < MOST_PER_BATCH && performance.now() - begin < WARM_UP_MS);
    const end = performance.now() + leastMs;
    for (let done = 0; done < FEWEST_BATCHES || performance.now() < end; done++) {
      counter.start();
      for (let i = 0; i < batch; i++) yield;
      counter.stop();
      calls += batch;
    }
  }
  const running = iterations();
  const iterator = { next: () => running.next() };
  await fn({
    get: (name: string) => args[name],
    [Symbol.iterator]: () => iterator,
    [Symbol.asyncIterator]: () => iterator,
  });
  return calls;
}
