export type { CodeBytes, CodeMode } from './assembler.ts';
export { checkPackets, packetLines } from './check-packets.ts';
export { INSTRUCTIONS, type InstructionRow, type Operand } from './instructions.ts';
export type { Labels } from './operands.ts';
export type { ExpectedLine, TraceProgram } from './program.ts';
export { parseTraceProgram } from './program.ts';
export { TraceTextError } from './text-error.ts';
