import {
  PT_IP_FULL,
  PT_IP_SEXT_48,
  PT_IP_SUPPRESSED,
  PT_IP_UPDATE_16,
  PT_IP_UPDATE_32,
  PT_IP_UPDATE_48,
} from './opcodes.ts';
import type { Packet } from './packet.ts';

/**
 * The last IP that a packet carried: IP packets leave out what they share with it (SDM "IP Compression").
 * Give it every TIP, TIP.PGE, TIP.PGD and FUP, and `reset` it at each PSB.
 *
 *   compression   payload        becomes
 *   suppressed    -              unchanged, and not to be used for this packet
 *   update 16     ........1234   the low 16 bits replaced
 *   update 32     ....12345678   the low 32 bits
 *   update 48     123456789abc   the low 48 bits
 *   sext 48       123456789abc   all of it, bit 47 spread upwards
 *   full          all 64 bits
 */
export class LastIp {
  /** The low half, as an int32. `>>> 0` makes it unsigned. */
  lo = 0;
  /** The high half. */
  hi = 0;
  /** Whether a packet has given an IP since the last reset. */
  known = false;
  /** Whether the latest IP packet left its IP out. */
  suppressed = false;

  /** Forget the IP. At a PSB the processor forgets it, too. */
  reset(): void {
    this.lo = 0;
    this.hi = 0;
    this.known = false;
    this.suppressed = false;
  }

  /**
   * As after a packet with all 64 bits.
   *
   * @internal
   */
  set(lo: number, hi: number): void {
    this.lo = lo;
    this.hi = hi;
    this.known = true;
    this.suppressed = false;
  }

  /** @internal */
  copyFrom(other: Readonly<LastIp>): void {
    this.lo = other.lo;
    this.hi = other.hi;
    this.known = other.known;
    this.suppressed = other.suppressed;
  }

  /** Take the IP of a TIP, TIP.PGE, TIP.PGD or FUP. False if the packet left it out. */
  update(packet: Readonly<Packet>): boolean {
    const compression = packet.type;
    if (compression === PT_IP_SUPPRESSED) {
      this.suppressed = true;
      return false;
    }
    this.known = true;
    this.suppressed = false;
    switch (compression) {
      case PT_IP_UPDATE_16:
        this.lo = (this.lo & ~0xffff) | packet.lo;
        return true;
      case PT_IP_UPDATE_32:
        this.lo = packet.lo;
        return true;
      case PT_IP_SEXT_48:
        this.lo = packet.lo;
        this.hi = (packet.hi << 16) >> 16;
        return true;
      case PT_IP_UPDATE_48:
        this.lo = packet.lo;
        this.hi = (this.hi & ~0xffff) | packet.hi;
        return true;
      case PT_IP_FULL:
        this.lo = packet.lo;
        this.hi = packet.hi;
        return true;
      default:
        return false;
    }
  }
}
