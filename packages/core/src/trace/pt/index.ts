export { encodePacket } from './encode-packet.ts';
export type { Cpu, Errata, ErratumName } from './errata.ts';
export { errataOf, NO_ERRATA, parseCpu } from './errata.ts';
export { findPsb, findPsbBackward } from './find-psb.ts';
export { LastIp } from './last-ip.ts';
export * from './opcodes.ts';
export { clonePacket, FLAG_HW, FLAG_ICNT, FLAG_IP, FLAG_MULT, FLAG_NON_ROOT, Packet } from './packet.ts';
export type { PacketCursorOptions } from './packet-cursor.ts';
export { PacketCursor } from './packet-cursor.ts';
export * from './packet-kinds.ts';
export { PacketWriter } from './packet-writer.ts';
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
