export * from './pebs-blocks.ts';
export { type PebsBranch, PebsRecord } from './pebs-record.ts';
