/**
 * A first picture of a trace long before it is decoded: where indirect branches and returns went, in pieces spread over it. No
 * code is needed, and of a large trace only a small part is read.
 *
 *   trace   |--####------------####------------####-----------|     #: from a PSB to the end of the piece
 */
import { type ByteSource, TripleTable } from '../../../base/index.ts';
import { Float64Column } from '../../../profile/index.ts';
import { LastIp } from '../last-ip.ts';
import { PacketCursor } from '../packet-cursor.ts';
import { PACKET_FUP, PACKET_PSB, PACKET_TIP, PACKET_TIP_PGD, PACKET_TIP_PGE } from '../packet-kinds.ts';

export interface CoarseProfileOptions {
  /** Pieces that are looked at; 64 unless told. */
  readonly pieces?: number;
  /** Their size; 32 KiB unless told. */
  readonly pieceBytes?: number;
  readonly signal?: AbortSignal;
}

/** Addresses that packets name, those named most often first. A sample, and not of time: of branches that need a packet. */
export interface CoarseProfile {
  readonly lo: Int32Array;
  readonly hi: Int32Array;
  readonly count: Float64Array;
  readonly readBytes: number;
  readonly totalBytes: number;
}

const PIECES = 64;
const PIECE_BYTES = 1 << 15;

export async function coarseProfile(
  source: ByteSource | Uint8Array,
  options: CoarseProfileOptions = {},
): Promise<CoarseProfile> {
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
  readonly #count = new Float64Column();

  addPiece(bytes: Uint8Array): void {
    const ip = new LastIp();
    const cursor = new PacketCursor(bytes);
    // The beginning of a piece may be the middle of a packet.
    if (!cursor.resynchronize()) return;
    for (const packet of cursor.packets()) {
      const { kind } = packet;
      if (kind === PACKET_PSB) ip.reset();
      else if (kind === PACKET_FUP || kind === PACKET_TIP_PGD) ip.update(packet);
      else if ((kind === PACKET_TIP || kind === PACKET_TIP_PGE) && ip.update(packet)) this.#add(ip.lo, ip.hi);
    }
  }

  #add(lo: number, hi: number): void {
    const row = this.#addresses.find(lo, hi, 0);
    if (row < 0) this.#count.push(1);
    else this.#count.data[row]! += 1;
  }

  sorted(): Pick<CoarseProfile, 'lo' | 'hi' | 'count'> {
    const addresses = this.#addresses;
    const order = Int32Array.from({ length: addresses.length }, (_, row) => row).sort(
      (a, b) =>
        this.#count.at(b) - this.#count.at(a) ||
        (addresses.secondAt(a) >>> 0) - (addresses.secondAt(b) >>> 0) ||
        (addresses.firstAt(a) >>> 0) - (addresses.firstAt(b) >>> 0),
    );
    return {
      lo: order.map((row) => addresses.firstAt(row)),
      hi: order.map((row) => addresses.secondAt(row)),
      count: Float64Array.from(order, (row) => this.#count.at(row)),
    };
  }
}
