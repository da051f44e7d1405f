export type { BenchmarkCounts, CountedBenchmark } from './counted.ts';
export { countMitata, type MitataModule } from './mitata.ts';
export { countTinybench, type TinybenchBench } from './tinybench.ts';
