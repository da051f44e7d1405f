import { PERF_RECORD_SAMPLE, PERF_SAMPLE_AUX } from '@counterpoint/core/abi';
import type { EventTable } from '@counterpoint/core/perfdata';
import { decodeSampleInto, SampleFields } from '@counterpoint/core/records';
import type { AuxIndex } from '../auxtrace/index.ts';

/**
 * Trace that came inside of samples (`perf record --aux-sample`): what the CPU had done up to
 * each, as much as was asked for.
 *
 *   trace of a CPU   .......[=======S1]....[======S2]       samples 1 and 2 bring a piece each
 *
 * Takes the records of a scan; the pieces are kept, as samples may stand in compressed parts of a file.
 */
export class SampledTrace {
  /** Pieces were found. */
  isFound = false;
  readonly #index: AuxIndex;
  readonly #events: EventTable;
  readonly #littleEndian: boolean;
  readonly #fields = new SampleFields();

  constructor(index: AuxIndex, events: EventTable, littleEndian: boolean) {
    this.#index = index;
    this.#events = events;
    this.#littleEndian = littleEndian;
  }

  record(view: DataView, start: number, end: number, type: number, fileOffset: number): void {
    if (type !== PERF_RECORD_SAMPLE) {
      this.#index.record(view, start, end, type, fileOffset);
      return;
    }
    const fields = this.#fields;
    const littleEndian = this.#littleEndian;
    const event = this.#events.eventOf(view, start, end, type, littleEndian);
    if (event === null || (event.layout.sampleType & PERF_SAMPLE_AUX) === 0) return;
    if (!decodeSampleInto(view, start, end, event.layout, littleEndian, fields) || fields.auxSize === 0)
      return;
    this.isFound = true;
    const at = view.byteOffset + fields.auxOffset;
    this.#index.pieces.push({
      index: 0,
      cpu: fields.cpu,
      tid: fields.tid,
      auxOffset: 0n,
      reference: 0n,
      fileOffset,
      sizeBytes: fields.auxSize,
      bytes: new Uint8Array(view.buffer, at, fields.auxSize).slice(),
    });
  }

  /** Pieces belong to a CPU or to a thread, as the events did. */
  assign(isPerCpu: boolean): void {
    for (const piece of this.#index.pieces) {
      if (piece.bytes === undefined) continue;
      if (isPerCpu) piece.tid = -1;
      else piece.cpu = -1;
    }
  }
}
