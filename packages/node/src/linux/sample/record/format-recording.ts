/**
 * Sampling formats in a recording: their results become samples of the events that they were attached to, and
 * are written between the rounds of the rings.
 */
import { type LossEntry, LossLedger } from '@counterpoint/core/loss';
import type { SampledEvent } from '../../kernel/perf-events/index.ts';
import type { Sys } from '../../kernel/sys/index.ts';
import { explainThrown, type FormatRequest, FormatRun, rowStart, timeNumberOfRow } from '../formats/index.ts';
import { SampleBuffer, SampleEncoder } from './sample-encoder.ts';

/** Samples are encoded into pieces of about this size. */
const PIECE_BYTES = 1 << 16;
/** Between two looks at the event loop, samples of one result stream. */
const SAMPLES_A_TURN = 4096;

/** What a format came to. */
export interface FormatResult {
  /** The name of the format. */
  readonly name: string;
  /** Handler runs, over all its events. */
  readonly overflows: bigint;
  /** It has a handler of overflows; else programs of its own only. */
  readonly hasHandler: boolean;
  /** Runs of all its programs. */
  readonly runs: bigint;
  /** Time of all those runs together, in nanoseconds; null where the kernel did not measure it. */
  readonly costNs: number | null;
  /** Bytes that were copied out of the kernel's maps, in place of records. */
  readonly bytesRead: number;
  /** How many samples it gave. */
  readonly samples: number;
  /**
   * How often it had its counters suspended, and how many nanoseconds altogether; null where it never does.
   */
  readonly suspended: { readonly times: number; readonly ns: bigint } | null;
  /** What it says of itself, for people. */
  readonly lines: readonly string[];
}

/** What a format lost of its events. */
export interface FormatLosses {
  readonly events: readonly SampledEvent[];
  readonly entries: readonly LossEntry[];
}

/** `oldestNs`: the time of the oldest of these samples. */
export type FormatWriter = (
  bytes: Uint8Array<ArrayBuffer>,
  oldestNs: number,
  samples: number,
) => void | Promise<void>;

/** All formats of one recording. */
export class FormatRecording implements Disposable {
  readonly #parts: readonly FormatPart[];

  private constructor(parts: readonly FormatPart[]) {
    this.#parts = parts;
  }

