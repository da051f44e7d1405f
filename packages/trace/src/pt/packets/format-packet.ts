/** Packets as text, column by column, in the form that libipt's test programs expect. */
import { toHex } from '@counterpoint/core/base';
import {
  PT_IP_BYTES,
  PT_IP_SEXT_48,
  PT_MODE_EXEC_CS_D,
  PT_MODE_EXEC_CS_L,
  PT_MODE_EXEC_IF,
  PT_MODE_TSX_ABRT,
  PT_MODE_TSX_INTX,
  PT_PWRX_HW,
  PT_PWRX_INTERRUPT,
  PT_PWRX_STORE,
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
  PACKET_PIP,
  PACKET_PTW,
  PACKET_PWRE,
  PACKET_PWRX,
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

/** Control-flow events by the type in CFE (SDM "CFE Packet"). */
export const CFE_NAMES: readonly (string | undefined)[] = [
  undefined,
  'intr',
  'iret',
  'smi',
  'rsm',
  'sipi',
  'init',
  'vmentry',
  'vmexit',
  'vmexit_intr',
  'shutdown',
  undefined,
  'uintr',
  'uiret',
  'swintr',
  'syscall',
];

/** What the number in EVD is, by its type (SDM "EVD Packet"). */
export const EVD_NAMES: readonly (string | undefined)[] = ['cr2', 'vmxq', 'vmxr'];

const CFE_SIPI = 5;
/** Types whose vector means something. It is decimal. That of SIPI is a page number, in hexadecimal. */
const CFE_WITH_VECTOR: readonly number[] = [1, 9, 12, 14];

/** The packet's name and what it carries: `tip.pge 3: 0000000000401000`. */
export function formatPacket(packet: Readonly<Packet>): string {
  const payload = formatPayload(packet);
  const name = PACKET_NAMES[packet.kind]!;
  return payload === '' ? name : `${name} ${payload}`;
}

/** What the packet carries. Empty if it carries nothing. */
export function formatPayload(packet: Readonly<Packet>): string {
  const { kind, type, extra, flags } = packet;
  const lo = packet.lo >>> 0;
  const hi = packet.hi >>> 0;
  switch (kind) {
    case PACKET_TNT8:
    case PACKET_TNT64:
      return formatOutcomes(packet);
    case PACKET_TIP:
    case PACKET_TIP_PGE:
    case PACKET_TIP_PGD:
    case PACKET_FUP:
      return formatIp(packet);
    case PACKET_MODE_EXEC:
      return words(
        [flags & PT_MODE_EXEC_CS_D, 'cs.d'],
        [flags & PT_MODE_EXEC_CS_L, 'cs.l'],
        [flags & PT_MODE_EXEC_IF, 'if'],
      );
    case PACKET_MODE_TSX:
      return words([flags & PT_MODE_TSX_INTX, 'intx'], [flags & PT_MODE_TSX_ABRT, 'abrt']);
    case PACKET_PIP:
      return `${toHex(lo, hi)}${(flags & FLAG_NON_ROOT) !== 0 ? ', nr' : ''}`;
    case PACKET_VMCS:
    case PACKET_MNT:
    case PACKET_TSC:
    case PACKET_CYC:
    case PACKET_MTC:
    case PACKET_CBR:
      return toHex(lo, hi);
    case PACKET_TMA:
      return `${toHex(lo, 0)}, ${toHex(extra, 0)}`;
    case PACKET_PTW:
      return `${type}: ${toHex(lo, hi)}${withIp(flags)}`;
    case PACKET_EXSTOP:
    case PACKET_BEP:
      return (flags & FLAG_IP) !== 0 ? 'ip' : '';
    case PACKET_MWAIT:
      return `${hex(lo, 8)}, ${hex(hi, 8)}`;
    case PACKET_PWRE:
      return `c${cState(type)}.${cState(extra)}${(flags & FLAG_HW) !== 0 ? ', hw' : ''}`;
    case PACKET_PWRX:
      return `${wakeReason(flags)}: c${cState(extra)}, c${cState(type)}`;
    case PACKET_BBP:
      return `${type}, ${extra}`;
    case PACKET_BIP:
      return `${type}: ${toHex(lo, hi)}`;
    case PACKET_CFE:
      if (CFE_WITH_VECTOR.includes(type)) return `${type}: ${extra}${withIp(flags)}`;
      if (type === CFE_SIPI) return `${type}: ${toHex(extra, 0)}${withIp(flags)}`;
      return `${type}${withIp(flags)}`;
    case PACKET_EVD:
      return `${type}: ${toHex(lo, hi)}`;
    case PACKET_TRIG:
      return `${hex(type, 2)}${withIp(flags)}${(flags & FLAG_MULT) !== 0 ? ', mult' : ''}${
        (flags & FLAG_ICNT) !== 0 ? `, icnt: ${extra}` : ''
      }`;
    default:
      return '';
  }
}

/** Width, in bits, that a 16-, 32- or 64-bit MODE.Exec stands for. */
export function execModeName(flags: number): string {
  const isLong = (flags & PT_MODE_EXEC_CS_L) !== 0;
  const isDefault32 = (flags & PT_MODE_EXEC_CS_D) !== 0;
  if (isLong) return isDefault32 ? 'unknown' : '64-bit';
  return isDefault32 ? '32-bit' : '16-bit';
}

/** `!` taken, `.` not taken, the oldest first. */
function formatOutcomes(packet: Readonly<Packet>): string {
  let text = '';
  for (let bit = packet.type - 1; bit >= 0; bit--) {
    const half = bit >= 32 ? packet.hi : packet.lo;
    text += ((half >>> (bit & 31)) & 1) === 1 ? '!' : '.';
  }
  return text;
}

/**
 * The compression, and the digits of the IP that the packet gives. `?` stands for a digit of the last IP.
 */
function formatIp(packet: Readonly<Packet>): string {
  const { type, lo, hi } = packet;
  const digits = PT_IP_BYTES[type]! * 2;
  if (type === PT_IP_SEXT_48) return `${type}: ${hex((hi << 16) >> 16, 8)}${hex(lo, 8)}`;
  const given = digits <= 8 ? (digits === 0 ? '' : hex(lo, digits)) : hex(hi, digits - 8) + hex(lo, 8);
  return `${type}: ${given.padStart(16, '?')}`;
}

/** C-states are numbered from C1, and the fields wrap, so 15 is C0. */
function cState(field: number): number {
  return (field + 1) & 0xf;
}

function wakeReason(flags: number): string {
  switch (flags & (PT_PWRX_INTERRUPT | PT_PWRX_STORE | PT_PWRX_HW)) {
    case PT_PWRX_INTERRUPT:
      return 'int';
    case PT_PWRX_STORE:
      return 'st';
    case PT_PWRX_HW:
      return 'hw';
    default:
      return 'bad';
  }
}

function withIp(flags: number): string {
  return (flags & FLAG_IP) !== 0 ? ', ip' : '';
}

function words(...choices: readonly (readonly [number, string])[]): string {
  return choices.flatMap(([bit, word]) => (bit === 0 ? [] : [word])).join(', ');
}

/** At least `digits` hexadecimal digits of an int32. */
export function hex(value: number, digits: number): string {
  return (value >>> 0).toString(16).padStart(digits, '0');
}
