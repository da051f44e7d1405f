/** What a recording does not contain. */
export * from '../loss/index.ts';
