/**
 * Sampling formats in a recording: their results become samples of the events that they were attached to, and are written
 * between the rounds of the rings.
 */
import { CounterpointError } from '@counterpoint/core/base';
import type { LossFacts } from '@counterpoint/core/loss';
import { type FormatRequest, FormatRun } from '../sampling/index.ts';
import type { Sys } from '../sys/index.ts';
import { SampleBuffer, SampleEncoder } from './sample-encoder.ts';

/** Samples are encoded into pieces of about this size. */
const PIECE_BYTES = 1 << 16;
/** Between two looks at the event loop, samples of one result stream. */
const SAMPLES_A_TURN = 4096;

/** What a format came to. */
export interface FormatResult {
  readonly name: string;
  /** Handler runs, over all its events. */
  readonly overflows: bigint;
  /** Runs of all its programs. */
  readonly runs: bigint;
  /** Of all those runs together; null where the kernel did not measure it. */
  readonly costNs: number | null;
  /** Copied out of the kernel's maps, in place of records. */
  readonly bytesRead: number;
  readonly samples: number;
  /** What it says of itself, for people. */
  readonly lines: readonly string[];
}

export type FormatWriter = (bytes: Uint8Array<ArrayBuffer>) => void | Promise<void>;

/** All formats of one recording. */
export class FormatRecording implements Disposable {
  readonly #parts: readonly FormatPart[];

  private constructor(parts: readonly FormatPart[]) {
    this.#parts = parts;
  }

  /** All or nothing. */
  static open(sys: Sys, requests: readonly FormatRequest[]): FormatRecording {
    const parts: FormatPart[] = [];
    try {
      for (const request of requests) parts.push(new FormatPart(sys, request));
      return new FormatRecording(parts);
    } catch (error) {
      for (const part of parts) part.close();
      throw error;
    }
  }

  /** The kernel's numbers of all programs of ours. */
  get programIds(): ReadonlySet<number> {
    return new Set(this.#parts.flatMap((part) => part.programIds));
  }

  get samples(): number {
    return this.#parts.reduce((sum, { samples }) => sum + samples, 0);
  }

  /** Begin to read; `onError` at once where one of them fails. Pieces are given to `write` one after the other. */
  start(write: FormatWriter, onError: (error: unknown) => void): void {
    for (const part of this.#parts) part.start(write, onError);
  }

  /** The counters are stopped: everything is written when this resolves. The first error of any, or null. */
  async stop(): Promise<unknown> {
    const errors: unknown[] = [];
    for (const part of this.#parts) errors.push(await part.stop());
    return errors.find((error) => error !== null) ?? null;
  }

  finish(): { results: FormatResult[]; losses: LossFacts[] } {
    const finished = this.#parts.map((part) => part.finish());
    return {
      results: finished.map(({ result }) => result),
      losses: finished.flatMap(({ losses }) => losses),
    };
  }

  close(): void {
    for (const part of this.#parts) part.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

class FormatPart {
  readonly #run: FormatRun;
  readonly #encoders: readonly SampleEncoder[];
  readonly #writer = new SampleBuffer();
  readonly #lines: string[] = [];
  #reading: Promise<void> | null = null;
  #error: unknown = null;
  samples = 0;

  constructor(sys: Sys, request: FormatRequest) {
    this.#run = FormatRun.open(sys, request);
    this.#encoders = request.events.map((event) => new SampleEncoder(event));
  }

  get programIds(): number[] {
    return this.#run.programIds;
  }

  start(write: FormatWriter, onError: (error: unknown) => void): void {
    this.#reading = this.#read(write).catch((error) => {
      this.#error = this.#explain(error);
      onError(this.#error);
    });
  }

  async #read(write: FormatWriter): Promise<void> {
    let sinceTurn = 0;
    for await (const result of this.#run.results()) {
      for (const sample of this.#run.samples(result)) {
        this.#encoders[sample.event]!.encode(this.#writer, sample);
        this.samples++;
        if (this.#writer.length >= PIECE_BYTES) await write(this.#writer.take());
        if (++sinceTurn < SAMPLES_A_TURN) continue;
        sinceTurn = 0;
        await new Promise(setImmediate);
      }
      this.#lines.push(...this.#run.lines(result));
    }
    if (this.#writer.length > 0) await write(this.#writer.take());
  }

  async stop(): Promise<unknown> {
    this.#run.stop();
    await this.#reading;
    return this.#error;
  }

  /** What a format's own functions throw is the format's; the output's errors are the output's. */
  #explain(error: unknown): unknown {
    if (error instanceof CounterpointError) return error;
    const { name } = this.#run.format;
    const text = error instanceof Error ? error.message : String(error);
    const explained = new CounterpointError(
      'ERR_FORMAT_COLLECT',
      `the sampling format ${name} failed when its results were read: ${text}`,
      'What the rings have is in the recording.',
    );
    explained.cause = error;
    return explained;
  }

  finish(): { result: FormatResult; losses: readonly LossFacts[] } {
    const { overflows, runs, costNs, bytesRead, losses } = this.#run.finish();
    const result = {
      name: this.#run.format.name,
      overflows: overflows.reduce((sum, count) => sum + count, 0n),
      runs,
      costNs,
      bytesRead,
      samples: this.samples,
      lines: this.#lines,
    };
    return { result, losses };
  }

  close(): void {
    this.#run.close();
  }
}
