import { createWriteStream, type WriteStream } from 'node:fs';
import { printable } from '@counterpoint/core/base';
import type { RecordedEvent } from '@counterpoint/core/perfdata';
import { openFailure, openOutputFile, WriteError } from '../../../host/files/index.ts';
import { plainCount } from '../../common/human.ts';

/** A file with the samples of one event. */
export interface EventDump {
  event: string;
  path: string;
  samples: number;
  bytes: number;
}

/** perf's line for a file that it wrote. */
export function writtenText({ path, samples, bytes }: EventDump): string {
  const megabytes = (bytes / 1024 / 1024).toFixed(3);
  return `[ counterpoint script: Wrote ${megabytes} MB ${printable(path)} (${plainCount(samples, 'sample')}) ]`;
}

/** Longer names do not fit a file system, once the recording's own name stands before them. */
const MAX_NAME_LENGTH = 100;

interface OpenDump {
  path: string;
  stream: WriteStream;
  bytes: number;
}

/**
 * `perf.data.EVENT.dump` beside the recording for each event that has samples, made when its first one comes.
 */
export class EventDumps implements AsyncDisposable {
  readonly #recording: string;
  readonly #dumps = new Map<RecordedEvent, OpenDump>();

  /** `recording`: its path; `-` is a stream, whose files are named as those of perf.data. */
  constructor(recording: string) {
    this.#recording = recording === '-' ? 'perf.data' : recording;
  }

  async write(event: RecordedEvent, utf8: Uint8Array): Promise<void> {
    const dump = this.#dumps.get(event) ?? (await this.#open(event));
    // The bytes are borrowed: they are written when this is done.
    await new Promise<void>((resolve, reject) => {
      dump.stream.write(utf8, (error) =>
        error == null ? resolve() : reject(new WriteError(dump.path, error)),
      );
    });
    dump.bytes += utf8.length;
  }

  async #open(event: RecordedEvent): Promise<OpenDump> {
    const path = this.#pathOf(event.name);
    const fd = await openOutputFile(path).catch((error) => {
      throw openFailure(path, error);
    });
    const stream = createWriteStream('', { fd });
    // The write that failed tells of it.
    stream.on('error', () => {});
    const dump = { path, stream, bytes: 0 };
    this.#dumps.set(event, dump);
    return dump;
  }

  /** Names come out of the recording: they stay names in its own folder. Equal ones get numbers. */
  #pathOf(name: string): string {
    const safe = printable(name).replaceAll(/[/\\]/g, '_').slice(0, MAX_NAME_LENGTH);
    const taken = new Set([...this.#dumps.values()].map(({ path }) => path));
    for (let number = 1; ; number++) {
      const path = `${this.#recording}.${safe}${number === 1 ? '' : `.${number}`}.dump`;
      if (!taken.has(path)) return path;
    }
  }

  /** What was written, in the order of the first samples. */
  files(samplesOf: ReadonlyMap<RecordedEvent, number>): EventDump[] {
    return [...this.#dumps].map(([event, { path, bytes }]) => ({
      event: event.name,
      path,
      samples: samplesOf.get(event) ?? 0,
      bytes,
    }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { stream } of this.#dumps.values()) {
      if (stream.closed) continue;
      // An error that comes meanwhile was told by the write that failed.
      const closed = new Promise<void>((resolve) => stream.once('close', resolve));
      stream.end();
      await closed;
    }
    this.#dumps.clear();
  }
}
