/** Branch records in one form: branch stacks of samples, BTS, decoded traces, single steps. */
export * from '../branches/index.ts';
