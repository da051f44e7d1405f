/** Recordings of counts (`stat record`): rounds of sums, read and written. */
export * from '../file-formats/counts/index.ts';
