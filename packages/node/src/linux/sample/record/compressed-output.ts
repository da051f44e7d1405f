import { PERF_RECORD_COMPRESSED, RECORD_HEADER_SIZE } from '@counterpoint/core/abi';
import type { PerfDataFeatures, WrittenEvent } from '@counterpoint/core/perfdata';
import type { ClosingRecords, RecordingOutput } from './output.ts';
import type { Compressor } from './zstd-compressor.ts';

const SECTION_VERSION = 1;
const TYPE_ZSTD = 1;
/**
 * So much is compressed and flushed at once: it fits into one record (their size is a u16) even where it
 * cannot be made smaller. perf refuses a record that completes nothing, as the first half of a block.
 */
const PIECE_BYTES = 60 * 1024;

/**
 * Rounds of the rings as PERF_RECORD_COMPRESSED, all of them one Zstandard frame; records that were made here
 * and marks of finished rounds stay as they are.
 *
 *   rings ──pieces──> compressor ──> | COMPRESSED | COMPRESSED ... | FINISHED_ROUND | ──> output
 */
export class CompressedOutput implements RecordingOutput {
  readonly #output: RecordingOutput;
  readonly #compressor: Compressor;
  readonly #level: number;
  #originalBytes = 0;
  #packedBytes = 0;

  constructor(output: RecordingOutput, compressor: Compressor, level: number) {
    this.#output = output;
    this.#compressor = compressor;
    this.#level = level;
  }

  get sizeBytes(): number {
    return this.#output.sizeBytes;
  }

  get hasLateRecords(): boolean {
    return this.#output.hasLateRecords;
  }

  set hasLateRecords(value: boolean) {
    this.#output.hasLateRecords = value;
  }

  get keepsFeatures(): boolean {
    return this.#output.keepsFeatures === true;
  }

  get wholeBytes(): number | null {
    return this.#output.wholeBytes ?? null;
  }

  begin(events: readonly WrittenEvent[], features: () => Partial<PerfDataFeatures>): void | Promise<void> {
    return this.#output.begin(events, () => this.#withFacts(features()));
  }

  writeRecords(bytes: Uint8Array<ArrayBuffer>, oldestNs?: number): void | Promise<void> {
    return this.#output.writeRecords(bytes, oldestNs);
  }

  /** The rings are held until it is written. */
  async writeRound(spans: readonly Uint8Array<ArrayBuffer>[]): Promise<void> {
    const records: Uint8Array<ArrayBuffer>[] = [];
    for (const span of spans)
      for (let at = 0; at < span.length; at += PIECE_BYTES) {
        const piece = span.subarray(at, at + PIECE_BYTES);
        this.#originalBytes += piece.length;
        records.push(...recordOf(await this.#compressor.compress(piece)));
      }
    const packed = new Uint8Array(Buffer.concat(records));
    this.#packedBytes += packed.length;
    await this.#output.writeRound([packed], packed.length);
  }

  finish(features: Partial<PerfDataFeatures>, closing: ClosingRecords): number | Promise<number> {
    return this.#output.finish(this.#withFacts(features), closing);
  }

  #withFacts(features: Partial<PerfDataFeatures>): Partial<PerfDataFeatures> {
    const ratio = Math.round(this.#originalBytes / Math.max(1, this.#packedBytes));
    const facts = { type: TYPE_ZSTD, level: this.#level, ratio: Math.max(1, ratio), mmapLength: PIECE_BYTES };
    return { ...features, compressed: { version: SECTION_VERSION, ...facts } };
  }

  close(): void {
    this.#compressor[Symbol.dispose]();
    this.#output.close();
  }
}

function recordOf(packed: readonly Uint8Array<ArrayBuffer>[]): Uint8Array<ArrayBuffer>[] {
  const sizeBytes = packed.reduce((sum, { length }) => sum + length, RECORD_HEADER_SIZE);
  const header = new DataView(new ArrayBuffer(RECORD_HEADER_SIZE));
  header.setUint32(0, PERF_RECORD_COMPRESSED, true);
  header.setUint16(6, sizeBytes, true);
  return [new Uint8Array(header.buffer), ...packed];
}
