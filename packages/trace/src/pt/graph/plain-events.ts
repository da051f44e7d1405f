/**
 * Events of a few packets in their usual form, looked at before anything of them is used up:
 *
 *   FUP [timing] TIP                 an interrupt, with what it interrupts and where it leads
 *   FUP [timing] TIP.PGD             the same, where what follows is not traced
 *   MODE.Exec [timing] TIP.PGE       tracing goes on, in the same execution mode
 *   PIP [timing] TNT or TIP          CR3 is written, and the way goes on to its branch
 *
 * Anything else between them is for the exact decoder.
 */
import type { LastIp } from '../packets/last-ip.ts';
import { PT_COMPRESSION_SHIFT, PT_IP_MASK, PT_IP_SUPPRESSED, PT_TIP_PGE } from '../packets/opcodes.ts';
import { Packet } from '../packets/packet.ts';
import {
  PACKET_CBR,
  PACKET_CYC,
  PACKET_MTC,
  PACKET_PAD,
  PACKET_TIP,
  PACKET_TIP_PGD,
  PACKET_TIP_PGE,
  PACKET_TMA,
  PACKET_TNT8,
  PACKET_TNT64,
  PACKET_TSC,
} from '../packets/packet-kinds.ts';
import { readPacket } from '../packets/read-packet.ts';

const scratchPacket = new Packet();

/** An asynchronous branch; addresses are int32 halves. */
export class AsyncBranch {
  /** The instruction that was not executed any more. */
  ipLo = 0;
  ipHi = 0;
  toLo = 0;
  toHi = 0;
  /** Where it leads is not traced; `hasTarget`: but told. */
  isDisabled = false;
  hasTarget = false;
}

export function isTiming(kind: number): boolean {
  return (
    kind === PACKET_CYC ||
    kind === PACKET_MTC ||
    kind === PACKET_TSC ||
    kind === PACKET_TMA ||
    kind === PACKET_CBR
  );
}

/**
 * The FUP `packet` was read from before `position`: with what completes it. Returns the offset behind that,
 * with `lastIp` moved on; 0 where it must be read by the exact decoder, and then `lastIp` is spoilt.
 */
export function readAsyncBranch(
  bytes: Uint8Array,
  position: number,
  end: number,
  packet: Readonly<Packet>,
  lastIp: LastIp,
  branch: AsyncBranch,
): number {
  if (!lastIp.update(packet)) return 0;
  branch.ipLo = lastIp.lo;
  branch.ipHi = lastIp.hi;
  const after = skipTiming(bytes, position, end);
  if (after < 0) return 0;
  const { kind } = scratchPacket;
  if (kind !== PACKET_TIP && kind !== PACKET_TIP_PGD) return 0;
  branch.isDisabled = kind === PACKET_TIP_PGD;
  branch.hasTarget = lastIp.update(scratchPacket);
  if (!branch.hasTarget && !branch.isDisabled) return 0;
  branch.toLo = lastIp.lo;
  branch.toHi = lastIp.hi;
  return after;
}

/** Is a TIP.PGE with its address what comes first behind timing packets? */
export function isEnableNext(bytes: Uint8Array, position: number, end: number): boolean {
  // Nearly always it is the next packet. One that is cut or wrong is met right after.
  if (position < end) {
    const header = bytes[position]!;
    if ((header & PT_IP_MASK) === PT_TIP_PGE) return header >>> PT_COMPRESSION_SHIFT !== PT_IP_SUPPRESSED;
  }
  return (
    skipTiming(bytes, position, end) >= 0 &&
    scratchPacket.kind === PACKET_TIP_PGE &&
    scratchPacket.type !== PT_IP_SUPPRESSED
  );
}

/**
 * Is an outcome or a target what comes first behind timing packets? Not what may
 * belong to the instruction before.
 */
export function isBranchNext(bytes: Uint8Array, position: number, end: number): boolean {
  if (skipTiming(bytes, position, end) < 0) return false;
  const { kind } = scratchPacket;
  return kind === PACKET_TNT8 || kind === PACKET_TIP || kind === PACKET_TNT64;
}

/**
 * Read the first packet that does not tell of time, into `scratchPacket`. The offset behind it, or below 0.
 */
function skipTiming(bytes: Uint8Array, position: number, end: number): number {
  let at = position;
  for (;;) {
    const size = readPacket(bytes, at, end, scratchPacket);
    if (size <= 0) return -1;
    at += size;
    if (scratchPacket.kind !== PACKET_PAD && !isTiming(scratchPacket.kind)) return at;
  }
}
