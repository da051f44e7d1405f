/** Which code was where, when, in which address space: what a trace is decoded against. */
export * from '../image/index.ts';
