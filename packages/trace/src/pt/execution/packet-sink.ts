import { encodePacket } from '../packets/encode-packet.ts';
import {
  PT_IP_FULL,
  PT_IP_SEXT_48,
  PT_IP_SUPPRESSED,
  PT_IP_UPDATE_16,
  PT_IP_UPDATE_32,
  PT_MAX_PACKET_BYTES,
  PT_TNT8_MAX_BITS,
  PT_TNT64_MAX_BITS,
} from '../packets/opcodes.ts';
import { Packet } from '../packets/packet.ts';
import { PACKET_TIP, PACKET_TNT8, PACKET_TNT64 } from '../packets/packet-kinds.ts';

/** Targets that wait at most. */
const MOST_DEFERRED = 8;

/** What a loop holds that writes packets by itself, until it gives them back. */
export interface OpenPackets {
  readonly bytes: Uint8Array;
  /** From here on `bytes` is free. */
  used: number;
  /** Those that wait for their packet, below a one. */
  outcomes: number;
  /** The last IP. */
  lastLo: number;
  lastHi: number;
}

/** How much of an IP is left out, because the last one had it. */
export function ipCompression(lo: number, hi: number, lastLo: number, lastHi: number): number {
  if (hi === lastHi) return ((lo ^ lastLo) & 0xffff_0000) === 0 ? PT_IP_UPDATE_16 : PT_IP_UPDATE_32;
  return (hi << 16) >> 16 === hi ? PT_IP_SEXT_48 : PT_IP_FULL;
}

/**
 * Packets to bytes, in chunks: with the IP compression and the buffer of outcomes that the CPU has.
 * `putTime`, where given, is called before every packet that tells of a time, to put it.
 */
export class PacketSink {
  /** Bytes since the beginning of the trace. */
  offset = 0;
  readonly #chunkBytes: number;
  #bytes: Uint8Array<ArrayBuffer>;
  #used = 0;
  readonly #ready: Uint8Array<ArrayBuffer>[] = [];
  readonly #packet = new Packet();
  #lastLo = 0;
  #lastHi = 0;
  #tntLo = 0;
  #tntHi = 0;
  #tntCount = 0;
  readonly #tntBits: number;
  readonly #defersTips: boolean;
  /** Targets that wait for the outcomes before them: low and high half in turn. */
  readonly #deferred = new Int32Array(2 * MOST_DEFERRED);
  #deferredCount = 0;
  readonly #putTime: (() => void) | null;
  #lent: OpenPackets | null = null;

  constructor(chunkBytes: number, hasLongTnt: boolean, defersTips: boolean, putTime: (() => void) | null) {
    this.#defersTips = defersTips;
    this.#chunkBytes = chunkBytes;
    this.#bytes = new Uint8Array(chunkBytes + 4 * PT_MAX_PACKET_BYTES);
    this.#tntBits = hasLongTnt ? PT_TNT64_MAX_BITS : PT_TNT8_MAX_BITS;
    this.#putTime = putTime;
  }

