import { CounterpointError } from '@counterpoint/core/base';
import { RecordScan } from '@counterpoint/core/ring';
import { addNote, type Note, type SampledEvents } from '../perf-events/index.ts';
import { RingReader } from '../reader/index.ts';
import { endOfCommand, type Launched } from '../record/index.ts';
import type { Sys } from '../sys/index.ts';
import { type DumpSource, DumpWriter } from './dump.ts';
import type { DumpFiles } from './dump-files.ts';
import { HeldTime } from './held-time.ts';
import type { Histories } from './histories.ts';
import type { FlightDump, FlightEnd, FlightOptions, FlightStatus } from './options.ts';
import { SIDEBAND_TYPES, type SidebandLog } from './sideband-log.ts';

export interface FlightParts {
  sys: Sys;
  options: FlightOptions;
  sampled: SampledEvents;
  histories: Histories;
  sideband: SidebandLog;
  source: DumpSource;
  files: DumpFiles;
  launched: Launched | null;
  notes: Note[];
  keepMs: number;
  clockId: number;
  /** Ends what else was made for it. */
  close(): void;
}

const NS_PER_MS = 1e6;
const TICK_MS = 1000;
/** Records of processes are read at least so often: their ring is small. */
const FLUSH_MS = 200;

/**
 * Keeps the newest records of what it watches, and writes them to a file when it is asked to. Made by
 * `flight()`.
 *
 *   rings that overwrite ─────────────────────────────┐
 *   ring of processes and maps ──reader──> SidebandLog ┴──dump──> flight-….data
 */
export class FlightRecorder implements AsyncDisposable {
  /** What was done otherwise than asked, and what else there is to know. */
  readonly notes: readonly Note[];
  /** Of the command, where there is one. */
  readonly pid: number | null;
  /** Resolves when it has ended, after the last file is complete. */
  readonly ended: Promise<FlightEnd>;
  readonly #parts: FlightParts;
  readonly #reader: RingReader;
  readonly #held: HeldTime;
  readonly #writer: DumpWriter;
  readonly #startedNs: number;
  readonly #timer: NodeJS.Timeout;
  #dumps = 0;
  /** Files are written one after the other. */
  #last: Promise<unknown> = Promise.resolve();
  #isEnding = false;
  #onEnd: (end: FlightEnd) => void = () => {};
  #onFail: (error: unknown) => void = () => {};

  /** @internal */
  constructor(parts: FlightParts) {
    this.#parts = parts;
    this.notes = parts.notes;
    this.pid = parts.launched?.held.pid ?? null;
    this.ended = new Promise((resolve, reject) => {
      this.#onEnd = resolve;
      this.#onFail = reject;
    });
    // Who asks for no end is not interested in how it fails.
    this.ended.catch(() => {});
    this.#startedNs = this.#nowNs();
    this.#held = new HeldTime(parts.histories.rings.map(({ ring }) => ring));
    this.#writer = new DumpWriter(parts.source);
    this.#reader = this.#startReader();
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
  }

  /**
   * Events on, command off.
   *
   * @internal
   */
  start(): void {
    const { sampled, launched, options } = this.#parts;
    sampled.enable();
    launched?.held.release();
    launched?.held.exited.then((exit) => this.#end('command-exited', exit)).catch(this.#onFail);
    options.signal?.addEventListener('abort', () => void this.stop(), { once: true });
    if (options.signal?.aborted === true) void this.stop();
  }

  #startReader(): RingReader {
    const { sys, sampled, sideband, launched } = this.#parts;
    const scan = new RecordScan(SIDEBAND_TYPES, (_, view, offset, size) => sideband.add(view, offset, size));
    const sink = { writeRound: () => {} };
    const reader = new RingReader(sys, sampled, scan, sink, { flushIntervalMs: FLUSH_MS });
    reader.start();
    reader.ended.then((end) => {
      if (end.reason === 'failed') this.#onFail(end.error);
      // The end of a command says the same, and more.
      else if (launched === null) this.#end('target-ended', null).catch(this.#onFail);
    });
    return reader;
  }

