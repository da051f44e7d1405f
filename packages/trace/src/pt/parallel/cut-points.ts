/**
 * Where a trace can be cut: a PSB whose PSB+ says all that a decoder needs,
 * followed by an outcome or a target.
 *
 *   ... tnt tip | PSB  mode.exec  fup A  PSBEND  [timing] tnt ...
 *       part k  | part k+1: from A, in this mode, without calls on the stack
 *
 * Whether the decoder of part k really comes to that state there is another question (part-runner.ts).
 */
import { findPsb } from '../packets/find-psb.ts';
import { PT_IP_SUPPRESSED } from '../packets/opcodes.ts';
import { Packet } from '../packets/packet.ts';
import {
  PACKET_CBR,
  PACKET_CYC,
  PACKET_FUP,
  PACKET_MODE_EXEC,
  PACKET_MODE_TSX,
  PACKET_MTC,
  PACKET_PAD,
  PACKET_PIP,
  PACKET_PSBEND,
  PACKET_TIP,
  PACKET_TMA,
  PACKET_TNT8,
  PACKET_TNT64,
  PACKET_TSC,
  PACKET_VMCS,
} from '../packets/packet-kinds.ts';
import { readPacket } from '../packets/read-packet.ts';

/** A PSB+ is some dozens of bytes long; one with more padding is left alone. */
const LONGEST_HEADER_BYTES = 1024;
/**
 * Bytes behind the PSB of a cut that the decoder before it needs: its PSB+ and a packet or two. No decoder
 * looks further ahead than to the next PSB, which is longer than what may stand before it in the way, and
 * from inside PSB+ not beyond outcomes and targets.
 */
export const BYTES_BEHIND_CUT: number = 2 * LONGEST_HEADER_BYTES;

/**
 * The first place for a cut whose PSB begins at `from` or later and that lies, with what it
 * needs, before `to`; -1 without any.
 */
export function findCut(bytes: Uint8Array, from: number, to: number): number {
  const end = Math.min(to, bytes.length);
  for (let at = findPsb(bytes, from, end); at >= 0; at = findPsb(bytes, at + 1, end)) {
    if (at + BYTES_BEHIND_CUT > end) return -1;
    if (saysAll(bytes, at, at + LONGEST_HEADER_BYTES)) return at;
  }
  return -1;
}

function saysAll(bytes: Uint8Array, psb: number, end: number): boolean {
  const packet = new Packet();
  let hasMode = false;
  let hasAddress = false;
  let isInHeader = true;
  let at = psb + readPacket(bytes, psb, end, packet);
  for (;;) {
    const size = readPacket(bytes, at, end, packet);
    if (size <= 0) return false;
    at += size;
    switch (packet.kind) {
      case PACKET_PAD:
      case PACKET_TSC:
      case PACKET_TMA:
      case PACKET_MTC:
      case PACKET_CYC:
        break;
      case PACKET_CBR:
      case PACKET_MODE_TSX:
      case PACKET_PIP:
      case PACKET_VMCS:
        if (!isInHeader) return false;
        break;
      case PACKET_MODE_EXEC:
        if (!isInHeader) return false;
        hasMode = true;
        break;
      case PACKET_FUP:
        if (!isInHeader || packet.type === PT_IP_SUPPRESSED) return false;
        hasAddress = true;
        break;
      case PACKET_PSBEND:
        if (!isInHeader || !hasMode || !hasAddress) return false;
        isInHeader = false;
        break;
      case PACKET_TNT8:
      case PACKET_TNT64:
      case PACKET_TIP:
        return !isInHeader;
      default:
        return false;
    }
  }
}