  /** Chunks that are full; with `all` the last one too. They belong to the caller. */
  *chunks(all: boolean): Generator<Uint8Array<ArrayBuffer>> {
    yield* this.#ready.splice(0);
    if (!all || this.#used === 0) return;
    const last = this.#bytes.slice(0, this.#used);
    this.#used = 0;
    yield last;
  }

  get hasChunk(): boolean {
    return this.#ready.length > 0;
  }

  put(kind: number, lo = 0, hi = 0, type = 0, extra = 0, flags = 0): void {
    const packet = this.#packet;
    packet.kind = kind;
    packet.lo = lo;
    packet.hi = hi;
    packet.type = type;
    packet.extra = extra;
    packet.flags = flags;
    const size = encodePacket(packet, this.#bytes, this.#used);
    this.#used += size;
    this.offset += size;
    if (this.#used >= this.#chunkBytes) this.#endChunk(this.#bytes.length);
  }

  #endChunk(nextBytes: number): void {
    if (this.#used > 0) this.#ready.push(this.#bytes.subarray(0, this.#used));
    this.#bytes = new Uint8Array(nextBytes);
    this.#used = 0;
  }

  /**
   * For a loop that puts TNT8 and TIP packets without a call each: `roomBytes` are free. Nothing else is put
   * until `takeBack`.
   */
  lend(roomBytes: number): OpenPackets {
    if (this.#used + roomBytes > this.#bytes.length) this.#endChunk(this.#chunkBytes + roomBytes);
    this.#lent = {
      bytes: this.#bytes,
      used: this.#used,
      outcomes: (1 << this.#tntCount) | this.#tntLo,
      lastLo: this.#lastLo,
      lastHi: this.#lastHi,
    };
    return this.#lent;
  }

  /** What the loop has made of what it was lent; no packet's worth of outcomes waits. */
  takeBack(): void {
    const { used, outcomes, lastLo, lastHi } = this.#lent!;
    this.offset += used - this.#used;
    this.#used = used;
    this.#tntCount = 31 - Math.clz32(outcomes);
    this.#tntLo = outcomes ^ (1 << this.#tntCount);
    this.#lastLo = lastLo;
    this.#lastHi = lastHi;
    this.#lent = null;
    if (used >= this.#chunkBytes) this.#endChunk(this.#bytes.length);
  }

  /** TIP, TIP.PGE, FUP with an address, as short as the last one allows. */
  putIp(kind: number, lo: number, hi: number): void {
    const compression = ipCompression(lo, hi, this.#lastLo, this.#lastHi);
    this.#lastLo = lo;
    this.#lastHi = hi;
    const low = compression === PT_IP_UPDATE_16 ? lo & 0xffff : lo;
    const high = compression === PT_IP_FULL ? hi : compression === PT_IP_SEXT_48 ? hi & 0xffff : 0;
    this.put(kind, low, high, compression);
  }

  /**
   * The target of an indirect jump or call. A CPU may let it wait until the TNT packet is full (SDM,
   * "Deferred TIPs"): the packet then has outcomes from before and behind the branch, and the
   * targets follow it in order.
   */
  putTarget(lo: number, hi: number): void {
    if (!this.#defersTips || this.#tntCount === 0) {
      this.putTargetNow(lo, hi);
      return;
    }
    this.#deferred[2 * this.#deferredCount] = lo;
    this.#deferred[2 * this.#deferredCount + 1] = hi;
    if (++this.#deferredCount === MOST_DEFERRED) this.flushOutcomes();
  }

  /**
   * The target of a return: with outcomes still to come in the packet before, one of them would be
   * taken for a compressed return.
   */
  putTargetNow(lo: number, hi: number): void {
    this.flushOutcomes();
    this.putTime();
    this.putIp(PACKET_TIP, lo, hi);
  }

  /** TIP.PGD whose address is outside of what may be seen. */
  putSuppressed(kind: number): void {
    this.put(kind, 0, 0, PT_IP_SUPPRESSED);
  }

  /** PSB: the decoder may begin here, and knows no last address. */
  forgetIp(): void {
    this.#lastLo = 0;
    this.#lastHi = 0;
  }

  /** One more outcome; true when that filled the packet and wrote it. */
  outcome(isTaken: boolean): boolean {
    this.#tntHi = (this.#tntHi << 1) | (this.#tntLo >>> 31);
    this.#tntLo = (this.#tntLo << 1) | (isTaken ? 1 : 0);
    return ++this.#tntCount === this.#tntBits ? this.flushOutcomes() : false;
  }

  /** False if there were none. */
  flushOutcomes(): boolean {
    const tntCount = this.#tntCount;
    const tntLo = this.#tntLo;
    const tntHi = this.#tntHi;
    if (tntCount === 0) return false;
    this.#tntCount = 0;
    this.#tntLo = 0;
    this.#tntHi = 0;
    this.putTime();
    this.put(tntCount <= PT_TNT8_MAX_BITS ? PACKET_TNT8 : PACKET_TNT64, tntLo, tntHi, tntCount);
    for (let index = 0; index < this.#deferredCount; index++) {
      this.putTime();
      this.putIp(PACKET_TIP, this.#deferred[2 * index]!, this.#deferred[2 * index + 1]!);
    }
    this.#deferredCount = 0;
    return true;
  }

  putTime(): void {
    this.#putTime?.();
  }
}
