export { decodeInstruction, Instruction } from './decode.ts';
export * from './kinds.ts';
