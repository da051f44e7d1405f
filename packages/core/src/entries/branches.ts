/** Branch records in one form: branch stacks of samples, BTS, decoded traces, single steps. */
export * from '../format/branches/index.ts';
