/** Packets to bytes: the exact inverse of `readPacket`. */
import { CounterpointError } from '@counterpoint/core/base';
import {
  PT_BBP_SIZE_4,
  PT_BIP,
  PT_BIP_ID_SHIFT,
  PT_CFE_IP,
  PT_COMPRESSION_SHIFT,
  PT_CYC,
  PT_CYC_FIRST_BITS,
  PT_CYC_MORE,
  PT_CYC_NEXT_BITS,
  PT_CYC_NEXT_MORE,
  PT_CYC_NEXT_SHIFT,
  PT_CYC_SHIFT,
  PT_EXT_BBP,
  PT_EXT_BEP,
  PT_EXT_BEP_IP,
  PT_EXT_CBR,
  PT_EXT_CFE,
  PT_EXT_EVD,
  PT_EXT_EXSTOP,
  PT_EXT_EXSTOP_IP,
  PT_EXT_EXT2,
  PT_EXT_MWAIT,
  PT_EXT_OVF,
  PT_EXT_PIP,
  PT_EXT_PSB,
  PT_EXT_PSBEND,
  PT_EXT_PTW,
  PT_EXT_PWRE,
  PT_EXT_PWRX,
  PT_EXT_STOP,
  PT_EXT_TMA,
  PT_EXT_TNT64,
  PT_EXT_VMCS,
  PT_EXT2_MNT,
  PT_EXTENDED,
  PT_FUP,
  PT_IP_BYTES,
  PT_MAX_PACKET_BYTES,
  PT_MODE,
  PT_MODE_LEAF_EXEC,
  PT_MODE_LEAF_TSX,
  PT_MTC,
  PT_PAD,
  PT_PIP_NON_ROOT,
  PT_PIP_SHIFT_LEFT,
  PT_PTW_IP,
  PT_PTW_SIZE_SHIFT,
  PT_PWRE_HW_MASK,
  PT_SIZE_PSB,
  PT_TIP,
  PT_TIP_PGD,
  PT_TIP_PGE,
  PT_TMA_FAST_COUNTER_MASK,
  PT_TNT8_MAX_BITS,
  PT_TNT8_SHIFT,
  PT_TNT64_MAX_BITS,
  PT_TRIG,
  PT_TRIG_ICNT,
  PT_TRIG_IP,
  PT_TRIG_MULT,
  PT_TSC,
  PT_VMCS_SHIFT_LEFT,
} from './opcodes.ts';
import type { Packet } from './packet.ts';
import { FLAG_HW, FLAG_ICNT, FLAG_IP, FLAG_MULT, FLAG_NON_ROOT } from './packet.ts';
import {
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
  PACKET_NAMES,
  PACKET_OVF,
  PACKET_PAD,
  PACKET_PIP,
  PACKET_PSB,
  PACKET_PSBEND,
  PACKET_PTW,
  PACKET_PWRE,
  PACKET_PWRX,
  PACKET_STOP,
  PACKET_TIP,
  PACKET_TIP_PGD,
  PACKET_TIP_PGE,
  PACKET_TMA,
  PACKET_TNT8,
  PACKET_TNT64,
  PACKET_TRIG,
  PACKET_TSC,
  PACKET_VMCS,
} from './packet-kinds.ts';

/**
 * Write `packet` at `pos`, where 16 bytes must be free. Returns its size. Throws CounterpointError
 * (`ERR_PT_ENCODE`) if a value does not fit into its field: no value is cut.
 */
