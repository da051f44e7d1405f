/**
 * A first picture of a trace long before it is decoded: where execution was at each PSB, and where
 * indirect branches and returns went, in pieces spread over it. No code is needed, and of a large
 * trace only a small part is read.
 *
 *   trace   |--####------------####------------####-----------|     #: from a PSB to the end of the piece
 */
import { asByteSource, type ByteSourceInput, type CancelSignal, TripleTable } from '@counterpoint/core/base';
import { Float64Column } from '@counterpoint/core/profile';
import { LastIp } from '../packets/last-ip.ts';
import { PacketCursor } from '../packets/packet-cursor.ts';
import {
  PACKET_FUP,
  PACKET_OVF,
  PACKET_PSB,
  PACKET_PSBEND,
  PACKET_TIP,
  PACKET_TIP_PGD,
  PACKET_TIP_PGE,
} from '../packets/packet-kinds.ts';

/** How much of the trace is looked at. */
export interface CoarseProfileOptions {
  /** Pieces that are looked at; 64 unless told. */
  readonly pieces?: number;
  /** Their size; 32 KiB unless told. */
  readonly pieceBytes?: number;
  /** Stops reading with the signal's reason. */
  readonly signal?: CancelSignal;
}

/** Addresses that packets name, those of most samples first, then of most targets. */
export interface CoarseProfile {
  /** Low half of each address, as int32. */
  readonly lo: Int32Array;
  /** High half of each address. */
  readonly hi: Int32Array;
  /**
   * PSBs at which execution was there. They come at even distances of trace, so this
   * is each place's share of it.
   */
  readonly samples: Float64Array;
  /** Times that a branch which needs a packet went there. */
  readonly count: Float64Array;
  /** Bytes of the trace that were looked at. */
  readonly readBytes: number;
  /** Bytes of the trace. */
  readonly totalBytes: number;
}

const PIECES = 64;
const PIECE_BYTES = 1 << 15;

/**
 * Where execution is most of the time, without any code: some pieces of the trace are read, and the
 * addresses counted that packets name. For a first look at a large trace.
 */
export async function coarseProfile(
  trace: ByteSourceInput | Uint8Array,
  options: CoarseProfileOptions = {},
): Promise<CoarseProfile> {
  const source = trace instanceof Uint8Array ? trace : asByteSource(trace, 'the trace');
  const totalBytes = source instanceof Uint8Array ? source.length : source.size;
  const pieces = Math.max(1, options.pieces ?? PIECES);
  const pieceBytes = Math.max(1, options.pieceBytes ?? PIECE_BYTES);
  // Smaller ones would have no PSB in them: of a short trace all is read.
  const strideBytes = Math.max(pieceBytes, Math.ceil(totalBytes / pieces));
  const targets = new Targets();
  let readBytes = 0;
  for (let from = 0; from < totalBytes; from += strideBytes) {
    options.signal?.throwIfAborted();
    const to = Math.min(totalBytes, from + pieceBytes);
    const bytes =
      source instanceof Uint8Array ? source.subarray(from, to) : await source.read(from, to - from);
    readBytes += bytes.length;
    targets.addPiece(bytes);
  }
  return { ...targets.sorted(), readBytes, totalBytes };
}

class Targets {
  readonly #addresses = new TripleTable();
  readonly #samples = new Float64Column();
  readonly #count = new Float64Column();

  addPiece(bytes: Uint8Array): void {
    const ip = new LastIp();
    const cursor = new PacketCursor(bytes);
    // The beginning of a piece may be the middle of a packet.
    if (!cursor.resynchronize()) return;
    let isInHeader = false;
    for (const packet of cursor.packets()) {
      const { kind } = packet;
      if (kind === PACKET_PSB) {
        ip.reset();
        isInHeader = true;
      } else if (kind === PACKET_PSBEND || kind === PACKET_OVF) isInHeader = false;
      else if (kind === PACKET_FUP || kind === PACKET_TIP_PGD) {
        if (ip.update(packet) && isInHeader && kind === PACKET_FUP) this.#add(ip, this.#samples);
      } else if ((kind === PACKET_TIP || kind === PACKET_TIP_PGE) && ip.update(packet))
        this.#add(ip, this.#count);
    }
  }

  #add({ lo, hi }: LastIp, column: Float64Column): void {
    const found = this.#addresses.find(lo, hi, 0);
    if (found < 0) {
      this.#samples.push(0);
      this.#count.push(0);
    }
    column.data[found < 0 ? -1 - found : found]! += 1;
  }

  sorted(): Pick<CoarseProfile, 'lo' | 'hi' | 'samples' | 'count'> {
    const addresses = this.#addresses;
    const order = Int32Array.from({ length: addresses.length }, (_, row) => row).sort(
      (a, b) =>
        this.#samples.at(b) - this.#samples.at(a) ||
        this.#count.at(b) - this.#count.at(a) ||
        (addresses.secondAt(a) >>> 0) - (addresses.secondAt(b) >>> 0) ||
        (addresses.firstAt(a) >>> 0) - (addresses.firstAt(b) >>> 0),
    );
    return {
      lo: order.map((row) => addresses.firstAt(row)),
      hi: order.map((row) => addresses.secondAt(row)),
      samples: Float64Array.from(order, (row) => this.#samples.at(row)),
      count: Float64Array.from(order, (row) => this.#count.at(row)),
    };
  }
}
