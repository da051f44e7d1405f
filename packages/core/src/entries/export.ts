/** Flame graph, folded stacks, speedscope, pprof, Firefox Profiler. */
export * from '../export/index.ts';
