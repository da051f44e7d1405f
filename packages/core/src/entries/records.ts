/** Records and attrs: their types, readers and writers, one for each type. */
export * from '../records/index.ts';
