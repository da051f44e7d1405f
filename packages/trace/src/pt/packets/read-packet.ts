/**
 * Turns bytes into packets: sizes and fields, without a state. Items of blocks
 * (BIP) need one: see PacketCursor.
 */
import {
  PT_BBP_SIZE_4,
  PT_BBP_TYPE_MASK,
  PT_BIP_ID_SHIFT,
  PT_CFE_IP,
  PT_CFE_TYPE_MASK,
  PT_COMPRESSION_SHIFT,
  PT_CYC_FIRST_BITS,
  PT_CYC_MORE,
  PT_CYC_NEXT_BITS,
  PT_CYC_NEXT_MORE,
  PT_CYC_NEXT_SHIFT,
  PT_CYC_SHIFT,
  PT_EVD_TYPE_MASK,
  PT_EXT_BEP_IP,
  PT_EXT_EXSTOP_IP,
  PT_EXT_PSB,
  PT_EXT2_MNT,
  PT_EXTENDED,
  PT_IP_BYTES,
  PT_MODE_LEAF_EXEC,
  PT_MODE_LEAF_MASK,
  PT_MODE_LEAF_TSX,
  PT_PIP_NON_ROOT,
  PT_PIP_SHIFT_LEFT,
  PT_PTW_IP,
  PT_PTW_SIZE_MASK,
  PT_PTW_SIZE_SHIFT,
  PT_PWRE_HW_MASK,
  PT_PWRX_REASON_MASK,
  PT_SIZE_BBP,
  PT_SIZE_CBR,
  PT_SIZE_CFE,
  PT_SIZE_EVD,
  PT_SIZE_HEADER_ONLY,
  PT_SIZE_MNT,
  PT_SIZE_MODE,
  PT_SIZE_MTC,
  PT_SIZE_MWAIT,
  PT_SIZE_PIP,
  PT_SIZE_PSB,
  PT_SIZE_PWRE,
  PT_SIZE_PWRX,
  PT_SIZE_TMA,
  PT_SIZE_TNT64,
  PT_SIZE_TRIG,
  PT_SIZE_TRIG_ICNT,
  PT_SIZE_TSC,
  PT_SIZE_VMCS,
  PT_TMA_FAST_COUNTER_MASK,
  PT_TNT8_SHIFT,
  PT_TRIG_ICNT,
  PT_TRIG_IP,
  PT_TRIG_MULT,
  PT_VMCS_SHIFT_LEFT,
} from './opcodes.ts';
import type { Packet } from './packet.ts';
import { FLAG_HW, FLAG_ICNT, FLAG_IP, FLAG_MULT, FLAG_NON_ROOT } from './packet.ts';
import {
  FIRST_BYTE_KIND,
  PACKET_BAD,
  PACKET_BBP,
  PACKET_BEP,
  PACKET_BIP,
  PACKET_CBR,
  PACKET_CFE,
  PACKET_CYC,
  PACKET_EVD,
  PACKET_EXSTOP,
  PACKET_FUP,
  PACKET_MNT,
  PACKET_MODE_EXEC,
  PACKET_MODE_TSX,
  PACKET_MTC,
  PACKET_MWAIT,
  PACKET_NEEDS_LEAF,
  PACKET_NEEDS_SECOND,
  PACKET_NEEDS_THIRD,
  PACKET_OVF,
  PACKET_PAD,
  PACKET_PIP,
  PACKET_PSB,
  PACKET_PSBEND,
  PACKET_PTW,
  PACKET_PWRE,
  PACKET_PWRX,
  PACKET_STOP,
  PACKET_TMA,
  PACKET_TNT8,
  PACKET_TNT64,
  PACKET_TSC,
  PACKET_VMCS,
  SECOND_BYTE_KIND,
} from './packet-kinds.ts';

/** Answer of `PacketCursor.next`: the bytes end here, or in the middle of the packet. */
export const NEED_MORE = -1;
/** Answer of `PacketCursor.next`: no packet begins with these bytes. */
export const BAD_OPCODE = -2;
/** Answer of `PacketCursor.next`: the header is known, but the payload breaks its rules. */
export const BAD_PACKET = -3;

