/** Code, a trace and what it says, in a file that a person can read: for tests of decoders. */
export * from '../pt/text/index.ts';
