/** A benchmark, and what one call of it counted. */
export interface CountedBenchmark {
  /** As the benchmark package shows it. */
  name: string;
  /** How often the function was called while events were counted. */
  calls: number;
  /**
   * Of one call, by the names that were asked for; times are in nanoseconds. Null: the event had no counter
   * meanwhile.
   */
  counts: Readonly<Record<string, number | null>>;
}

/** The counts of benchmarks. */
export interface BenchmarkCounts extends Disposable {
  /** What was done otherwise than requested, and why. */
  readonly notes: readonly string[];
  /** The benchmarks that have run, in the order in which they ran. */
  benchmarks(): Promise<CountedBenchmark[]>;
  /** The same as rows for `console.table`, with four significant digits. */
  table(): Promise<Record<string, string | number>[]>;
  /** Stops counting: later benchmarks are not counted. */
  close(): void;
}

const DIGITS = 4;

export function tableOf(benchmarks: readonly CountedBenchmark[]): Record<string, string | number>[] {
  return benchmarks.map(({ name, calls, counts }) => ({
    benchmark: name,
    ...Object.fromEntries(
      Object.entries(counts).map(([event, count]) => [
        event,
        count === null ? 'not counted' : Number(count.toPrecision(DIGITS)),
      ]),
    ),
    calls,
  }));
}