/** By TNT-8 byte: the number of outcomes. 0 if the byte is no TNT-8. */
export const TNT8_COUNT: Uint8Array = Uint8Array.from({ length: 256 }, (_, byte) =>
  FIRST_BYTE_KIND[byte] === PACKET_TNT8 ? 30 - Math.clz32(byte) : 0,
);

/** By TNT-8 byte: the outcomes without the stop bit. The oldest is the highest bit. */
export const TNT8_OUTCOMES: Uint8Array = Uint8Array.from(
  { length: 256 },
  (_, byte) => (byte >> PT_TNT8_SHIFT) & ((1 << TNT8_COUNT[byte]!) - 1),
);

/**
 * Read the packet at `pos` into `out`.
 *
 * Returns its size in bytes, or NEED_MORE, BAD_OPCODE, BAD_PACKET (then `out.kind` is PACKET_BAD,
 * or, for NEED_MORE and BAD_PACKET, the kind that the header names). Does not move any position.
 * `end` is at most `bytes.length`.
 */
export function readPacket(bytes: Uint8Array, pos: number, end: number, out: Packet): number {
  out.kind = PACKET_BAD;
  if (pos >= end) return NEED_MORE;
  const first = bytes[pos]!;
  const kind = FIRST_BYTE_KIND[first]!;
  // Tests for the frequent kinds come first: V8 compares the cases of a switch
  // over names one after the other.
  if (kind === PACKET_TNT8) {
    out.kind = PACKET_TNT8;
    out.type = TNT8_COUNT[first]!;
    out.lo = TNT8_OUTCOMES[first]!;
    out.hi = 0;
    out.size = 1;
    return 1;
  }
  out.kind = kind;
  if (kind <= PACKET_FUP) return kind === PACKET_BAD ? BAD_OPCODE : readIp(bytes, pos, end, out);
  if (kind === PACKET_CYC) return readCyc(bytes, pos, end, out);
  if (kind === PACKET_PAD) {
    out.size = 1;
    return 1;
  }
  if (kind === PACKET_NEEDS_SECOND) return readExtended(bytes, pos, end, out);
  return readOneByteHeader(bytes, pos, end, kind, out);
}

/** The payload of TIP, TIP.PGE, TIP.PGD and FUP, not yet combined with the last IP. */
function readIp(bytes: Uint8Array, pos: number, end: number, out: Packet): number {
  const compression = bytes[pos]! >>> PT_COMPRESSION_SHIFT;
  const payloadBytes = PT_IP_BYTES[compression]!;
  if (payloadBytes < 0) return BAD_PACKET;
  if (pos + 1 + payloadBytes > end) return NEED_MORE;
  let lo = 0;
  let hi = 0;
  if (payloadBytes >= 2) lo = bytes[pos + 1]! | (bytes[pos + 2]! << 8);
  if (payloadBytes >= 4) lo |= (bytes[pos + 3]! << 16) | (bytes[pos + 4]! << 24);
  if (payloadBytes >= 6) hi = bytes[pos + 5]! | (bytes[pos + 6]! << 8);
  if (payloadBytes === 8) hi |= (bytes[pos + 7]! << 16) | (bytes[pos + 8]! << 24);
  out.lo = lo;
  out.hi = hi;
  out.type = compression;
  out.size = payloadBytes + 1;
  return payloadBytes + 1;
}

/**
 *   vvvvv e 11   vvvvvvv e   vvvvvvv e  ...      5, 12, 19, ... bits, lowest first
 *
 * A byte whose bits would not all fit into 64 breaks the rules: no processor counts that far in one packet.
 */
