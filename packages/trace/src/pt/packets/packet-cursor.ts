/** Walks over the packets of a trace. Only this module moves the position. */
import type { Errata } from './errata.ts';
import { NO_ERRATA } from './errata.ts';
import { findPsb } from './find-psb.ts';
import {
  PT_BIP,
  PT_BIP_MASK,
  PT_CYC,
  PT_CYC_FIRST_BITS,
  PT_CYC_MASK,
  PT_CYC_MORE,
  PT_CYC_NEXT_MORE,
  PT_CYC_NEXT_SHIFT,
  PT_CYC_SHIFT,
  PT_EXT_OVF,
  PT_EXTENDED,
  PT_MTC,
  PT_SIZE_HEADER_ONLY,
  PT_SIZE_MTC,
  PT_SIZE_PSB,
  PT_SIZE_TMA,
} from './opcodes.ts';
import { Packet } from './packet.ts';
import {
  hasIpPayload,
  PACKET_BBP,
  PACKET_BIP,
  PACKET_CBR,
  PACKET_CYC,
  PACKET_EXSTOP,
  PACKET_FUP,
  PACKET_INVALID,
  PACKET_KINDS,
  PACKET_MNT,
  PACKET_MTC,
  PACKET_OVF,
  PACKET_PAD,
  PACKET_PWRE,
  PACKET_PWRX,
  PACKET_TMA,
  PACKET_TSC,
} from './packet-kinds.ts';
import { BAD_PACKET, NEED_MORE, readBlockItem, readPacket } from './read-packet.ts';
import { requireBytes } from './require-bytes.ts';

/** Which bytes are read, and of which processor they are. */
export interface PacketCursorOptions {
  /** Where to begin, as an offset. Default: 0. */
  readonly from?: number;
  /** Where to end, as an offset. Default: the end of the bytes. */
  readonly to?: number;
  /** `errataOf` the processor that wrote the trace. Default: none. */
  readonly errata?: Errata;
}

/** Kinds that do not end a PEBS block. Every other kind does, also in perf. */
const STAYS_IN_BLOCK = new Uint8Array(PACKET_KINDS);
for (const kind of [
  PACKET_PAD,
  PACKET_TSC,
  PACKET_TMA,
  PACKET_MTC,
  PACKET_FUP,
  PACKET_CYC,
  PACKET_CBR,
  PACKET_MNT,
  PACKET_EXSTOP,
  PACKET_PWRE,
  PACKET_PWRX,
  PACKET_BIP,
])
  STAYS_IN_BLOCK[kind] = 1;

/** By first byte: the whole packet, as kind | type << 8 | lo << 16. 0 if the packet has more bytes. */
const ONE_BYTE_PACKETS: Int32Array = Int32Array.from({ length: 256 }, (_, byte) => {
  const packet = new Packet();
  const size = readPacket(Uint8Array.of(byte), 0, 1, packet);
  return size === 1 && !hasIpPayload(packet.kind) ? packet.kind | (packet.type << 8) | (packet.lo << 16) : 0;
});

/**
 * Packet after packet over a trace. `next` is the fast way, `packets` the short one:
 *
 *     const cursor = new PacketCursor(bytes);
 *     cursor.resynchronize(); // to the first PSB
 *     for (const packet of cursor.packets()) console.log(cursor.offset, formatPacket(packet));
 *
 * It knows what a single packet cannot tell: where a PEBS block is open, what the processor's errata change,
 * and where to go on after damage.
 */
export class PacketCursor {
  // Fields are declared, and numbers start as numbers. If a field is `undefined` first, V8 keeps it as a
  // field of any type for good.
  /** The trace. */
  declare readonly bytes: Uint8Array;
  /** Where reading ends, as an offset in `bytes`. */
  declare readonly end: number;
  /** The packet that `next` has read last. Borrowed: the next call overwrites it. */
  readonly packet = new Packet();
  /** Where the next packet begins. */
  position = 0;
  /** How often `resynchronize` was called. */
  resynchronizations = 0;
  /** Bytes that `resynchronize` stepped over. */
  skippedBytes = 0;
  /** This is a field, because V8 knows what a field holds. It checks a variable of a module at each use. */
  readonly #oneBytePackets = ONE_BYTE_PACKETS;
  readonly #errata: Errata;
  readonly #hasPacketErrata: boolean;
  /** The end of the PSB at which decoding began. Resynchronization does not go back before it. */
  #afterSync = 0;
  /** 4 or 8 between BBP and BEP, else 0. */
  #itemBytes = 0;
  /** `end`, or 0 while a block is open. So one comparison in `next` tests both. */
  #plainEnd = 0;

  constructor(bytes: Uint8Array, options: PacketCursorOptions = {}) {
    requireBytes(bytes);
    this.bytes = bytes;
    this.end = Math.min(options.to ?? bytes.length, bytes.length);
    this.position = Math.max(options.from ?? 0, 0);
    this.#afterSync = this.position;
    this.#plainEnd = this.end;
    this.#errata = options.errata ?? NO_ERRATA;
    this.#hasPacketErrata = this.#errata.skd007 || this.#errata.skz84;
  }

  /** Where the packet starts that `next` has read last, or has failed to read. */
  get offset(): number {
    return this.position - this.packet.size;
  }

