/** Event names to attrs in perf's grammar, and back. */
export * from '../events/index.ts';