function readCyc(bytes: Uint8Array, pos: number, end: number, out: Packet): number {
  const first = bytes[pos]!;
  let lo = first >>> PT_CYC_SHIFT;
  let hi = 0;
  let size = 1;
  let more = (first & PT_CYC_MORE) !== 0;
  for (let shift = PT_CYC_FIRST_BITS; more; shift += PT_CYC_NEXT_BITS, size++) {
    if (pos + size >= end) return NEED_MORE;
    if (shift + PT_CYC_NEXT_BITS > 64) return BAD_PACKET;
    const byte = bytes[pos + size]!;
    const value = byte >>> PT_CYC_NEXT_SHIFT;
    if (shift < 32) lo |= value << shift;
    if (shift >= 32) hi |= value << (shift - 32);
    else if (shift > 32 - PT_CYC_NEXT_BITS) hi |= value >>> (32 - shift);
    more = (byte & PT_CYC_NEXT_MORE) !== 0;
  }
  out.lo = lo;
  out.hi = hi;
  out.size = size;
  return size;
}

function readOneByteHeader(bytes: Uint8Array, pos: number, end: number, kind: number, out: Packet): number {
  if (kind === PACKET_MTC) {
    if (pos + PT_SIZE_MTC > end) return NEED_MORE;
    return value64(out, PT_SIZE_MTC, bytes[pos + 1]!, 0);
  }
  if (kind === PACKET_TSC) {
    if (pos + PT_SIZE_TSC > end) return NEED_MORE;
    return value64(out, PT_SIZE_TSC, u32(bytes, pos + 1), u24(bytes, pos + 5));
  }
  if (kind === PACKET_NEEDS_LEAF) {
    out.kind = PACKET_BAD;
    if (pos + PT_SIZE_MODE > end) return NEED_MORE;
    const payload = bytes[pos + 1]!;
    const leaf = payload & PT_MODE_LEAF_MASK;
    if (leaf !== PT_MODE_LEAF_EXEC && leaf !== PT_MODE_LEAF_TSX) return BAD_PACKET;
    out.kind = leaf === PT_MODE_LEAF_EXEC ? PACKET_MODE_EXEC : PACKET_MODE_TSX;
    out.flags = payload & ~PT_MODE_LEAF_MASK;
    out.size = PT_SIZE_MODE;
    return PT_SIZE_MODE;
  }
  return readTrig(bytes, pos, end, out);
}

function readTrig(bytes: Uint8Array, pos: number, end: number, out: Packet): number {
  if (pos + PT_SIZE_TRIG > end) return NEED_MORE;
  const bits = bytes[pos + 1]!;
  const size = (bits & PT_TRIG_ICNT) !== 0 ? PT_SIZE_TRIG_ICNT : PT_SIZE_TRIG;
  if (pos + size > end) return NEED_MORE;
  out.flags =
    ((bits & PT_TRIG_IP) !== 0 ? FLAG_IP : 0) |
    ((bits & PT_TRIG_MULT) !== 0 ? FLAG_MULT : 0) |
    ((bits & PT_TRIG_ICNT) !== 0 ? FLAG_ICNT : 0);
  out.type = bytes[pos + 2]!;
  out.extra = size === PT_SIZE_TRIG_ICNT ? u16(bytes, pos + 3) : 0;
  out.size = size;
  return size;
}

