import { closeSync, writev } from 'node:fs';
import { promisify } from 'node:util';
import { CounterpointError } from '@counterpoint/core/base';
import { type PerfDataFeatures, pipeStart, type WrittenEvent } from '@counterpoint/core/perfdata';
import { openOutputFile, type WaitOptions, WriteError } from '../../../host/files/index.ts';
import { type ClosingRecords, FINISHED_ROUND, OR_LIMIT, type RecordingOutput } from './output.ts';
import { partsAfter } from './parts.ts';

const writevAsync = promisify(writev);
/** A pipe that somebody made non-blocking is full: try again after this. */
const FULL_PIPE_MS = 2;

/**
 * A perf.data stream into a descriptor, for `perf report -i -` or `counterpoint report -i -`. A slow reader
 * holds the rings back: writing waits in a thread of the pool, and the event loop goes on.
 */
export class PipeOutput implements RecordingOutput {
  sizeBytes = 0;
  hasLateRecords = false;
  readonly #path: string | null;
  readonly #wait: WaitOptions;
  #fd: number;

  /** An open descriptor, or the path of a named pipe, which is opened by `begin` once it has a reader. */
  constructor(target: number | string, wait: WaitOptions = {}) {
    this.#path = typeof target === 'string' ? target : null;
    this.#fd = typeof target === 'string' ? -1 : target;
    this.#wait = wait;
  }

  async begin(events: readonly WrittenEvent[], features: () => Partial<PerfDataFeatures>): Promise<void> {
    if (this.#path !== null) this.#fd = await this.#open(this.#path);
    await this.#write([pipeStart({ attrs: events, features: features() })]);
  }

  async #open(path: string): Promise<number> {
    try {
      return await openOutputFile(path, this.#wait);
    } catch (error) {
      if (this.#wait.signal?.aborted !== true) throw new WriteError(path, error, OR_LIMIT);
      throw new CounterpointError(
        'ERR_NO_READER',
        `no program has read the named pipe ${path}, so nothing was recorded`,
        'Start its reader first.',
      );
    }
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
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN')
        throw new WriteError(this.#path ?? 'the standard output', error, OR_LIMIT);
      await new Promise((resolve) => setTimeout(resolve, FULL_PIPE_MS));
      return 0;
    }
  }

  async finish(_: Partial<PerfDataFeatures>, closing: ClosingRecords): Promise<number> {
    const roundsEnd = this.sizeBytes;
    const last = closing(roundsEnd);
    // A stream ends with a mark: without one its readers take it for cut.
    if (this.hasLateRecords || last.length > 0) await this.#write([last, FINISHED_ROUND]);
    return roundsEnd;
  }

  close(): void {
    if (this.#path === null || this.#fd < 0) return;
    closeSync(this.#fd);
    this.#fd = -1;
  }
}
