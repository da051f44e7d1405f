/** Who runs what where, at any moment of a recording. */
export * from '../code/machine/index.ts';
