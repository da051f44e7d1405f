import type { PerfDataFeatures, WrittenEvent } from '@counterpoint/core/perfdata';
import { type ClosingRecords, FINISHED_ROUND, type RecordingOutput } from './output.ts';

/**
 * Memory between the rings and an output that may be slow. Rounds are copied in here while there is room, and
 * the rings are free at once; written one after the other. Where it is full the rings wait, and the kernel
 * counts what they then cannot store.
 *
 *   rings ──copy──> held rounds, up to a bound ──> output
 */
export class HeldOutput implements RecordingOutput {
  readonly #output: RecordingOutput;
  readonly #mostBytes: number;
  #heldBytes = 0;
  /** All that was handed over so far has been written, or could not be. */
  #last: Promise<void> = Promise.resolve();
  /** Whoever waits for room. */
  #wake: (() => void) | null = null;
  #error: unknown = null;
  #wholeBytes = 0;
  /** Of the output, without the round that is being written: it grows with each piece of that. */
  #settledBytes = 0;

  constructor(output: RecordingOutput, mostBytes: number) {
    this.#output = output;
    this.#mostBytes = mostBytes;
  }

  /** With what is held: it is going to be written. The round that is being written counts once. */
  get sizeBytes(): number {
    return this.#heldBytes === 0 ? this.#output.sizeBytes : this.#settledBytes + this.#heldBytes;
  }

  get hasLateRecords(): boolean {
    return this.#output.hasLateRecords;
  }

  set hasLateRecords(value: boolean) {
    this.#output.hasLateRecords = value;
  }

  get wholeBytes(): number | null {
    return this.#error === null ? null : this.#wholeBytes;
  }

  begin(events: readonly WrittenEvent[], features: () => Partial<PerfDataFeatures>): void | Promise<void> {
    return this.#output.begin(events, features);
  }

  async writeRecords(bytes: Uint8Array<ArrayBuffer>, oldestNs?: number): Promise<void> {
    await this.#last;
    this.#check();
    await this.#output.writeRecords(bytes, oldestNs);
  }

  writeRound(spans: readonly Uint8Array<ArrayBuffer>[], sizeBytes: number): void | Promise<void> {
    this.#check();
    if (this.#heldBytes + sizeBytes <= this.#mostBytes) {
      this.#hold(new Uint8Array(Buffer.concat(spans)));
      return;
    }
    // The rings hold it until there is room again, or nothing is before it.
    return this.#roomFor(sizeBytes).then(() => {
      this.#check();
      if (this.#heldBytes + sizeBytes <= this.#mostBytes) this.#hold(new Uint8Array(Buffer.concat(spans)));
      else return this.#output.writeRound(spans, sizeBytes);
    });
  }

  async #roomFor(sizeBytes: number): Promise<void> {
    while (this.#heldBytes > 0 && this.#heldBytes + sizeBytes > this.#mostBytes && this.#error === null)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
  }

  #hold(bytes: Uint8Array<ArrayBuffer>): void {
    // With the mark that the output writes behind it.
    const sizeBytes = bytes.length + (this.hasLateRecords ? 0 : FINISHED_ROUND.length);
    if (this.#heldBytes === 0) this.#settledBytes = this.#output.sizeBytes;
    this.#heldBytes += sizeBytes;
    this.#last = this.#last.then(async () => {
      try {
        if (this.#error === null) await this.#output.writeRound([bytes], bytes.length);
        if (this.#error === null) this.#wholeBytes = this.#output.sizeBytes;
      } catch (error) {
        this.#error = error;
      }
      this.#settledBytes = this.#output.sizeBytes;
      this.#heldBytes -= sizeBytes;
      this.#wake?.();
      this.#wake = null;
    });
  }

  /** What failed behind the back of whoever handed it over fails here. */
  #check(): void {
    if (this.#error !== null) throw this.#error;
  }

  async finish(features: Partial<PerfDataFeatures>, closing: ClosingRecords): Promise<number> {
    await this.#last;
    this.#check();
    return await this.#output.finish(features, closing);
  }

  close(): void {
    this.#output.close();
  }
}
