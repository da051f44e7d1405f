/** PSB+ that tells nothing new: passed over, as most are, without leaving the compiled graph. */
import type { LastIp } from '../last-ip.ts';
import { Packet } from '../packet.ts';
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
  PACKET_TMA,
  PACKET_TSC,
} from '../packet-kinds.ts';
import { readPacket } from '../read-packet.ts';

/** What is true now, so that a PSB+ that says the same may be passed over. */
export interface HeaderState {
  /** Flags of the latest MODE.Exec packet. */
  readonly modeFlags: number;
  /** CR3 and FLAG_NON_ROOT of the latest PIP. */
  readonly cr3Lo: number;
  readonly cr3Hi: number;
}

const scratchPacket = new Packet();

/**
 * Read the PSB+ at `position`. Returns the offset behind its PSBEND where it says what `state` says and has an address, which
 * is then in `ip`; 0 where it must be read by the exact decoder.
 */
export function readPlainHeader(
  bytes: Uint8Array,
  position: number,
  end: number,
  state: Readonly<HeaderState>,
  ip: LastIp,
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
        if (!ip.known) return 0;
        return at;
      case PACKET_FUP:
        if (ip.known || !ip.update(packet)) return 0;
        break;
      case PACKET_MODE_EXEC:
        if (packet.flags !== state.modeFlags) return 0;
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