function readExtended(bytes: Uint8Array, pos: number, end: number, out: Packet): number {
  out.kind = PACKET_BAD;
  if (pos + PT_SIZE_HEADER_ONLY > end) return NEED_MORE;
  const second = bytes[pos + 1]!;
  let kind = SECOND_BYTE_KIND[second]!;
  if (kind === PACKET_BAD) return BAD_OPCODE;
  if (kind === PACKET_NEEDS_THIRD) {
    if (pos + 3 > end) return NEED_MORE;
    if (bytes[pos + 2] !== PT_EXT2_MNT) return BAD_OPCODE;
    kind = PACKET_MNT;
  }
  out.kind = kind;
  const size = kind === PACKET_PTW ? ptwSize(second) : EXTENDED_SIZE[kind]!;
  if (size < 0) return size;
  if (kind === PACKET_PSB) return readPsb(bytes, pos, end, out);
  if (pos + size > end) return NEED_MORE;
  out.size = size;
  const payload = pos + PT_SIZE_HEADER_ONLY;
  switch (kind) {
    case PACKET_TNT64:
      return readTnt64(bytes, payload, out);
    case PACKET_PIP: {
      const low = u32(bytes, payload) & ~PT_PIP_NON_ROOT;
      out.flags = (bytes[payload]! & PT_PIP_NON_ROOT) !== 0 ? FLAG_NON_ROOT : 0;
      const high = (u16(bytes, payload + 4) << PT_PIP_SHIFT_LEFT) | (low >>> (32 - PT_PIP_SHIFT_LEFT));
      return value64(out, size, low << PT_PIP_SHIFT_LEFT, high);
    }
    case PACKET_VMCS: {
      const low = u32(bytes, payload);
      const high = (bytes[payload + 4]! << PT_VMCS_SHIFT_LEFT) | (low >>> (32 - PT_VMCS_SHIFT_LEFT));
      return value64(out, size, low << PT_VMCS_SHIFT_LEFT, high);
    }
    case PACKET_CBR:
      return value64(out, size, bytes[payload]!, 0);
    case PACKET_TMA:
      // The reserved bits are the only way to see the damage of erratum SKZ84.
      out.extra = u16(bytes, payload + 3);
      if (bytes[payload + 2] !== 0 || (out.extra & ~PT_TMA_FAST_COUNTER_MASK) !== 0) return BAD_PACKET;
      return value64(out, size, u16(bytes, payload), 0);
    case PACKET_MNT:
      return value64(out, size, u32(bytes, payload + 1), u32(bytes, payload + 5));
    case PACKET_PTW:
      out.type = (second >>> PT_PTW_SIZE_SHIFT) & PT_PTW_SIZE_MASK;
      out.flags = (second & PT_PTW_IP) !== 0 ? FLAG_IP : 0;
      return value64(out, size, u32(bytes, payload), out.type === 1 ? u32(bytes, payload + 4) : 0);
    case PACKET_EXSTOP:
      out.flags = second === PT_EXT_EXSTOP_IP ? FLAG_IP : 0;
      return size;
    case PACKET_MWAIT:
      return value64(out, size, u32(bytes, payload), u32(bytes, payload + 4));
    case PACKET_PWRE:
      out.flags = (bytes[payload]! & PT_PWRE_HW_MASK) !== 0 ? FLAG_HW : 0;
      out.type = bytes[payload + 1]! >>> 4;
      out.extra = bytes[payload + 1]! & 0x0f;
      return size;
    case PACKET_PWRX:
      out.type = bytes[payload]! & 0x0f;
      out.extra = bytes[payload]! >>> 4;
      out.flags = bytes[payload + 1]! & PT_PWRX_REASON_MASK;
      return size;
    case PACKET_BBP:
      out.type = bytes[payload]! & PT_BBP_TYPE_MASK;
      out.extra = (bytes[payload]! & PT_BBP_SIZE_4) !== 0 ? 4 : 8;
      return size;
    case PACKET_BEP:
      out.flags = second === PT_EXT_BEP_IP ? FLAG_IP : 0;
      return size;
    case PACKET_CFE:
      out.type = bytes[payload]! & PT_CFE_TYPE_MASK;
      out.flags = (bytes[payload]! & PT_CFE_IP) !== 0 ? FLAG_IP : 0;
      out.extra = bytes[payload + 1]!;
      return size;
    case PACKET_EVD:
      out.type = bytes[payload]! & PT_EVD_TYPE_MASK;
      return value64(out, size, u32(bytes, payload + 1), u32(bytes, payload + 5));
    default:
      return size;
  }
}

