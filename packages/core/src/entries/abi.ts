/**
 * Facts of the kernel and of perf, as plain numbers: attr fields, record types, sample bits, event numbers.
 */
export * from '../abi/index.ts';
