export type { CodeBytes, CodeMode } from './assembler.ts';
export { INSTRUCTIONS } from './instructions.ts';
export type { ExpectedLine, TraceProgram } from './program.ts';
export { checkPackets, packetLines, parseTraceProgram } from './program.ts';
export { TraceTextError } from './text-error.ts';
