export { CodeFunctions, type FunctionPlace, type PlacedBinary } from './code-functions.ts';
export { type ProfileOfCallsOptions, profileOfCalls } from './profile-of-calls.ts';
export { type ProfileOfExactOptions, profileOfExact } from './profile-of-exact.ts';
export type { TracedProgram } from './trace-tables.ts';
