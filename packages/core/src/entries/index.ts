export * from '../base/index.ts';
export * from '../export/index.ts';
export * from '../ingest/index.ts';
export * from '../loss/index.ts';
export * from '../perfdata/index.ts';
export * from '../profile/index.ts';
export * from '../query/index.ts';
export * from '../records/index.ts';
