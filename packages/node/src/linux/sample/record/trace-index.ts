/** Where the pieces of hardware traces stand in a file, for HEADER_AUXTRACE. */
import { PERF_RECORD_AUXTRACE } from '@counterpoint/core/abi';
import type { AuxIndexEntry } from '@counterpoint/core/perfdata';
import type { EventRing } from '../../kernel/perf-events/index.ts';

/**
 * The index of a file's traces: a reader finds them by it without reading all else. perf has all pieces of
 * a trace by it before it reads the records.
 *
 *   | records | AUXTRACE | data | records | AUXTRACE | data |
 *             ^ one entry: where the record is, and its own size
 */
export class TraceIndex {
  readonly entries: AuxIndexEntry[] = [];

  /**
   * A round that is written at this offset of the file. Which of its spans are AUXTRACE records, the areas of
   * the rings say: data may look like one. Undefined: nobody knows where it will stand.
   */
  addRound(offset: number | undefined, spans: readonly Uint8Array[], rings: readonly EventRing[]): void {
    const heads = new Set(rings.flatMap(({ aux }) => aux?.drain.spans[0] ?? []));
    this.#add(offset, spans, heads);
  }

  /** Whole records of our own. */
  addRecords(offset: number | undefined, bytes: Uint8Array): void {
    if (viewOf(bytes).getUint32(0, true) === PERF_RECORD_AUXTRACE)
      this.#add(offset, [bytes], new Set([bytes]));
  }

  #add(offset: number | undefined, spans: readonly Uint8Array[], heads: ReadonlySet<Uint8Array>): void {
    let at = offset;
    if (at === undefined || heads.size === 0) return;
    for (const span of spans) {
      if (heads.has(span)) this.entries.push({ offset: BigInt(at), size: BigInt(sizeOf(span)) });
      at += span.length;
    }
  }
}

/** Of a record, as its header says. */
function sizeOf(record: Uint8Array): number {
  return viewOf(record).getUint16(6, true);
}

function viewOf({ buffer, byteOffset, length }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, length);
}
