/** Code, a trace and what it says, in a file that a person can read: for tests of decoders. */
export {
  type CodeBytes,
  type CodeMode,
  checkPackets,
  type ExpectedLine,
  type Labels,
  packetLines,
  parseTraceProgram,
  type TraceProgram,
  TraceTextError,
} from '../pt/text/index.ts';