/** Whole size by kind. PTW is missing here: its header tells the size. */
const EXTENDED_SIZE = new Uint8Array(PACKET_NEEDS_THIRD + 1);
for (const [kind, size] of [
  [PACKET_PSB, PT_SIZE_PSB],
  [PACKET_PSBEND, PT_SIZE_HEADER_ONLY],
  [PACKET_OVF, PT_SIZE_HEADER_ONLY],
  [PACKET_STOP, PT_SIZE_HEADER_ONLY],
  [PACKET_EXSTOP, PT_SIZE_HEADER_ONLY],
  [PACKET_BEP, PT_SIZE_HEADER_ONLY],
  [PACKET_TNT64, PT_SIZE_TNT64],
  [PACKET_PIP, PT_SIZE_PIP],
  [PACKET_VMCS, PT_SIZE_VMCS],
  [PACKET_CBR, PT_SIZE_CBR],
  [PACKET_TMA, PT_SIZE_TMA],
  [PACKET_MNT, PT_SIZE_MNT],
  [PACKET_MWAIT, PT_SIZE_MWAIT],
  [PACKET_PWRE, PT_SIZE_PWRE],
  [PACKET_PWRX, PT_SIZE_PWRX],
  [PACKET_BBP, PT_SIZE_BBP],
  [PACKET_CFE, PT_SIZE_CFE],
  [PACKET_EVD, PT_SIZE_EVD],
] as const)
  EXTENDED_SIZE[kind] = size;

function ptwSize(second: number): number {
  const code = (second >>> PT_PTW_SIZE_SHIFT) & PT_PTW_SIZE_MASK;
  return code > 1 ? BAD_PACKET : PT_SIZE_HEADER_ONLY + (code === 0 ? 4 : 8);
}

/** Up to 47 outcomes below a stop bit, in 48 bits. A packet without an outcome breaks the rules. */
function readTnt64(bytes: Uint8Array, payload: number, out: Packet): number {
  const lo = u32(bytes, payload);
  const hi = u16(bytes, payload + 4);
  const stop = hi !== 0 ? 63 - Math.clz32(hi) : 31 - Math.clz32(lo);
  if (stop <= 0) return BAD_PACKET;
  out.type = stop;
  out.hi = stop > 32 ? hi & ((1 << (stop - 32)) - 1) : 0;
  out.lo = stop >= 32 ? lo : lo & ((1 << stop) - 1);
  return PT_SIZE_TNT64;
}

/** A pattern that is wrong is bad, even if the bytes end before it could be complete. */
function readPsb(bytes: Uint8Array, pos: number, end: number, out: Packet): number {
  const stop = Math.min(pos + PT_SIZE_PSB, end);
  for (let at = pos; at < stop; at++)
    if (bytes[at] !== (((at - pos) & 1) === 0 ? PT_EXTENDED : PT_EXT_PSB)) return BAD_PACKET;
  if (stop < pos + PT_SIZE_PSB) return NEED_MORE;
  out.size = PT_SIZE_PSB;
  return PT_SIZE_PSB;
}

/** Whether the whole pattern is there. The caller has checked that there are 16 bytes. */
export function isPsb(bytes: Uint8Array, pos: number): boolean {
  for (let at = pos; at < pos + PT_SIZE_PSB; at += 2)
    if (bytes[at] !== PT_EXTENDED || bytes[at + 1] !== PT_EXT_PSB) return false;
  return true;
}

/**
 * Read an item of a PEBS block: `iiiii100` and 4 or 8 bytes. Items occur only between BBP and BEP. Anywhere
 * else, a first byte that ends in 100 is a TNT-8.
 */
export function readBlockItem(
  bytes: Uint8Array,
  pos: number,
  end: number,
  itemBytes: number,
  out: Packet,
): number {
  out.kind = PACKET_BIP;
  if (pos + 1 + itemBytes > end) return NEED_MORE;
  out.type = bytes[pos]! >>> PT_BIP_ID_SHIFT;
  out.extra = itemBytes;
  return value64(out, itemBytes + 1, u32(bytes, pos + 1), itemBytes === 8 ? u32(bytes, pos + 5) : 0);
}

function value64(out: Packet, size: number, lo: number, hi: number): number {
  out.lo = lo;
  out.hi = hi;
  out.size = size;
  return size;
}

function u16(bytes: Uint8Array, at: number): number {
  return bytes[at]! | (bytes[at + 1]! << 8);
}

function u24(bytes: Uint8Array, at: number): number {
  return bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16);
}

function u32(bytes: Uint8Array, at: number): number {
  return bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
}
