/** What a recording does not contain. */
export * from '../format/loss/index.ts';
