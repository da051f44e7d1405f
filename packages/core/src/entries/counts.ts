/** Recordings of counts (`stat record`): rounds of sums, read and written. */
export * from '../counts/index.ts';
