/** Intel PT, from packets to instructions, exact profiles, calls and coverage. */
export * from '../intel-pt/index.ts';
