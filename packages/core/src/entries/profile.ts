/** The tables of a profile. */
export * from '../profile/index.ts';
