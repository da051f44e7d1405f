export { dumpRecords } from './dump.ts';
export type { RecordKind } from './kinds.ts';