  /** All or nothing. `keepsLines`: what formats say for people is kept until the end. */
  static open(sys: Sys, requests: readonly FormatRequest[], { keepsLines = true } = {}): FormatRecording {
    const parts: FormatPart[] = [];
    try {
      for (const request of requests) parts.push(new FormatPart(sys, request, keepsLines));
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

  /** Formats that were told to end, and have not. */
  get unfinished(): readonly string[] {
    return this.#parts.filter(({ isEnding }) => isEnding).map(({ name }) => name);
  }

  /** Written so far. */
  get samples(): number {
    return this.#parts.reduce((sum, { samples }) => sum + samples, 0);
  }

  /** Read, and not taken by the output. */
  get unwrittenSamples(): number {
    return this.#parts.reduce((sum, { unwrittenSamples }) => sum + unwrittenSamples, 0);
  }

  /**
   * Begin to read; `onError` at once where one of them fails. Pieces are given to
   * `write` one after the other.
   */
  start(write: FormatWriter, onError: (error: unknown) => void): void {
    for (const part of this.#parts) part.start(write, onError);
  }

  /** In the order of the requests: its own programs leave out what was before `begin`. */
  get heedBegin(): boolean[] {
    return this.#parts.map((part) => part.heedsBegin);
  }

  /** The counters are enabled. */
  begin(): void {
    for (const part of this.#parts) part.begin();
  }

  /** The counters stand still for a while: all they have counted until now is written when this resolves. */
  async drain(): Promise<void> {
    await Promise.all(this.#parts.map((part) => part.drain()));
  }

  /** The counters are stopped: everything is written when this resolves. The first error of any, or null. */
  async stop(): Promise<unknown> {
    const errors: unknown[] = [];
    // All at the same time, first: taking the programs of one off their tracepoints
    // takes a tenth of a second.
    for (const part of this.#parts) part.end();
    for (const part of this.#parts) errors.push(await part.stop());
    return errors.find((error) => error !== null) ?? null;
  }

  finish(): { results: FormatResult[]; losses: FormatLosses[] } {
    const finished = this.#parts.map((part) => part.finish());
    return {
      results: finished.map(({ result }) => result),
      losses: finished.map(({ losses }) => losses),
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
  readonly #events: readonly SampledEvent[];
  readonly #encoders: readonly SampleEncoder[];
  readonly #writer = new SampleBuffer();
  readonly #lines: string[] = [];
  readonly #keepsLines: boolean;
  /** Results that are neither samples nor lines. */
  #unshown = 0;
  /** Of the samples that wait to be written. */
  #oldestNs = Number.POSITIVE_INFINITY;
  #waiting = 0;
  #encoded = 0;
  #write: FormatWriter | null = null;
  #reading: Promise<void> | null = null;
  #error: unknown = null;
  /** Written. */
  samples = 0;
  unwrittenSamples = 0;
  /** From `stop` until its `collect` is over. */
  isEnding = false;

  constructor(sys: Sys, request: FormatRequest, keepsLines: boolean) {
    this.#keepsLines = keepsLines;
    this.#run = FormatRun.open(sys, request);
    this.#events = request.events;
    this.#encoders = request.events.map((event) => new SampleEncoder(event));
  }

  get name(): string {
    return this.#run.format.name;
  }

  get programIds(): number[] {
    return this.#run.programIds;
  }

  get heedsBegin(): boolean {
    return this.#run.heedsBegin;
  }

  begin(): void {
    this.#run.begin();
  }

  end(): void {
    this.#run.end();
  }

  start(write: FormatWriter, onError: (error: unknown) => void): void {
    const fail = (error: unknown): void => {
      this.#error ??= this.#explain(error);
      onError(this.#error);
    };
    // What the output does not take any more is still counted.
    const writeWhileItCan: FormatWriter = async (bytes, oldestNs, samples) => {
      if (this.#error === null)
        try {
          await write(bytes, oldestNs, samples);
          this.samples += samples;
          return;
        } catch (error) {
          fail(error);
        }
      this.unwrittenSamples += samples;
    };
    this.#write = writeWhileItCan;
    this.#reading = this.#read(writeWhileItCan).catch(fail);
  }

  async #read(write: FormatWriter): Promise<void> {
    try {
      for await (const result of this.#run.results()) {
        await this.#encode(result, write);
        if (this.#keepsLines) this.#lines.push(...this.#linesOf(result));
      }
    } finally {
      // What came before a failure, too.
      if (this.#writer.length > 0) await this.#writeAll(write);
    }
    const { name } = this.#run.format;
    if (this.#unshown > 0)
      this.#lines.push(
        `${name} gave ${this.#unshown} ${this.#unshown === 1 ? 'result' : 'results'} that nothing shows: a format needs toSamples (or toRows) for report, describe for lines here`,
      );
  }

  *#linesOf(result: unknown): Iterable<string> {
    const { toSamples, toRows, describe } = this.#run.format;
    if ((toSamples ?? toRows ?? describe) === undefined) this.#unshown++;
    yield* this.#run.lines(result);
  }

  async #encode(result: unknown, write: FormatWriter): Promise<void> {
    const rows = this.#run.rows(result);
    if (rows === null)
      for (const sample of this.#run.samples(result)) {
        this.#encoders[sample.event]!.encode(this.#writer, sample);
        this.#sawTime(Number(sample.timeNs));
        if (this.#isTimeToWrite()) await this.#writeSome(write);
      }
    else {
      const { words, at } = rows;
      for (let index = 0; index < rows.count; index++) {
        const start = rowStart(rows, index);
        this.#encoders[words[start + at.event]!]!.encodeRow(this.#writer, rows, index);
        this.#sawTime(timeNumberOfRow(rows, index));
        if (this.#isTimeToWrite()) await this.#writeSome(write);
      }
    }
  }

  /** After each sample. */
  #isTimeToWrite(): boolean {
    this.#encoded++;
    this.#waiting++;
    return this.#writer.length >= PIECE_BYTES || this.#encoded % SAMPLES_A_TURN === 0;
  }

  async #writeSome(write: FormatWriter): Promise<void> {
    if (this.#writer.length >= PIECE_BYTES) await this.#writeAll(write);
    if (this.#encoded % SAMPLES_A_TURN === 0) await new Promise(setImmediate);
  }

  #sawTime(timeNs: number): void {
    if (timeNs < this.#oldestNs) this.#oldestNs = timeNs;
  }

  async #writeAll(write: FormatWriter): Promise<void> {
    const oldestNs = this.#oldestNs;
    const samples = this.#waiting;
    this.#oldestNs = Number.POSITIVE_INFINITY;
    this.#waiting = 0;
    await write(this.#writer.take(), oldestNs, samples);
  }

  async drain(): Promise<void> {
    // A `collect` that has ended gives nothing any more.
    await Promise.race([this.#run.drain(), this.#reading]);
    if (this.#write !== null && this.#writer.length > 0) await this.#writeAll(this.#write);
  }

  async stop(): Promise<unknown> {
    this.isEnding = true;
    this.#run.stop();
    await this.#reading;
    this.isEnding = false;
    return this.#error;
  }

  /** What a format's own functions throw is the format's; the output's errors are the output's. */
  #explain(error: unknown): unknown {
    return explainThrown(this.#run.format, error, {
      code: 'ERR_FORMAT_COLLECT',
      did: 'failed when its results were read',
      remedy: 'The recording has what is in the rings.',
    });
  }

  finish(): { result: FormatResult; losses: FormatLosses } {
    const { overflows, runs, costNs, bytesRead, suspended, losses } = this.#run.finish();
    const result = {
      name: this.#run.format.name,
      hasHandler: overflows.length > 0,
      overflows: overflows.reduce((sum, count) => sum + count, 0n),
      runs,
      costNs,
      bytesRead,
      suspended,
      samples: this.samples,
      lines: this.#lines,
    };
    // Bounded, however many losses there are.
    const ledger = new LossLedger();
    for (const loss of losses) ledger.add(loss);
    return { result, losses: { events: this.#events, entries: ledger.list() } };
  }

  close(): void {
    this.#run.close();
  }
}
