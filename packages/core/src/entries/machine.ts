/** Who runs what where, at any moment of a recording. */
export * from '../machine/index.ts';