  #nowNs(): number {
    return Number(this.#parts.sys.clockNs(this.#parts.clockId));
  }

  #tick(): void {
    const nowNs = this.#nowNs();
    this.#held.mark(nowNs);
    this.#parts.sideband.beginAt(nowNs - this.#parts.keepMs * NS_PER_MS);
  }

  /**
   * Write what the history holds into a file. It goes on meanwhile; calls at the same time are done one
   * after the other. Rejects where the file cannot be written; the recorder goes on then, too.
   */
  dump(trigger = 'dump()'): Promise<FlightDump> {
    if (this.#isEnding) return Promise.reject(hasEnded());
    return this.#enqueue(trigger);
  }

  #enqueue(trigger: string): Promise<FlightDump> {
    const atNs = this.#nowNs();
    const at = new Date();
    const dumped = this.#last.then(() => this.#dump(trigger, atNs, at));
    this.#last = dumped.catch(() => {});
    return dumped;
  }

  async #dump(trigger: string, atNs: number, at: Date): Promise<FlightDump> {
    const { sideband, files, keepMs } = this.#parts;
    const began = performance.now();
    const fromNs = atNs - keepMs * NS_PER_MS;
    this.#reader.readNow();
    sideband.beginAt(fromNs);
    const number = ++this.#dumps;
    const path = files.pathOf(number, at);
    const request = { trigger, atNs, fromNs, at, startedNs: this.#startedNs };
    const written = await this.#writer.write(path, request);
    const removed = files.add(path, written.bytes);
    const writtenMs = performance.now() - began;
    return { path, number, trigger, atNs: BigInt(Math.round(atNs)), at, ...written, writtenMs, removed };
  }

  status(): FlightStatus {
    const { histories, sideband } = this.#parts;
    const nowNs = this.#nowNs();
    const elapsedMs = (nowNs - this.#startedNs) / NS_PER_MS;
    return {
      elapsedMs,
      heldMs: Math.min(this.#held.heldMs(nowNs, this.#startedNs), this.#parts.keepMs),
      ringBytes: histories.sizeBytes * histories.rings.length,
      bytesPerSecond: this.#held.bytesPerSecond(nowNs),
      processes: sideband.state.processCount,
      dumps: this.#dumps,
    };
  }

  /** @internal */
  note(note: Note): void {
    addNote(this.#parts.notes, note);
    this.#parts.options.onNote?.(this.#parts.notes);
  }

  /** End it. The command of it gets SIGTERM. */
  async stop(): Promise<FlightEnd> {
    await this.#end('stopped', null);
    return await this.ended;
  }

  async #end(reason: FlightEnd['reason'], exit: FlightEnd['exit']): Promise<void> {
    if (this.#isEnding) return;
    this.#isEnding = true;
    clearInterval(this.#timer);
    const { sampled, histories, launched, options } = this.#parts;
    // What the end itself asks for is written before the rings are gone.
    await new Promise(setImmediate);
    await this.#last;
    sampled.disable();
    this.#reader[Symbol.dispose]();
    let left = exit;
    if (reason === 'stopped' && launched !== null) {
      launched.held.kill('SIGTERM');
      const end = await endOfCommand(launched.held, { endsByItself: false, graceMs: options.commandGraceMs });
      if ('text' in end) this.note({ kind: 'command-goes-on', text: end.text });
      else left = end;
    }
    sampled.close();
    histories[Symbol.dispose]();
    launched?.nameLogs?.finish();
    this.#parts.close();
    this.#onEnd({ reason, exit: left });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}

function hasEnded(): CounterpointError {
  return new CounterpointError(
    'ERR_FLIGHT_ENDED',
    'the flight recorder has ended',
    'Start another one with flight().',
  );
}
