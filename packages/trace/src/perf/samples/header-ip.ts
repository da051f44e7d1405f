import { LastIp, PACKET_FUP, PACKET_PSBEND, Packet, PT_SIZE_PSB, readPacket } from '../../pt/index.ts';

/** Packets of a PSB+ that are looked through for its FUP. */
const MOST_HEADER_PACKETS = 64;

/** The address that a PSB+ gives, if it gives one. */
export function headerIp(bytes: Uint8Array, psb: number): LastIp | null {
  const packet = new Packet();
  const lastIp = new LastIp();
  let at = psb + PT_SIZE_PSB;
  for (let count = 0; count < MOST_HEADER_PACKETS; count++) {
    const size = readPacket(bytes, at, bytes.length, packet);
    if (size <= 0 || packet.kind === PACKET_PSBEND) return null;
    if (packet.kind === PACKET_FUP) return lastIp.update(packet) ? lastIp : null;
    at += size;
  }
  return null;
}
