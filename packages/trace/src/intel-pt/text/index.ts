export type { CodeBytes, CodeMode } from './assembler.ts';
export { checkPackets, packetLines } from './check-packets.ts';
export { INSTRUCTIONS } from './instructions.ts';
export type { ExpectedLine, TraceProgram } from './program.ts';
export { parseTraceProgram } from './program.ts';
export { TraceTextError } from './text-error.ts';
