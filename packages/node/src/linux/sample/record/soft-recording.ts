import { PERF_CONTEXT_USER } from '@counterpoint/core/abi';
import type { SampledEvent } from '../../kernel/perf-events/index.ts';
import {
  RowReader,
  type SoftCounts,
  type SoftSample,
  type SoftTracePiece,
  type SoftWay,
  startTracer,
  type Tracer,
} from '../../stepping/softpmu/index.ts';
import type { FormatWriter } from './format-recording.ts';
import { SampleBuffer, SampleEncoder } from './sample-encoder.ts';
import type { SoftPlan, SoftPlans } from './soft-plan.ts';
import { SoftTraces, softTraceInfo } from './soft-trace.ts';

/** What follows in a call chain is user code. */
const USER_MARK = BigInt(PERF_CONTEXT_USER);

export interface SoftRequestOfRecording extends SoftPlans {
  events: readonly SampledEvent[];
  tids: number[];
  fromExec: boolean;
  onFunction: string | undefined;
  stopAfter: number | undefined;
  way: SoftWay;
}

/** The tracer of a recording: what it tells becomes samples of the soft events. */
export class SoftRecording implements Disposable {
  readonly #tracer: Tracer;
  readonly #isTracing: boolean;
  readonly #plans: readonly SoftPlan[];
  readonly #encoders: readonly SampleEncoder[];
  readonly #rows = new RowReader();
  readonly #buffer = new SampleBuffer();
  #done: Promise<void> = Promise.resolve();
  #error: unknown = null;
  readonly #traces = new SoftTraces();
  /** Of traces that were written. */
  traceBytes = 0;
  /** Written. */
  samples = 0;
  unwrittenSamples = 0;
  /** When all is over. */
  counts: SoftCounts | null = null;

  private constructor(tracer: Tracer, { samples, tracing, events }: SoftRequestOfRecording) {
    this.#tracer = tracer;
    this.#isTracing = tracing !== null;
    this.#plans = samples;
    this.#encoders = samples.map(({ index }) => new SampleEncoder(events[index]!));
  }

  /** The target is attached when this resolves. A held command is stepped from its exec on. */
  static async attach(request: SoftRequestOfRecording): Promise<SoftRecording> {
    const { tracing, tids, fromExec, onFunction, stopAfter, way } = request;
    const samples = request.samples.map(({ kind, period, hasCallers }) => ({ kind, period, hasCallers }));
    const order = { tids, fromExec, way, samples, tracing, onFunction, stopAfter } as const;
    return new SoftRecording(await startTracer(order), request);
  }

  /** Begin to read. `onEnd`, when nothing is stepped any more, with what went wrong, or null. */
  start(write: FormatWriter, onEnd: (error: unknown) => void): void {
    this.#done = this.#run(write).then(
      () => onEnd(null),
      (error) => {
        this.#error ??= error;
        onEnd(error);
      },
    );
  }

  async #run(write: FormatWriter): Promise<void> {
    if (this.#isTracing) await write(softTraceInfo(), Number(process.hrtime.bigint()), 0);
    for await (const bytes of this.#tracer.rows!) await this.#write(bytes as Uint8Array, write);
    const { counts } = await this.#tracer.done;
    this.counts = counts;
  }

  /** Samples of one piece, in the order in which they were made. */
  async #write(bytes: Uint8Array, write: FormatWriter): Promise<void> {
    let count = 0;
    let oldestNs = 0;
    for (const row of this.#rows.read(bytes)) {
      if ('bytes' in row) {
        await this.#writeTrace(row, write);
        continue;
      }
      if (count++ === 0) oldestNs = Number(row.timeNs);
      this.#encode(row);
    }
    if (count === 0) return;
    try {
      // What the output does not take any more is still counted, and the tracer need not wait.
      if (this.#error !== null) throw this.#error;
      await write(this.#buffer.take(), oldestNs, count);
      this.samples += count;
    } catch (error) {
      this.#buffer.take();
      this.#error ??= error;
      this.unwrittenSamples += count;
      this.#tracer.stop();
    }
  }

  async #writeTrace(piece: SoftTracePiece, write: FormatWriter): Promise<void> {
    if (this.#error !== null) return;
    try {
      await write(this.#traces.encode(piece), Number(process.hrtime.bigint()), 0);
      this.traceBytes += piece.bytes.length;
    } catch (error) {
      this.#error = error;
      this.#tracer.stop();
    }
  }

  #encode({ event, pid, tid, ip, target, timeNs, cpu, callers }: SoftSample): void {
    const { period, hasCallers } = this.#plans[event]!;
    const address = BigInt(ip);
    this.#encoders[event]!.encode(this.#buffer, {
      event,
      ip: address,
      pid,
      tid,
      cpu: Math.max(0, cpu),
      timeNs,
      period: BigInt(period),
      address: BigInt(target),
      ...(hasCallers ? { callchain: [USER_MARK, address, ...callers.map(BigInt)] } : {}),
    });
  }

  /** The targets go on by themselves, and all is written when this resolves. The first error, or null. */
  async stop(): Promise<unknown> {
    this.#tracer.stop();
    await this.#done;
    return this.#error;
  }

  [Symbol.dispose](): void {
    this.#tracer.stop();
  }
}