  /**
   * Read the packet at `position` into `packet`, and move to its end. Returns its size in bytes. If the
   * answer is below 0, nothing has moved. NEED_MORE: the bytes end here, maybe inside a packet. BAD_OPCODE or
   * BAD_PACKET: there is damage, and `resynchronize` finds the next place to read.
   *
   * Most packets have one byte: TNT-8, and CYC if it is on. They are read here, from a table
   * that `readPacket` has made.
   */
  next(): number {
    const { position, packet } = this;
    if (position < this.#plainEnd) {
      const whole = this.#oneBytePackets[this.bytes[position]!]!;
      if (whole !== 0) {
        packet.kind = whole & 0xff;
        packet.size = 1;
        packet.type = (whole >> 8) & 0xff;
        packet.lo = whole >> 16;
        packet.hi = 0;
        this.position = position + 1;
        return 1;
      }
    }
    return this.#nextOther();
  }

  /**
   * Reads any packet. The packets of two bytes that are frequent with CYC come first, without a call of
   * `readPacket`.
   *
   * This is one long method on purpose. V8 inlines at most 460 bytes of bytecode. If it inlines this into the
   * loop that calls `next`, its variables take the registers from the path for one byte: 9.2 ns for a packet
   * instead of 6.3 (measured on pt/gzip base).
   */
  #nextOther(): number {
    const { bytes, position, packet } = this;
    if (position + 1 < this.#plainEnd && !this.#hasPacketErrata) {
      const first = bytes[position]!;
      const second = bytes[position + 1]!;
      if (
        (first & (PT_CYC_MASK | PT_CYC_MORE)) === (PT_CYC | PT_CYC_MORE) &&
        (second & PT_CYC_NEXT_MORE) === 0
      ) {
        packet.kind = PACKET_CYC;
        packet.lo = (first >>> PT_CYC_SHIFT) | ((second >>> PT_CYC_NEXT_SHIFT) << PT_CYC_FIRST_BITS);
        packet.hi = 0;
        packet.size = 2;
        this.position = position + 2;
        return 2;
      }
      if (first === PT_MTC) {
        packet.kind = PACKET_MTC;
        packet.lo = second;
        packet.hi = 0;
        packet.size = PT_SIZE_MTC;
        this.position = position + PT_SIZE_MTC;
        return PT_SIZE_MTC;
      }
    }
    const itemBytes = this.#itemBytes;
    const isItem = itemBytes !== 0 && position < this.end && (bytes[position]! & PT_BIP_MASK) === PT_BIP;
    let size = isItem
      ? readBlockItem(bytes, position, this.end, itemBytes, packet)
      : readPacket(bytes, position, this.end, packet);
    if (size > 0) {
      if (packet.kind === PACKET_BBP) this.#setBlock(packet.extra);
      else if (itemBytes !== 0 && STAYS_IN_BLOCK[packet.kind] === 0) this.#setBlock(0);
    }
    if (this.#hasPacketErrata) {
      if (this.#errata.skz84 && size === BAD_PACKET && packet.kind === PACKET_TMA) {
        // TMA, and the stray byte after it.
        packet.kind = PACKET_INVALID;
        packet.size = PT_SIZE_TMA + 1;
        size = position + packet.size <= this.end ? packet.size : NEED_MORE;
      } else if (
        this.#errata.skd007 &&
        packet.kind === PACKET_CYC &&
        size === 2 &&
        (bytes[position]! & PT_CYC_MORE) !== 0 &&
        bytes[position + 1] === PT_EXTENDED &&
        position + 2 < this.end &&
        bytes[position + 2] === PT_EXT_OVF
      ) {
        // The first byte of a CYC, then OVF. The count is lost, and the overflow is the packet.
        packet.kind = PACKET_OVF;
        packet.size = 1 + PT_SIZE_HEADER_ONLY;
        this.#setBlock(0);
        size = packet.size;
      }
    }
    if (size > 0) this.position = position + size;
    else packet.size = 0;
    return size;
  }

  /**
   * Go to the first PSB at the position or after it. After damage, the bad packet may have swallowed the
   * start of that PSB. The search therefore begins up to 15 bytes earlier, but never before the end of the
   * PSB that was found last. False if there is no PSB: then the position is at the end.
   */
  resynchronize(): boolean {
    const from = Math.max(this.#afterSync, this.position - (PT_SIZE_PSB - 1));
    const found = findPsb(this.bytes, from, this.end);
    this.resynchronizations++;
    this.#setBlock(0);
    const to = found < 0 ? this.end : found;
    this.skippedBytes += Math.max(to - this.position, 0);
    this.packet.size = 0;
    this.position = to;
    this.#afterSync = found < 0 ? this.end : found + PT_SIZE_PSB;
    return found >= 0;
  }

  /** All packets. It continues after damage, which `resynchronizations` counts. Borrowed, like `packet`. */
  *packets(): Generator<Packet, void, undefined> {
    for (;;) {
      const size = this.next();
      if (size > 0) yield this.packet;
      else if (size === NEED_MORE || !this.resynchronize()) return;
    }
  }

  #setBlock(itemBytes: number): void {
    this.#itemBytes = itemBytes;
    this.#plainEnd = itemBytes === 0 ? this.end : 0;
  }
}
