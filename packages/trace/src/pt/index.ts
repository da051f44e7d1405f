export * from './answers/index.ts';
export type { DumpOptions, DumpResult, DumpSideband } from './dump/dump-packets.ts';
export { dumpPackets } from './dump/dump-packets.ts';
export type { SidebandFile, SidebandFormat } from './dump/sideband-text.ts';
export { sidebandLines } from './dump/sideband-text.ts';
export * from './execution/index.ts';
export * from './flow/index.ts';
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
export { encodePacket } from './packets/encode-packet.ts';
export type { Cpu, Errata, ErratumName } from './packets/errata.ts';
export { errataOf, NO_ERRATA, parseCpu } from './packets/errata.ts';
export { findPsb, findPsbBackward } from './packets/find-psb.ts';
export { CFE_NAMES, EVD_NAMES, execModeName, formatPacket, formatPayload } from './packets/format-packet.ts';
export { LastIp } from './packets/last-ip.ts';
export * from './packets/opcodes.ts';
export { FLAG_HW, FLAG_ICNT, FLAG_IP, FLAG_MULT, FLAG_NON_ROOT, Packet } from './packets/packet.ts';
export type { PacketCursorOptions } from './packets/packet-cursor.ts';
export { PacketCursor } from './packets/packet-cursor.ts';
export * from './packets/packet-kinds.ts';
export { PacketWriter } from './packets/packet-writer.ts';
export {
  BAD_OPCODE,
  BAD_PACKET,
  isPsb,
  NEED_MORE,
  readBlockItem,
  readPacket,
  TNT8_COUNT,
  TNT8_OUTCOMES,
} from './packets/read-packet.ts';
export * from './parallel/index.ts';
export * from './pebs/index.ts';
export * from './perf-data/index.ts';
export type { PerfClock } from './time/perf-clock.ts';
export { perfTimeToTsc, tscToPerfNs, tscToPerfTime } from './time/perf-clock.ts';
export { RATIO_ONE, TimeCalibration } from './time/time-calibration.ts';
export type { TimeSettings } from './time/time-settings.ts';
export {
  NO_TIME_SETTINGS,
  TIME_BAD_CONTEXT,
  TIME_BAD_PACKET,
  TIME_NEEDS_CPUID,
  TIME_OK,
  TIME_UNKNOWN,
} from './time/time-settings.ts';
export type { TimeCertainty } from './time/trace-clock.ts';
export { TraceClock } from './time/trace-clock.ts';
export { TscEstimate } from './time/tsc-estimate.ts';
