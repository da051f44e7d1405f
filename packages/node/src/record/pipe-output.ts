import { closeSync, openSync, writev } from 'node:fs';
import { promisify } from 'node:util';
import { type PerfDataFeatures, pipeStart, type WrittenEvent } from '@counterpoint/core/perfdata';
import { type ClosingRecords, FINISHED_ROUND, type RecordingOutput } from './output.ts';
import { partsAfter } from './parts.ts';
import { WriteError } from './write-error.ts';

const writevAsync = promisify(writev);
/** A pipe that somebody made non-blocking is full: try again after this. */
const FULL_PIPE_MS = 2;

/**
 * A perf.data stream into a descriptor, for `perf report -i -` or `counterpoint report -i -`. A slow reader holds the
 * rings back: writing waits in a thread of the pool, and the event loop goes on.
 */
export class PipeOutput implements RecordingOutput {
  sizeBytes = 0;
  hasLateRecords = false;
  readonly #fd: number;
  readonly #isOwned: boolean;
  readonly #name: string;

  constructor(target: number | string) {
    this.#isOwned = typeof target === 'string';
    this.#fd = typeof target === 'string' ? openSync(target, 'w') : target;
    this.#name = typeof target === 'string' ? target : 'the standard output';
  }

  begin(events: readonly WrittenEvent[], features: () => Partial<PerfDataFeatures>): Promise<void> {
    return this.#write([pipeStart({ attrs: events, features: features() })]);
  }

  writeRecords(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    return this.#write([bytes]);
  }

  writeRound(spans: readonly Uint8Array<ArrayBuffer>[]): Promise<void> {
    return this.#write(this.hasLateRecords ? spans : [...spans, FINISHED_ROUND]);
  }

  async #write(parts: readonly Uint8Array[]): Promise<void> {
    for (let rest = parts; rest.length > 0; ) {
      const written = await this.#writeSome(rest);
      this.sizeBytes += written;
      rest = partsAfter(rest, written);
    }
  }

  async #writeSome(parts: readonly Uint8Array[]): Promise<number> {
    try {
      return (await writevAsync(this.#fd, parts)).bytesWritten;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw new WriteError(this.#name, error);
      await new Promise((resolve) => setTimeout(resolve, FULL_PIPE_MS));
      return 0;
    }
  }

  async finish(_: Partial<PerfDataFeatures>, closing: ClosingRecords): Promise<number> {
    const roundsEnd = this.sizeBytes;
    await this.#write([closing(roundsEnd)]);
    return roundsEnd;
  }

  close(): void {
    if (this.#isOwned) closeSync(this.#fd);
  }
}
