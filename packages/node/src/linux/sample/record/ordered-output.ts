import type { PerfDataFeatures, WrittenEvent } from '@counterpoint/core/perfdata';
import type { ClosingRecords, RecordingOutput } from './output.ts';

/** An output that several write to: what one of them writes is whole before the next one's begins. */
export class OrderedOutput implements RecordingOutput {
  readonly #output: RecordingOutput;
  #last: Promise<void> | null = null;

  constructor(output: RecordingOutput) {
    this.#output = output;
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

  get nextOffset(): number | undefined {
    return this.#last === null ? this.#output.nextOffset : undefined;
  }

  get fileBytes(): number {
    return this.#output.fileBytes ?? this.#output.sizeBytes;
  }

  get finalPath(): string | undefined {
    return this.#output.finalPath;
  }

  async switch(features: Partial<PerfDataFeatures>): Promise<void> {
    await this.#inOrder(async () => await this.#output.switch?.(features));
  }

  begin(events: readonly WrittenEvent[], features: () => Partial<PerfDataFeatures>): void | Promise<void> {
    return this.#output.begin(events, features);
  }

  writeRecords(bytes: Uint8Array<ArrayBuffer>, oldestNs?: number): void | Promise<void> {
    return this.#inOrder(() => this.#output.writeRecords(bytes, oldestNs));
  }

  writeRound(spans: readonly Uint8Array<ArrayBuffer>[], sizeBytes: number): void | Promise<void> {
    return this.#inOrder(() => this.#output.writeRound(spans, sizeBytes));
  }

  finish(features: Partial<PerfDataFeatures>, closing: ClosingRecords): number | Promise<number> {
    return this.#output.finish(features, closing);
  }

  close(): void {
    this.#output.close();
  }

  /** At once where nobody else writes. */
  #inOrder(write: () => void | Promise<void>): void | Promise<void> {
    const done = this.#last === null ? write() : this.#last.catch(() => {}).then(write);
    if (done === undefined) return;
    const last = done.finally(() => {
      if (this.#last === last) this.#last = null;
    });
    this.#last = last;
    // Whoever wrote it gets its error.
    last.catch(() => {});
    return done;
  }
}
