import { PERF_AUX_FLAG_OVERWRITE, PERF_AUX_FLAG_TRUNCATED } from '../abi/index.ts';
import { copyAround, type WrittenMemory } from './ring-writer.ts';

/**
 * How an AUX area is written, and who hears of it.
 *
 * @internal
 */
export interface AuxWriterOptions {
  /** The newest data writes over the oldest (snapshots); else new data waits for room. */
  overwrites?: boolean;
  /** How many bytes wake the reader. Default: half of the area. */
  watermarkBytes?: number;
  /** Write PERF_RECORD_AUX: `offset` and `sizeBytes` as its fields, PERF_AUX_FLAG_* bits. */
  onRecord(offset: number, sizeBytes: number, flags: number): void;
  /** There is enough to read, or no room is left. */
  wake(): void;
}

/**
 * The writing side of an AUX area, as kernel and driver share it out (kernel/events/ring_buffer.c of Linux
 * 5.3 and later, perf_aux_output_begin and _end). A piece is what a thread traces between two switches, or
 * what fits:
 *
 *   begin ── write, write … ── end(flags) ── begin …        a piece with TRUNCATED: disabled until `enable`
 *
 * The record comes before the head, so who sees the head sees the record. One byte of the area stays free,
 * because the kernel counts room as CIRC_SPACE does:
 *
 *   tail ──── traced ──── head ──── room ──── 1 byte ──── tail + size
 *
 * Wakes come at multiples of the watermark: after one, the next is due at the multiple after the head. A
 * truncated piece wakes the reader as well, but does not move the next wake.
 *
 * In an area that is written over, the head is a place in it, and each piece tells of the whole area.
 *
 * @internal
 */
export class AuxWriter {
  readonly #memory: WrittenMemory;
  readonly #options: AuxWriterOptions;
  readonly #watermark: number;
  #head = 0;
  #room = 0;
  #pieceBytes = 0;
  /** A multiple of the watermark (`aux_wakeup` of the kernel). */
  #wakeup = 0;
  #isEnabled = true;

  constructor(memory: WrittenMemory, options: AuxWriterOptions) {
    this.#memory = memory;
    this.#options = options;
    this.#watermark = options.watermarkBytes ?? memory.data.length / 2;
  }

  /** False after a piece that was truncated, until `enable`. */
  get isEnabled(): boolean {
    return this.#isEnabled;
  }

  /** What the reader does when it has made room (PERF_EVENT_IOC_ENABLE). */
  enable(): void {
    this.#isEnabled = true;
  }

  /** A piece begins. Returns how many bytes have room; 0: none, and it is disabled. */
  begin(): number {
    this.#pieceBytes = 0;
    const { length } = this.#memory.data;
    if (this.#options.overwrites === true) {
      this.#room = length;
      return length;
    }
    this.#room = Math.max(0, length - 1 - (this.#head - this.#memory.tail()));
    if (this.#room > 0) return this.#room;
    this.#isEnabled = false;
    this.#options.wake();
    return 0;
  }

  /** Returns how many of the bytes had room: the rest is for `end(PERF_AUX_FLAG_TRUNCATED)` to tell. */
  write(bytes: Uint8Array): number {
    const { data } = this.#memory;
    if (this.#options.overwrites === true) {
      const last = bytes.subarray(Math.max(0, bytes.length - data.length));
      copyAround(data, this.#head + bytes.length - last.length, last);
      this.#head = (this.#head + bytes.length) % data.length;
      this.#pieceBytes += bytes.length;
      return bytes.length;
    }
    const fits = Math.min(bytes.length, this.#room);
    copyAround(data, this.#head + this.#pieceBytes, bytes.subarray(0, fits));
    this.#pieceBytes += fits;
    this.#room -= fits;
    return fits;
  }

  /** The piece is over: its record is written, then the head. */
  end(flags = 0): void {
    const { overwrites, onRecord, wake } = this.#options;
    if (overwrites === true) {
      onRecord(this.#head, this.#memory.data.length, flags | PERF_AUX_FLAG_OVERWRITE);
      this.#memory.setHead(this.#head);
      return;
    }
    if (this.#pieceBytes > 0 || flags !== 0) onRecord(this.#head, this.#pieceBytes, flags);
    this.#head += this.#pieceBytes;
    this.#memory.setHead(this.#head);
    const isCut = (flags & PERF_AUX_FLAG_TRUNCATED) !== 0;
    if (isCut) this.#isEnabled = false;
    const isDue = this.#head - this.#wakeup >= this.#watermark;
    if (isDue) this.#wakeup = this.#head - (this.#head % this.#watermark);
    if (isDue || isCut) wake();
  }
}
