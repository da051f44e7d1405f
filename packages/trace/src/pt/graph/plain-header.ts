/** PSB+ that tells nothing new: passed over, as most are, without leaving the compiled graph. */
import type { LastIp } from '../packets/last-ip.ts';
import { Packet } from '../packets/packet.ts';
import {
  isStatusKind,
  PACKET_CBR,
  PACKET_CYC,
  PACKET_FUP,
  PACKET_MODE_EXEC,
  PACKET_MODE_TSX,
  PACKET_MTC,
  PACKET_PAD,
  PACKET_PIP,
  PACKET_PSBEND,
  PACKET_TIP_PGE,
  PACKET_TMA,
  PACKET_TSC,
} from '../packets/packet-kinds.ts';
import { readPacket } from '../packets/read-packet.ts';

/** What is true now, so that a PSB+ that says the same may be passed over. */
export interface HeaderState {
  /** Flags of the latest MODE.Exec packet, as far as `modeMask` has them; -1 before the first. */
  readonly modeFlags: number;
  readonly modeMask: number;
  /** CR3 and FLAG_NON_ROOT of the latest PIP. */
  cr3Lo: number;
  cr3Hi: number;
}

const scratchPacket = new Packet();

/** Does a MODE.Exec packet say what is true anyway? */
export function isSameMode(packet: Readonly<Packet>, state: Readonly<HeaderState>): boolean {
  return (packet.flags & state.modeMask) === state.modeFlags;
}

/**
 * Read the PSB+ at `position`. Returns the offset behind its PSBEND where it says what `state` says and has
 * an address, which is then in `ip`; 0 where it must be read by the exact decoder. `bdm70`: with TIP.PGE
 * behind it, it says that tracing is on too early.
 */
export function readPlainHeader(
  bytes: Uint8Array,
  position: number,
  end: number,
  state: Readonly<HeaderState>,
  ip: LastIp,
  bdm70: boolean,
): number {
  const packet = scratchPacket;
  let at = position + readPacket(bytes, position, end, packet);
  ip.reset();
  for (;;) {
    const size = readPacket(bytes, at, end, packet);
    if (size <= 0) return 0;
    at += size;
    switch (packet.kind) {
      case PACKET_PSBEND:
        return ip.known && !(bdm70 && mayEnable(bytes, at, end)) ? at : 0;
      case PACKET_FUP:
        if (ip.known || !ip.update(packet)) return 0;
        break;
      case PACKET_MODE_EXEC:
        if (!isSameMode(packet, state)) return 0;
        break;
      case PACKET_MODE_TSX:
        if (packet.flags !== 0) return 0;
        break;
      case PACKET_PIP:
        if (packet.lo !== state.cr3Lo || packet.hi !== state.cr3Hi) return 0;
        break;
      case PACKET_PAD:
      case PACKET_TSC:
      case PACKET_TMA:
      case PACKET_MTC:
      case PACKET_CYC:
      case PACKET_CBR:
        break;
      default:
        return 0;
    }
  }
}

/** Does a TIP.PGE follow, or may it behind the end? `flow/header.ts` asks the same of what it has. */
function mayEnable(bytes: Uint8Array, position: number, end: number): boolean {
  const packet = scratchPacket;
  for (let at = position; ; at += packet.size) {
    if (readPacket(bytes, at, end, packet) <= 0) return true;
    if (packet.kind === PACKET_TIP_PGE) return true;
    if (packet.kind !== PACKET_PSBEND && !isStatusKind(packet.kind)) return false;
  }
}
