/// <reference types="node" preserve="true" />
/** Event sets counted on a target: sessions, overflow, control data, sums for others, the whole machine. */
export * from '../linux/count/counting/index.ts';
export type { EventChange, Note, PlannedEvent } from '../linux/kernel/perf-events/index.ts';
