/** x86 instructions as a trace needs them: length, kind of branch. */
export * from '../instructions/index.ts';
