/// <reference types="node" preserve="true" />
/** Counters of the own thread, read in user space. */
export * from '../self-monitoring/index.ts';