export function encodePacket(packet: Readonly<Packet>, bytes: Uint8Array, pos: number): number {
  if (pos + PT_MAX_PACKET_BYTES > bytes.length)
    throw new CounterpointError(
      'ERR_PT_ENCODE',
      `no room for a packet at offset ${pos} of ${bytes.length} bytes`,
      `Keep ${PT_MAX_PACKET_BYTES} bytes free after the last packet, or use PacketWriter, which grows.`,
    );
  const { kind, lo, hi, type, extra, flags } = packet;
  switch (kind) {
    case PACKET_PAD:
      bytes[pos] = PT_PAD;
      return 1;
    case PACKET_TNT8:
      requireField(type >= 1 && type <= PT_TNT8_MAX_BITS, packet, 'number of outcomes', type);
      requireField(hi === 0 && lo >>> 0 < 1 << type, packet, 'outcomes', lo);
      bytes[pos] = ((1 << type) | lo) << PT_TNT8_SHIFT;
      return 1;
    case PACKET_TNT64:
      return encodeTnt64(packet, bytes, pos);
    case PACKET_TIP:
      return encodeIp(packet, PT_TIP, bytes, pos);
    case PACKET_TIP_PGE:
      return encodeIp(packet, PT_TIP_PGE, bytes, pos);
    case PACKET_TIP_PGD:
      return encodeIp(packet, PT_TIP_PGD, bytes, pos);
    case PACKET_FUP:
      return encodeIp(packet, PT_FUP, bytes, pos);
    case PACKET_CYC:
      return encodeCyc(packet, bytes, pos);
    case PACKET_MTC:
      requireByte(lo, packet, 'CTC');
      bytes[pos] = PT_MTC;
      bytes[pos + 1] = lo;
      return 2;
    case PACKET_TSC:
      requireField(hi >>> 24 === 0, packet, 'high half', hi);
      bytes[pos] = PT_TSC;
      putLow(bytes, pos + 1, lo, 4);
      return 5 + putLow(bytes, pos + 5, hi, 3);
    case PACKET_MODE_EXEC:
    case PACKET_MODE_TSX:
      requireField(flags >>> 0 < 0x20, packet, 'bits', flags);
      bytes[pos] = PT_MODE;
      bytes[pos + 1] = (kind === PACKET_MODE_EXEC ? PT_MODE_LEAF_EXEC : PT_MODE_LEAF_TSX) | flags;
      return 2;
    case PACKET_TRIG:
      return encodeTrig(packet, bytes, pos);
    case PACKET_PSB:
      for (let at = pos; at < pos + PT_SIZE_PSB; at += 2) header(bytes, at, PT_EXT_PSB);
      return PT_SIZE_PSB;
    case PACKET_PSBEND:
      return header(bytes, pos, PT_EXT_PSBEND);
    case PACKET_OVF:
      return header(bytes, pos, PT_EXT_OVF);
    case PACKET_STOP:
      return header(bytes, pos, PT_EXT_STOP);
    case PACKET_EXSTOP:
      return header(bytes, pos, (flags & FLAG_IP) !== 0 ? PT_EXT_EXSTOP_IP : PT_EXT_EXSTOP);
    case PACKET_BEP:
      return header(bytes, pos, (flags & FLAG_IP) !== 0 ? PT_EXT_BEP_IP : PT_EXT_BEP);
    case PACKET_PIP: {
      requireField((lo & 0x1f) === 0 && hi >>> 20 === 0, packet, 'CR3 (a multiple of 32 below 2^52)', lo);
      const nonRoot = (flags & FLAG_NON_ROOT) !== 0 ? PT_PIP_NON_ROOT : 0;
      header(bytes, pos, PT_EXT_PIP);
      putLow(bytes, pos + 2, (lo >>> PT_PIP_SHIFT_LEFT) | (hi << (32 - PT_PIP_SHIFT_LEFT)) | nonRoot, 4);
      return 6 + putLow(bytes, pos + 6, hi >>> PT_PIP_SHIFT_LEFT, 2);
    }
    case PACKET_VMCS:
      requireField((lo & 0xfff) === 0 && hi >>> 20 === 0, packet, 'base (a multiple of 4096 below 2^52)', lo);
      header(bytes, pos, PT_EXT_VMCS);
      putLow(bytes, pos + 2, (lo >>> PT_VMCS_SHIFT_LEFT) | (hi << (32 - PT_VMCS_SHIFT_LEFT)), 4);
      return 6 + putLow(bytes, pos + 6, hi >>> PT_VMCS_SHIFT_LEFT, 1);
    case PACKET_CBR:
      requireByte(lo, packet, 'ratio');
      return header(bytes, pos, PT_EXT_CBR) + putLow(bytes, pos + 2, lo, 2);
    case PACKET_TMA:
      requireField(lo >>> 16 === 0, packet, 'CTC', lo);
      requireField((extra & ~PT_TMA_FAST_COUNTER_MASK) === 0, packet, 'fast counter', extra);
      header(bytes, pos, PT_EXT_TMA);
      putLow(bytes, pos + 2, lo, 3);
      return 5 + putLow(bytes, pos + 5, extra, 2);
    case PACKET_MNT:
      header(bytes, pos, PT_EXT_EXT2);
      bytes[pos + 2] = PT_EXT2_MNT;
      return 3 + putWide(bytes, pos + 3, lo, hi);
    case PACKET_PTW: {
      requireField(type === 0 || type === 1, packet, 'size code', type);
      requireField(type === 1 || hi === 0, packet, 'payload', hi);
      header(
        bytes,
        pos,
        PT_EXT_PTW | (type << PT_PTW_SIZE_SHIFT) | ((flags & FLAG_IP) !== 0 ? PT_PTW_IP : 0),
      );
      return 2 + (type === 1 ? putWide(bytes, pos + 2, lo, hi) : putLow(bytes, pos + 2, lo, 4));
    }
    case PACKET_MWAIT:
      return header(bytes, pos, PT_EXT_MWAIT) + putWide(bytes, pos + 2, lo, hi);
    case PACKET_PWRE:
      requireField(type >>> 0 < 16 && extra >>> 0 < 16, packet, 'state', type);
      header(bytes, pos, PT_EXT_PWRE);
      bytes[pos + 2] = (flags & FLAG_HW) !== 0 ? PT_PWRE_HW_MASK : 0;
      bytes[pos + 3] = (type << 4) | extra;
      return 4;
    case PACKET_PWRX:
      requireField(type >>> 0 < 16 && extra >>> 0 < 16, packet, 'state', type);
      requireField(flags >>> 0 < 16, packet, 'wake reason', flags);
      header(bytes, pos, PT_EXT_PWRX);
      return 2 + putLow(bytes, pos + 2, type | (extra << 4) | (flags << 8), 4) + putLow(bytes, pos + 6, 0, 1);
    case PACKET_BBP:
      requireField(type >>> 0 < 32, packet, 'type', type);
      requireField(extra === 4 || extra === 8, packet, 'item size', extra);
      header(bytes, pos, PT_EXT_BBP);
      bytes[pos + 2] = type | (extra === 4 ? PT_BBP_SIZE_4 : 0);
      return 3;
    case PACKET_BIP:
      requireField(type >>> 0 < 32, packet, 'id', type);
      requireField(extra === 8 || (extra === 4 && hi === 0), packet, 'item size', extra);
      bytes[pos] = PT_BIP | (type << PT_BIP_ID_SHIFT);
      return 1 + (extra === 8 ? putWide(bytes, pos + 1, lo, hi) : putLow(bytes, pos + 1, lo, 4));
    case PACKET_CFE:
      requireField(type >>> 0 < 32, packet, 'type', type);
      requireByte(extra, packet, 'vector');
      header(bytes, pos, PT_EXT_CFE);
      bytes[pos + 2] = type | ((flags & FLAG_IP) !== 0 ? PT_CFE_IP : 0);
      bytes[pos + 3] = extra;
      return 4;
    case PACKET_EVD:
      requireField(type >>> 0 < 64, packet, 'type', type);
      header(bytes, pos, PT_EXT_EVD);
      bytes[pos + 2] = type;
      return 3 + putWide(bytes, pos + 3, lo, hi);
    default:
      throw new CounterpointError(
        'ERR_PT_ENCODE',
        `there is no packet of kind ${kind}`,
        'Use one of PACKET_*.',
      );
  }
}

