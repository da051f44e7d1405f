/// <reference types="node" preserve="true" />
/** Counters of the own thread, read in user space. */
export * from '../linux/count/self-monitoring/index.ts';
