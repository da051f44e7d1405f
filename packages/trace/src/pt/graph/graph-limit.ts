/**
 * Errata that change what packets mean: how far the graph may run before one of them may have happened.
 * The rare place is found by its bytes; where those are part of something else, the exact decoder does a
 * few packets more than it must.
 *
 *   SKD007   an OVF may stand in the middle of a CYC packet: up to the byte before the next OVF
 *   BDM64    the branch before an aborted transaction may have been told wrong: up to that branch
 */
import type { Errata } from '../packets/errata.ts';
import {
  PT_EXT_OVF,
  PT_EXTENDED,
  PT_MODE,
  PT_MODE_LEAF_MASK,
  PT_MODE_LEAF_TSX,
  PT_MODE_TSX_ABRT,
} from '../packets/opcodes.ts';
import { Packet } from '../packets/packet.ts';
import { PACKET_TIP, PACKET_TNT8, PACKET_TNT64 } from '../packets/packet-kinds.ts';
import { readPacket } from '../packets/read-packet.ts';

export class GraphLimit {
  readonly #bytes: Uint8Array;
  readonly #end: number;
  readonly #errata: Errata;
  readonly #packet = new Packet();
  /** The next place of either kind, infinite if there is none; -1: not looked for. */
  #overflow = -1;
  #abort = -1;
  /** The last branch before that abort. */
  #branch = -1;

  constructor(bytes: Uint8Array, end: number, errata: Errata) {
    this.#bytes = bytes;
    this.#end = end;
    this.#errata = errata;
  }

  /**
   * For a packet that begins at a position: the offset up to which what follows means what it says. At or
   * before the position: so may not even the outcomes of the packet before. Positions only grow.
   */
  after(position: number): number {
    let limit = Number.POSITIVE_INFINITY;
    if (this.#errata.skd007) {
      if (position > this.#overflow) this.#overflow = this.#find(position, PT_EXTENDED, isOverflow);
      limit = this.#overflow - 1;
    }
    if (this.#errata.bdm64) {
      if (position > this.#abort) {
        this.#abort = this.#find(position, PT_MODE, isAbort);
        this.#branch = -1;
      }
      if (position > this.#branch)
        this.#branch = Number.isFinite(this.#abort) ? this.#lastBranch(position, this.#abort) : this.#abort;
      limit = Math.min(limit, this.#branch);
    }
    return limit;
  }

  /** The first `header` at or behind `from` with a payload that `isMeant`. */
  #find(from: number, header: number, isMeant: (payload: number) => boolean): number {
    const bytes = this.#bytes;
    const last = this.#end - 1;
    for (let at = from; at < last; at++) if (bytes[at] === header && isMeant(bytes[at + 1]!)) return at;
    return Number.POSITIVE_INFINITY;
  }

  /** The last packet before `end` that tells of a branch; `from` where none does. */
  #lastBranch(from: number, end: number): number {
    const packet = this.#packet;
    let last = from;
    for (let at = from; at < end; at += packet.size) {
      if (readPacket(this.#bytes, at, this.#end, packet) <= 0) break;
      const { kind } = packet;
      if (kind === PACKET_TNT8 || kind === PACKET_TNT64 || kind === PACKET_TIP) last = at;
    }
    return last;
  }
}

function isOverflow(payload: number): boolean {
  return payload === PT_EXT_OVF;
}

function isAbort(payload: number): boolean {
  return (payload & PT_MODE_LEAF_MASK) === PT_MODE_LEAF_TSX && (payload & PT_MODE_TSX_ABRT) !== 0;
}