function encodeTnt64(packet: Readonly<Packet>, bytes: Uint8Array, pos: number): number {
  const { type, lo, hi } = packet;
  requireField(type >= 1 && type <= PT_TNT64_MAX_BITS, packet, 'number of outcomes', type);
  const fits = type >= 32 ? hi >>> 0 < 1 << (type - 32) : hi === 0 && lo >>> type === 0;
  requireField(fits, packet, 'outcomes', lo);
  header(bytes, pos, PT_EXT_TNT64);
  putLow(bytes, pos + 2, type < 32 ? lo | (1 << type) : lo, 4);
  return 6 + putLow(bytes, pos + 6, type < 32 ? hi : hi | (1 << (type - 32)), 2);
}

function encodeIp(packet: Readonly<Packet>, opcode: number, bytes: Uint8Array, pos: number): number {
  const payloadBytes = PT_IP_BYTES[packet.type] ?? -1;
  requireField(payloadBytes >= 0, packet, 'IP compression', packet.type);
  bytes[pos] = opcode | (packet.type << PT_COMPRESSION_SHIFT);
  putWide(bytes, pos + 1, packet.lo, packet.hi);
  return 1 + payloadBytes;
}

function encodeCyc(packet: Readonly<Packet>, bytes: Uint8Array, pos: number): number {
  let lo = packet.lo >>> PT_CYC_FIRST_BITS;
  let hi = packet.hi >>> 0;
  requireField(hi < 2 ** 29, packet, 'cycles', hi);
  lo |= hi << (32 - PT_CYC_FIRST_BITS);
  hi >>>= PT_CYC_FIRST_BITS;
  const rest = lo !== 0 || hi !== 0;
  bytes[pos] = PT_CYC | ((packet.lo & 0x1f) << PT_CYC_SHIFT) | (rest ? PT_CYC_MORE : 0);
  let size = 1;
  while (lo !== 0 || hi !== 0) {
    const value = lo & 0x7f;
    lo = (lo >>> PT_CYC_NEXT_BITS) | (hi << (32 - PT_CYC_NEXT_BITS));
    hi >>>= PT_CYC_NEXT_BITS;
    const more = lo !== 0 || hi !== 0 ? PT_CYC_NEXT_MORE : 0;
    bytes[pos + size++] = (value << PT_CYC_NEXT_SHIFT) | more;
  }
  return size;
}

