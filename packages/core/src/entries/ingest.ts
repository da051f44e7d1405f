/** Ordered records to a profile. */
export * from '../ingest/index.ts';
