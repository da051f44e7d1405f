import { encodePacket } from './encode-packet.ts';
import { PT_MAX_PACKET_BYTES } from './opcodes.ts';
import { Packet } from './packet.ts';

/** Appends packets to bytes that grow. */
export class PacketWriter {
  #bytes: Uint8Array<ArrayBuffer>;
  #length = 0;
  readonly #scratchPacket = new Packet();

  constructor(capacityBytes = 4096) {
    this.#bytes = new Uint8Array(Math.max(capacityBytes, PT_MAX_PACKET_BYTES));
  }

  /** Bytes so far. */
  get length(): number {
    return this.#length;
  }

  /** Append a packet; returns its size. */
  write(packet: Readonly<Packet>): number {
    if (this.#length + PT_MAX_PACKET_BYTES > this.#bytes.length) {
      const grown = new Uint8Array(this.#bytes.length * 2);
      grown.set(this.#bytes);
      this.#bytes = grown;
    }
    const size = encodePacket(packet, this.#bytes, this.#length);
    this.#length += size;
    return size;
  }

  /** Append a packet of `kind`; fields that are not named are zero. */
  put(kind: number, fields: Partial<Omit<Packet, 'kind' | 'size'>> = {}): number {
    const packet = this.#scratchPacket;
    packet.kind = kind;
    packet.lo = fields.lo ?? 0;
    packet.hi = fields.hi ?? 0;
    packet.type = fields.type ?? 0;
    packet.extra = fields.extra ?? 0;
    packet.flags = fields.flags ?? 0;
    return this.write(packet);
  }

  /** Start again in the same memory. It overwrites what `bytes` gave before. */
  clear(): void {
    this.#length = 0;
  }

  /** What was written. Borrowed until the next write. */
  bytes(): Uint8Array<ArrayBuffer> {
    return this.#bytes.subarray(0, this.#length);
  }
}
