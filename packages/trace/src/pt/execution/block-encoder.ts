import {
  PT_COMPRESSION_SHIFT,
  PT_IP_BYTES,
  PT_TIP,
  PT_TNT8_MAX_BITS,
  PT_TNT8_SHIFT,
} from '../packets/opcodes.ts';
import {
  BEHIND_SHIFT,
  END_CALL,
  END_CALL_INDIRECT,
  END_CONDITIONAL,
  END_FAR,
  END_MASK,
  END_RETURN,
  PLACE_WORDS,
} from './block-ends.ts';
import type { BlockTable } from './block-table.ts';
import type { CallStack } from './call-stack.ts';
import { ipCompression, type OpenPackets, type PacketSink } from './packet-sink.ts';

/** Outcomes are gathered until they fill five packets. Above them is a one. */
const FULL = 1 << 30;
const FULL_PACKETS = 5;
const NO_OUTCOMES = 1;
const PACKET_MASK = (1 << PT_TNT8_MAX_BITS) - 1;
const PACKET_ONE = 1 << PT_TNT8_MAX_BITS;
/** What a block adds at most: the last outcome of a packet, a target, and its header. */
const MOST_BLOCK_BYTES = 10;

/**
 * The loop of `StepEncoder.blocks`: some nanoseconds a block, where `StepEncoder.step` takes fifty. It writes
 * the same bytes; change both.
 */
export class BlockEncoder {
  readonly #sink: PacketSink;
  readonly #calls: CallStack;
  readonly #returnCompression: boolean;

  constructor(sink: PacketSink, calls: CallStack, returnCompression: boolean) {
    this.#sink = sink;
    this.#calls = calls;
    this.#returnCompression = returnCompression;
  }

  /**
   * From `ids[from]` on each block led to the next one, up to `ids[to]`. Stops early in front of a block that
   * ends with a way into the kernel. Returns where it stopped.
   */
  encode(table: BlockTable, ids: Int32Array, from: number, to: number): number {
    const open = this.#sink.lend((to - from + 1) * MOST_BLOCK_BYTES);
    const { ends } = table;
    const { bytes } = open;
    let { used, outcomes } = open;
    let end = ends[ids[from]!]!;
    let at = from;
    while (at < to) {
      const kind = end & END_MASK;
      const id = ids[at + 1]!;
      if (kind <= END_CONDITIONAL) {
        // Without a jump of ours: whether it was taken is what a processor guesses worst.
        const behind = Math.clz32(id ^ (end >> BEHIND_SHIFT)) >>> 5;
        outcomes = (outcomes << kind) | (kind & (behind ^ 1));
      } else if (kind === END_FAR) {
        break;
      } else if (kind === END_CALL) {
        this.#push(table, ids[at]!, id);
      } else if (kind === END_RETURN && this.#returnCompression && this.#pop(table, id)) {
        outcomes = (outcomes << 1) | 1;
      } else {
        if (kind === END_CALL_INDIRECT) this.#push(table, ids[at]!, id);
        used = putOutcomes(bytes, used, outcomes);
        outcomes = NO_OUTCOMES;
        used = putTarget(open, used, table, id);
      }
      if (outcomes >= FULL) {
        bytes[used] = packetOf(outcomes >>> 24);
        bytes[used + 1] = packetOf(outcomes >>> 18);
        bytes[used + 2] = packetOf(outcomes >>> 12);
        bytes[used + 3] = packetOf(outcomes >>> 6);
        bytes[used + 4] = packetOf(outcomes);
        used += FULL_PACKETS;
        outcomes = NO_OUTCOMES;
      }
      end = ends[id]!;
      at++;
    }
    const waiting = (31 - Math.clz32(outcomes)) % PT_TNT8_MAX_BITS;
    open.used = putOutcomes(bytes, used, outcomes >>> waiting);
    open.outcomes = (1 << waiting) | (outcomes & ((1 << waiting) - 1));
    this.#sink.takeBack();
    return at;
  }

  #push({ places }: BlockTable, caller: number, callee: number): void {
    const from = caller * PLACE_WORDS;
    const to = callee * PLACE_WORDS;
    const lo = places[from + 2]!;
    const hi = places[from + 3]!;
    // A call of the next instruction only asks where it is.
    if (places[to] !== lo || places[to + 1] !== hi) this.#calls.push(lo, hi);
  }

  #pop({ places }: BlockTable, id: number): boolean {
    return this.#calls.pop(places[id * PLACE_WORDS]!, places[id * PLACE_WORDS + 1]!);
  }
}

/** TNT of six outcomes. */
function packetOf(outcomes: number): number {
  return ((outcomes & PACKET_MASK) | PACKET_ONE) << PT_TNT8_SHIFT;
}

/** All of them, the last packet with what is left. Returns what is used then. */
function putOutcomes(bytes: Uint8Array, used: number, outcomes: number): number {
  let left = 31 - Math.clz32(outcomes);
  let end = used;
  for (; left >= PT_TNT8_MAX_BITS; left -= PT_TNT8_MAX_BITS)
    bytes[end++] = packetOf(outcomes >>> (left - PT_TNT8_MAX_BITS));
  if (left > 0) bytes[end++] = ((1 << left) | (outcomes & ((1 << left) - 1))) << PT_TNT8_SHIFT;
  return end;
}

/** TIP. Returns what is used then. */
function putTarget(open: OpenPackets, used: number, { places }: BlockTable, id: number): number {
  const lo = places[id * PLACE_WORDS]!;
  const hi = places[id * PLACE_WORDS + 1]!;
  const { bytes } = open;
  const compression = ipCompression(lo, hi, open.lastLo, open.lastHi);
  open.lastLo = lo;
  open.lastHi = hi;
  bytes[used] = PT_TIP | (compression << PT_COMPRESSION_SHIFT);
  // What is behind the payload is written over.
  for (let index = 0; index < 4; index++) {
    bytes[used + 1 + index] = lo >>> (8 * index);
    bytes[used + 5 + index] = hi >>> (8 * index);
  }
  return used + 1 + PT_IP_BYTES[compression]!;
}