function encodeTrig(packet: Readonly<Packet>, bytes: Uint8Array, pos: number): number {
  const { type, extra, flags } = packet;
  requireByte(type, packet, 'vector');
  requireField(extra >>> 16 === 0, packet, 'instructions', extra);
  const counted = (flags & FLAG_ICNT) !== 0;
  bytes[pos] = PT_TRIG;
  bytes[pos + 1] =
    ((flags & FLAG_IP) !== 0 ? PT_TRIG_IP : 0) |
    ((flags & FLAG_MULT) !== 0 ? PT_TRIG_MULT : 0) |
    (counted ? PT_TRIG_ICNT : 0);
  bytes[pos + 2] = type;
  return 3 + (counted ? putLow(bytes, pos + 3, extra, 2) : 0);
}

function header(bytes: Uint8Array, pos: number, second: number): number {
  bytes[pos] = PT_EXTENDED;
  bytes[pos + 1] = second;
  return 2;
}

function putLow(bytes: Uint8Array, pos: number, value: number, count: number): number {
  for (let index = 0; index < count; index++) bytes[pos + index] = value >>> (8 * index);
  return count;
}

function putWide(bytes: Uint8Array, pos: number, lo: number, hi: number): number {
  return putLow(bytes, pos, lo, 4) + putLow(bytes, pos + 4, hi, 4);
}

function requireByte(value: number, packet: Readonly<Packet>, what: string): void {
  requireField(value >>> 8 === 0, packet, what, value);
}

function requireField(fits: boolean, packet: Readonly<Packet>, what: string, value: number): void {
  if (fits) return;
  throw new CounterpointError(
    'ERR_PT_ENCODE',
    `${PACKET_NAMES[packet.kind]}: the ${what} does not fit: 0x${(value >>> 0).toString(16)}`,
    'See the table of fields above class Packet.',
  );
}
