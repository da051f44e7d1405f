export * from './answers/index.ts';
export type { DumpOptions, DumpResult, DumpSideband } from './dump-packets.ts';
export { dumpPackets } from './dump-packets.ts';
export { encodePacket } from './encode-packet.ts';
export type { Cpu, Errata, ErratumName } from './errata.ts';
export { errataOf, NO_ERRATA, parseCpu } from './errata.ts';
export * from './execution/index.ts';
export { findPsb, findPsbBackward } from './find-psb.ts';
export * from './flow/index.ts';
export { CFE_NAMES, EVD_NAMES, execModeName, formatPacket, formatPayload } from './format-packet.ts';
export type {
  CodeGraph,
  CodeGraphOptions,
  CountListener,
  EngineEventListener,
  GraphEngine,
  GraphEngineOptions,
  HeaderState,
  InstructionVisitor,
  NodeListener,
  NodeTrail,
  OutcomeCounts,
  PathListener,
  StepPaths,
  StepRunner,
  StepTable,
} from './graph/index.ts';
export { LastIp } from './last-ip.ts';
export * from './opcodes.ts';
export { FLAG_HW, FLAG_ICNT, FLAG_IP, FLAG_MULT, FLAG_NON_ROOT, Packet } from './packet.ts';
export type { PacketCursorOptions } from './packet-cursor.ts';
export { PacketCursor } from './packet-cursor.ts';
export * from './packet-kinds.ts';
export { PacketWriter } from './packet-writer.ts';
export * from './parallel/index.ts';
export * from './pebs/index.ts';
export * from './perf/index.ts';
export type { PerfClock } from './perf-clock.ts';
export { perfTimeToTsc, tscToPerfNs, tscToPerfTime } from './perf-clock.ts';
export {
  BAD_OPCODE,
  BAD_PACKET,
  isPsb,
  NEED_MORE,
  readBlockItem,
  readPacket,
  TNT8_COUNT,
  TNT8_OUTCOMES,
} from './read-packet.ts';
export type { SidebandFile, SidebandFormat } from './sideband-text.ts';
export { sidebandLines } from './sideband-text.ts';
export { RATIO_ONE, TimeCalibration } from './time-calibration.ts';
export type { TimeSettings } from './time-settings.ts';
export {
  NO_TIME_SETTINGS,
  TIME_BAD_CONTEXT,
  TIME_BAD_PACKET,
  TIME_NEEDS_CPUID,
  TIME_OK,
  TIME_UNKNOWN,
} from './time-settings.ts';
export type { TimeCertainty } from './trace-clock.ts';
export { TraceClock } from './trace-clock.ts';
export { TscEstimate } from './tsc-estimate.ts';
