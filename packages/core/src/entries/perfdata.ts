/** perf.data files and streams, read in order of time and written. */
export * from '../perfdata/index.ts';
