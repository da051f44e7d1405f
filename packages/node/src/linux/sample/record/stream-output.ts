import { type ByteStream, CounterpointError, Handoff } from '@counterpoint/core/base';
import { type PerfDataFeatures, pipeStart, type WrittenEvent } from '@counterpoint/core/perfdata';
import { type ClosingRecords, FINISHED_ROUND, type RecordingOutput } from './output.ts';

/**
 * A perf.data stream inside this process: the reader of files reads a live recording too. A consumer that
 * does not ask for more holds the rings back.
 */
export class StreamOutput implements RecordingOutput {
  sizeBytes = 0;
  hasLateRecords = false;
  readonly #handoff = new Handoff<Uint8Array>();

  get stream(): ByteStream {
    return this.#handoff;
  }

  begin(events: readonly WrittenEvent[], features: () => Partial<PerfDataFeatures>): Promise<void> {
    return this.#put([pipeStart({ attrs: events, features: features() })]);
  }

  writeRecords(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    return this.#put([bytes]);
  }

  writeRound(spans: readonly Uint8Array<ArrayBuffer>[]): Promise<void> {
    return this.#put(this.hasLateRecords ? spans : [...spans, FINISHED_ROUND]);
  }

  /** The rings' memory is borrowed, so a consumer that keeps what it was given needs a copy. */
  async #put(parts: readonly Uint8Array[]): Promise<void> {
    const bytes = Buffer.concat(parts);
    this.sizeBytes += bytes.length;
    if (await this.#handoff.put(bytes)) return;
    throw new CounterpointError(
      'ERR_STREAM_CLOSED',
      'no program reads the live recording any more',
      'Read it to its end, or end the recording first by its signal.',
    );
  }

  async finish(_: Partial<PerfDataFeatures>, closing: ClosingRecords): Promise<number> {
    const roundsEnd = this.sizeBytes;
    const last = closing(roundsEnd);
    // A stream ends with a mark: without one its readers take it for cut.
    if (this.hasLateRecords || last.length > 0) await this.#put([last, FINISHED_ROUND]);
    return roundsEnd;
  }

  end(): void {
    this.#handoff.end();
  }

  fail(error: unknown): void {
    this.#handoff.fail(error);
  }

  /** The stream ends when it is known how: `end` or `fail`. */
  close(): void {}
}
