/// <reference types="node" preserve="true" />
/** Counters around benchmarks of tinybench and mitata. */
export * from '../linux/count/benchmarks/index.ts';
