/**
 * Facts of the kernel and of perf, as plain numbers: attr fields, record types, sample bits, event numbers.
 */
export * from '../format/abi/index.ts';
