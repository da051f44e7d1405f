/** Flame graph, folded stacks, speedscope, pprof, Firefox Profiler, V8's CPU profiles. */
export * from '../answers/export/index.ts';
