import type { ChunkSource } from './chunk-source.ts';
import type { OrderQueue } from './order-queue.ts';
import { neededFor } from './record-inflater.ts';
import type { DataEnd, Splitter } from './splitter.ts';

/** One run of records: all of a file or stream, or one file of a directory. */
export class SplitPart {
  readonly chunks: ChunkSource;
  readonly splitter: Splitter;
  readonly #littleEndian: boolean;
  #carry: Uint8Array<ArrayBuffer> = new Uint8Array();
  #carryOffset = 0;
  /** Nothing more comes. */
  hasEnded = false;

  constructor(chunks: ChunkSource, splitter: Splitter, littleEndian: boolean) {
    this.chunks = chunks;
    this.splitter = splitter;
    this.#littleEndian = littleEndian;
  }

  /** Drive one more chunk through the splitter. */
  async advance(): Promise<void> {
    const { chunks, splitter } = this;
    const chunk = await chunks.next(this.#carry, neededFor(this.#carry, this.#littleEndian));
    if (chunk === null) {
      this.hasEnded = true;
      return;
    }
    const end = chunk.fileOffset + chunk.length;
    this.#carry = await splitter.parse(chunk);
    this.#carryOffset = end - this.#carry.length;
    const { payload } = splitter;
    if (payload === null) return;
    payload.left -= await chunks.skip(payload.left);
    if (payload.left === 0) splitter.payload = null;
  }

  finish(): DataEnd {
    return this.splitter.finish(this.#carry.length, this.#carryOffset);
  }
}

/**
 * Drive all parts to their ends, `each` after every chunk. Records of one part come in their own rounds.
 * Several parts hold a ring each, and no rounds: read on is always the one that is furthest behind, and what
 * no part can be behind of goes out.
 *
 *   data.0  1 4 7 ...      newest 7
 *   data.1  2 3 9 ...      newest 9     up to 7 is safe when one more chunk is read: a ring is out of order by little
 *   data.2  5 8 12 ...     newest 12
 */
export async function splitParts(
  parts: readonly SplitPart[],
  queue: OrderQueue,
  each: () => void | Promise<void>,
): Promise<void> {
  const [first] = parts;
  if (parts.length === 1) {
    for (await first!.advance(); !first!.hasEnded; await first!.advance()) await each();
    return;
  }
  // The first tells of everything at its start: attrs, processes, mappings.
  for (await first!.advance(); !first!.hasEnded; await first!.advance()) await each();
  let live = parts.slice(1);
  for (let chunks = 1; live.length > 0; chunks++) {
    const behind = live.reduce((least, part) =>
      part.splitter.newestNs < least.splitter.newestNs ? part : least,
    );
    await behind.advance();
    if (behind.hasEnded) live = live.filter((part) => part !== behind);
    // A round ends when each has come forward: what waits is put in order at each.
    if (chunks % Math.max(1, live.length) === 0)
      queue.finishRoundAt(live.reduce((least, { splitter }) => Math.min(least, splitter.newestNs), Infinity));
    await each();
  }
}
