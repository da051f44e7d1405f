/// <reference types="node" preserve="true" />
/** Counters around benchmarks of tinybench and mitata. */
export {
  type BenchmarkCounts,
  type CountedBenchmark,
  countMitata,
  countTinybench,
  type MitataModule,
  type TinybenchBench,
} from '../linux/count/benchmarks/index.ts';
