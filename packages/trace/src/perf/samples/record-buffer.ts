import { TWO_32 } from '@counterpoint/core/base';
import { Float64Column, Int32Column } from '@counterpoint/core/profile';

const FIRST_BYTES = 1 << 16;

/** Records that were made and are not delivered yet, with their times. */
export class RecordBuffer {
  view: DataView = new DataView(new ArrayBuffer(FIRST_BYTES));
  position = 0;
  readonly littleEndian: boolean;
  readonly #starts = new Int32Column(1024);
  readonly #times = new Float64Column(1024);
  #delivered = 0;

  constructor(littleEndian: boolean) {
    this.littleEndian = littleEndian;
  }

  /** Records that wait. */
  get length(): number {
    return this.#starts.length - this.#delivered;
  }

  /** Time of the first that waits, nanoseconds. */
  get firstTimeNs(): number {
    return this.#times.at(this.#delivered);
  }

  begin(type: number, misc: number, timeNs: number): void {
    this.#starts.push(this.position);
    this.#times.push(timeNs);
    const { view } = this.reserve(8);
    view.setUint32(this.position, type, this.littleEndian);
    view.setUint16(this.position + 4, misc, this.littleEndian);
    this.position += 8;
  }

  /** The record's size is known. */
  end(): void {
    const start = this.#starts.at(this.#starts.length - 1);
    this.view.setUint16(start + 6, this.position - start, this.littleEndian);
  }

  reserve(size: number): this {
    if (this.position + size > this.view.byteLength) {
      const bytes = new Uint8Array(Math.max(this.view.byteLength * 2, this.position + size));
      bytes.set(new Uint8Array(this.view.buffer, 0, this.position));
      this.view = new DataView(bytes.buffer);
    }
    return this;
  }

  /** A 64-bit word in halves. */
  pair(lo: number, hi: number): void {
    const { view } = this.reserve(8);
    const le = this.littleEndian;
    view.setInt32(this.position + (le ? 0 : 4), lo, le);
    view.setInt32(this.position + (le ? 4 : 0), hi, le);
    this.position += 8;
  }

  patchPair(at: number, lo: number, hi: number): void {
    const le = this.littleEndian;
    this.view.setInt32(at + (le ? 0 : 4), lo, le);
    this.view.setInt32(at + (le ? 4 : 0), hi, le);
  }

  /** A 64-bit word below 2^53, or near 2^64 as a float is. */
  float(value: number): void {
    const hi = Math.floor(value / TWO_32);
    this.pair(value - hi * TWO_32, hi);
  }

  /** Two 32-bit words in the order of memory. */
  words(first: number, second: number): void {
    const { view } = this.reserve(8);
    view.setInt32(this.position, first, this.littleEndian);
    view.setInt32(this.position + 4, second, this.littleEndian);
    this.position += 8;
  }

  /** Raw data of a sample: its size, then itself, filled up so that what follows stands on 8 bytes. */
  raw(bytes: Uint8Array): void {
    const size = Math.ceil((bytes.length + 4) / 8) * 8 - 4;
    const { view } = this.reserve(4 + size);
    view.setUint32(this.position, size, this.littleEndian);
    const target = new Uint8Array(view.buffer, this.position + 4, size);
    target.fill(0);
    target.set(bytes);
    this.position += 4 + size;
  }

  bytes(bytes: Uint8Array, size: number): void {
    const { view } = this.reserve(size);
    const target = new Uint8Array(view.buffer, this.position, size);
    target.fill(0);
    target.set(bytes.subarray(0, size));
    this.position += size;
  }

  /** Hand out the first that waits. The view is borrowed until the next is written. */
  deliver(take: (view: DataView, start: number, end: number, type: number) => void): void {
    const start = this.#starts.at(this.#delivered++);
    const end = start + this.view.getUint16(start + 6, this.littleEndian);
    take(this.view, start, end, this.view.getUint32(start, this.littleEndian));
    if (this.#delivered === this.#starts.length) this.#clear();
  }

  #clear(): void {
    this.#starts.length = 0;
    this.#times.length = 0;
    this.#delivered = 0;
    this.position = 0;
  }
}
