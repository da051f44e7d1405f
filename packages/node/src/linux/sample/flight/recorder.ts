import { PERF_RECORD_EXIT, PERF_RECORD_FORK, PERF_RECORD_SAMPLE } from '@counterpoint/core/abi';
import { CounterpointError, shownValue } from '@counterpoint/core/base';
import { RecordScan } from '@counterpoint/core/ring';
import { checkMade } from '../../../host/options/index.ts';
import { addNote, type Note, OfflineCpus, type SampledEvents } from '../../kernel/perf-events/index.ts';
import type { Sys } from '../../kernel/sys/index.ts';
import { RingReader } from '../reader/index.ts';
import { endOfCommand, type Launched, tellToEnd } from '../record/index.ts';
import { type DumpSource, DumpWriter } from './dump.ts';
import type { DumpFiles } from './dump-files.ts';
import type { FormatHistory } from './format-history.ts';
import type { FrameHistory } from './frame-history.ts';
import { HeldTime } from './held-time.ts';
import type { Histories } from './histories.ts';
import type { FlightDump, FlightEnd, FlightOptions, FlightStatus } from './options.ts';
import { rescanProcesses } from './process-rescan.ts';
import { SIDEBAND_TYPES, type SidebandLog } from './sideband-log.ts';
import { TriggerGate } from './trigger-gate.ts';
import type {
  ProcessListener,
  Trigger,
  TriggerContext,
  TriggerSource,
  WaitingTrigger,
} from './triggers/index.ts';

export interface FlightParts {
  sys: Sys;
  options: FlightOptions;
  sampled: SampledEvents;
  histories: Histories;
  /** Null without sampling formats. */
  formatHistory: FormatHistory | null;
  /** Null where no samples are read all the time. */
  frameHistory: FrameHistory | null;
  sideband: SidebandLog;
  source: DumpSource;
  files: DumpFiles;
  launched: Launched | null;
  notes: Note[];
  keepMs: number;
  /** Of all rings, at most. */
  memoryBytes: number;
  clockId: number;
  triggers: readonly Trigger[];
  /** What triggers see, without what they tell. */
  watched: Omit<TriggerContext, 'fire' | 'closedMs' | 'note' | 'fail' | 'watchProcesses' | 'nameOf'>;
  minIntervalMs: number;
  /** Ends what else was made for it. */
  close(): void;
}

/** Those that leave a core. */
const CORE_SIGNALS: ReadonlySet<string> = new Set([
  'SIGILL',
  'SIGTRAP',
  'SIGABRT',
  'SIGBUS',
  'SIGFPE',
  'SIGSEGV',
  'SIGSYS',
]);
const NS_PER_MS = 1e6;
const TICK_MS = 1000;
/** Rates go up and down. */
const SLACK = 1.25;
/** Records of processes are read at least so often: their ring is small. */
const FLUSH_MS = 200;
/** Samples with stacks: names are those of now. */
const FRAMES_FLUSH_MS = 100;
/**
 * A ring with less room than this may have had no room for a record: the path of a map is the longest part.
 */
const ROOM_FOR_ONE_BYTES = 8192;
/** Of a CPU, for reading names from /proc while they are lost all the time. */
const MOST_RESCAN_SHARE = 0.05;
const NAMES_READ_AGAIN: Note = {
  kind: 'names-read-again',
  text: 'records of processes and maps came faster than they were read, and some were lost: what runs was read from /proc, and what ran before may have another name',
};
const READ_TOO_LATE: Note = {
  kind: 'nameless-code',
  text: 'flight got no CPU for a while, and samples of that time lack the names of functions that V8 interprets: start Node with --perf-basic-prof --interpreted-frames-native-stack where that matters',
};

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
  /** The process of the command; null without one. */
  readonly pid: number | null;
  /** Resolves when it has ended, after the last file is complete. */
  readonly ended: Promise<FlightEnd>;
  readonly #parts: FlightParts;
  readonly #reader: RingReader;
  readonly #cpus: OfflineCpus;
  #held: HeldTime;
  /** What smaller rings held when larger ones took their place, and when. */
  #heldBefore: { ms: number; atNs: number } | null = null;
  readonly #writer: DumpWriter;
  readonly #startedNs: number;
  readonly #timer: NodeJS.Timeout;
  readonly #gate: TriggerGate;
  readonly #waiting: WaitingTrigger[] = [];
  readonly #processListeners = new Set<ProcessListener>();
  #dumps = 0;
  /** The ring of processes and maps was nearly full. */
  #mayLackNames = false;
  /** Records of it were lost. */
  #lacksNames = false;
  /** Samples with stacks were read too late. */
  #wasLate = false;
  /** By performance.now(). */
  #nextRescanAt = 0;
  /** Files are written one after the other. */
  #last: Promise<unknown> = Promise.resolve();
  #hasEnd = false;
  /** Nothing can be asked for any more. */
  #isEnding = false;
  /** A trigger told of a crash as it came. */
  /** Processes whose crash has a file. */
  readonly #crashed = new Set<number>();
  #onEnd: (end: FlightEnd) => void = () => {};
  #onFail: (error: unknown) => void = () => {};

  /** @internal */
  constructor(parts: FlightParts) {
    checkMade(parts, 'notes', 'a FlightRecorder', 'const recorder = await flight({ command, directory });');
    this.#parts = parts;
    this.notes = parts.notes;
    this.pid = parts.launched?.held.pid ?? null;
    this.ended = new Promise((resolve, reject) => {
      this.#onEnd = resolve;
      this.#onFail = reject;
    });
    // Who asks for no end is not interested in how it fails.
    this.ended.catch(() => {});
    this.#gate = new TriggerGate(parts.minIntervalMs);
    this.#startedNs = this.#nowNs();
    this.#held = new HeldTime(parts.histories.current, parts.keepMs);
    const cpus = parts.histories.rings.map(({ cpu }) => cpu);
    this.#cpus = new OfflineCpus(cpus, parts.notes, 'samples');
    this.#writer = new DumpWriter(parts.source, () => this.#reader.readNow());
    this.#reader = this.#startReader();
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
  }

  /**
   * Triggers wait, events count, the command runs.
   *
   * @internal
   */
  async start(): Promise<void> {
    for (const trigger of this.#parts.triggers) this.#waiting.push(await this.#await(trigger));
    const { sampled, launched, options, formatHistory } = this.#parts;
    formatHistory?.start((error) => this.#failFormat(error));
    sampled.enable();
    formatHistory?.begin();
    launched?.held.release();
    if (launched !== null)
      launched.names?.follow(launched.held.pid, (pid) => this.#parts.source.perfMaps.consider(pid));
    launched?.held.exited.then((exit) => this.#end('command-exited', exit)).catch(this.#onFail);
    options.signal?.addEventListener('abort', () => void this.stop(), { once: true });
    if (options.signal?.aborted === true) void this.stop();
  }

  /** What is in the rings, and what it gave before, is still written. */
  #failFormat(error: unknown): void {
    const text = error instanceof Error ? error.message : String(error);
    this.note({ kind: 'format-failed', text: `${text}: it gives nothing any more` });
  }

  async #await({ text, source = 'event', atEnd, start }: Trigger): Promise<WaitingTrigger> {
    return await start({
      ...this.#parts.watched,
      watchProcesses: (listener) => this.#watchProcesses(listener),
      fire: (why, pid) => {
        const isLet = this.#fire(why, source);
        if (isLet && atEnd === 'crash' && pid !== undefined) this.#crashed.add(pid);
      },
      closedMs: () => this.#gate.closedMs(),
      nameOf: (pid, tid) => {
        this.#reader.readNow();
        return this.#parts.sideband.nameOf(pid, tid);
      },
      note: (said) => this.note({ kind: 'trigger-incomplete', text: `the trigger ${text}: ${said}` }),
      fail: (error) => {
        const reason = error instanceof Error ? error.message : String(error);
        this.note({ kind: 'trigger-ended', text: `the trigger ${text} has stopped: ${reason}` });
      },
    });
  }

  /** A trigger has come. False where there is no file because of it. */
  #fire(why: string, source: TriggerSource): boolean {
    if (this.#isEnding || !this.#gate.lets(source)) return false;
    this.#gate.unwritten++;
    this.#report(why)
      .catch(this.#onFail)
      .finally(() => this.#gate.unwritten--);
    return true;
  }

  /** Triggers that are counted elsewhere are suppressed ones, too. */
  #countHeldBack(): void {
    for (const one of this.#waiting) this.#gate.addSuppressed(one.takeHeldBack?.() ?? 0);
  }

  async #report(why: string): Promise<void> {
    const { onDump, onDumpError } = this.#parts.options;
    let dump: FlightDump;
    try {
      dump = await this.#enqueue(why);
    } catch (error) {
      onDumpError?.(error instanceof Error ? error : new Error(String(error)), why);
      return;
    }
    onDump?.(dump);
  }

  #startReader(): RingReader {
    const { sys, sampled, sideband, frameHistory, launched } = this.#parts;
    const types = frameHistory === null ? SIDEBAND_TYPES : [...SIDEBAND_TYPES, PERF_RECORD_SAMPLE];
    const scan = new RecordScan(types, (type, view, offset, size) => {
      if (type === PERF_RECORD_SAMPLE) return this.#addFramed(view, offset, size);
      sideband.add(view, offset, size);
      if (type === PERF_RECORD_FORK || type === PERF_RECORD_EXIT) this.#tellProcess(type, view, offset);
    });
    const sizes = sampled.rings.map(({ ring }) => ring.memory.data.length);
    const mostBytes = Math.min(...sizes) - ROOM_FOR_ONE_BYTES;
    const sink = {
      writeRound: (_: unknown, sizeBytes: number) => {
        if (sizeBytes < mostBytes || this.#mayLackNames) return;
        this.#mayLackNames = true;
        setImmediate(() => this.#readNamesAgain(false));
      },
    };
    const flushIntervalMs = frameHistory === null ? FLUSH_MS : FRAMES_FLUSH_MS;
    const reader = new RingReader(sys, sampled, scan, sink, { flushIntervalMs });
    reader.start();
    reader.ended.then((end) => {
      if (end.reason === 'failed') this.#onFail(end.error);
      // The end of a command says the same, and more.
      else if (launched === null) this.#end('target-ended', null).catch(this.#onFail);
    });
    return reader;
  }

  #addFramed(view: DataView<ArrayBuffer>, offset: number, size: number): void {
    if (this.#parts.frameHistory!.add(view, offset, size) || this.#wasLate) return;
    this.#wasLate = true;
    this.note(READ_TOO_LATE);
  }

  /** Where records of processes and maps were lost, /proc says who runs what now. */
  #readNamesAgain(isUrgent: boolean): void {
    if (this.#isEnding) return;
    const { source, watched, sideband } = this.#parts;
    if (this.#mayLackNames) this.#lacksNames = source.losses.lookAtNames(this.#nowNs()) || this.#lacksNames;
    this.#mayLackNames = false;
    const began = performance.now();
    if (!this.#lacksNames || (!isUrgent && began < this.#nextRescanAt)) return;
    this.#lacksNames = false;
    sideband.insert(rescanProcesses({ ...watched, known: sideband.tasks() }));
    const now = performance.now();
    this.#nextRescanAt = now + Math.max(TICK_MS, (now - began) / MOST_RESCAN_SHARE);
    this.note(NAMES_READ_AGAIN);
  }

  #watchProcesses(listener: ProcessListener): () => void {
    this.#processListeners.add(listener);
    for (const pid of this.#parts.watched.pids) listener(pid, true);
    return () => void this.#processListeners.delete(listener);
  }

  /** Of a FORK or an EXIT: `header | pid, ppid, tid, ptid | time`. */
  #tellProcess(type: number, view: DataView<ArrayBuffer>, offset: number): void {
    const [pid, tid] = [view.getInt32(offset + 8, true), view.getInt32(offset + 16, true)];
    if (pid !== tid) return;
    for (const listener of this.#processListeners) listener(pid, type === PERF_RECORD_FORK);
  }

  #nowNs(): number {
    return Number(this.#parts.sys.clockNs(this.#parts.clockId));
  }

  #tick(): void {
    if (this.#cpus.look()) this.#parts.options.onNote?.(this.#parts.notes);
    this.#readNamesAgain(false);
    const nowNs = this.#nowNs();
    this.#held.mark(nowNs);
    this.#growAsNeeded(nowNs);
    const beginNs = nowNs - this.#parts.keepMs * NS_PER_MS;
    this.#parts.sideband.beginAt(beginNs);
    this.#parts.formatHistory?.forget(beginNs);
    this.#parts.frameHistory?.forget(beginNs);
  }

  /** Rings that will not hold what is to be kept, at the rate that is measured, get larger in time. */
  #growAsNeeded(nowNs: number): void {
    const { histories, keepMs, memoryBytes } = this.#parts;
    histories.forget(nowNs - keepMs * NS_PER_MS);
    const rate = this.#held.highestRate(nowNs);
    const neededBytes = (rate * SLACK * keepMs) / 1000;
    if (neededBytes <= histories.ringBytes) return;
    const ms = this.#heldMs(nowNs);
    if (!histories.grow(neededBytes, memoryBytes, nowNs)) return;
    this.#heldBefore = { ms, atNs: nowNs };
    this.#held = new HeldTime(histories.current, keepMs);
    this.#held.mark(nowNs);
  }

  #heldMs(nowNs: number): number {
    const before = this.#heldBefore;
    const own = this.#held.heldMs(nowNs, before?.atNs ?? this.#startedNs);
    const isWhole = before !== null && own >= (nowNs - before.atNs) / NS_PER_MS;
    const { formatHistory, frameHistory, sideband, keepMs } = this.#parts;
    const sinceMs = (droppedToNs: number | null | undefined) =>
      droppedToNs == null ? keepMs : (nowNs - droppedToNs) / NS_PER_MS;
    const counted = sinceMs(formatHistory?.droppedToNs);
    const framed = sinceMs(frameHistory?.droppedToNs);
    return Math.min(own + (isWhole ? before.ms : 0), keepMs, counted, framed, sinceMs(sideband.droppedToNs));
  }

  /**
   * Write what the history holds into a file. It goes on meanwhile; calls at the same time are done one
   * after the other. Rejects where the file cannot be written; the recorder goes on then, too.
   */
  dump(trigger = 'dump()'): Promise<FlightDump> {
    if (typeof trigger !== 'string')
      return Promise.reject(
        new CounterpointError(
          'ERR_ARGUMENT',
          `dump(): the trigger should be text, but is ${shownValue(trigger)}`,
          "Give a few words that say why, such as dump('slow request'), or none.",
        ),
      );
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
    this.#readNamesAgain(true);
    sideband.beginAt(fromNs);
    const number = ++this.#dumps;
    const path = files.pathOf(number, at);
    const request = { trigger, atNs, fromNs, at, startedNs: this.#startedNs };
    const written = await this.#writer.write(path, request);
    const removed = files.add(path, written.bytes);
    const writtenMs = performance.now() - began;
    this.#countHeldBack();
    const suppressed = this.#gate.takeSuppressed();
    const clock = { atNs: BigInt(Math.round(atNs)), at };
    return { path, number, trigger, ...clock, ...written, writtenMs, suppressed, removed };
  }

  /** Rings of processes and maps are small, and hold no history. */
  #readRingBytes(): number {
    const { sampled, frameHistory } = this.#parts;
    if (frameHistory === null) return 0;
    return sampled.rings.reduce((sum, { ring }) => sum + ring.memory.data.length, 0);
  }

  /** What the recorder has done so far, and what it holds. */
  status(): FlightStatus {
    this.#countHeldBack();
    const { histories, formatHistory, frameHistory, sideband } = this.#parts;
    const nowNs = this.#nowNs();
    const elapsedMs = (nowNs - this.#startedNs) / NS_PER_MS;
    return {
      elapsedMs,
      heldMs: this.#heldMs(nowNs),
      ringBytes: histories.totalBytes + this.#readRingBytes(),
      formatBytes: (formatHistory?.sizeBytes ?? 0) + (frameHistory?.sizeBytes ?? 0),
      bytesPerSecond: this.#held.bytesPerSecond(nowNs) + (frameHistory?.bytesPerSecond(nowNs) ?? 0),
      processes: sideband.state.processCount,
      dumps: this.#dumps,
      suppressed: this.#gate.suppressed,
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
    if (this.#hasEnd) return;
    this.#hasEnd = true;
    clearInterval(this.#timer);
    const { sampled, histories, formatHistory, launched, options } = this.#parts;
    // They look once more: what ends a program may come right before its end.
    for (const one of this.#waiting) one[Symbol.dispose]();
    this.#countHeldBack();
    this.#waiting.length = 0;
    this.#isEnding = true;
    // The files that were asked for are written before the rings are gone.
    const why = reason === 'stopped' ? null : this.#whyAtEnd(exit);
    if (why !== null) await this.#report(why);
    await this.#last;
    sampled.disable();
    await formatHistory?.stop();
    formatHistory?.[Symbol.dispose]();
    this.#reader[Symbol.dispose]();
    let left = exit;
    if (reason === 'stopped' && launched !== null) {
      tellToEnd(launched.held, options.signal);
      const { commandGraceMs: graceMs, signal } = options;
      const end = await endOfCommand(launched.held, { endsByItself: false, graceMs, signal });
      if ('text' in end) this.note({ kind: 'command-goes-on', text: end.text });
      else left = end;
    }
    sampled.close();
    histories[Symbol.dispose]();
    launched?.names?.finish();
    this.#parts.close();
    this.#onEnd({ reason, exit: left });
  }

  /** The trigger that the end of the target is. */
  #whyAtEnd(exit: FlightEnd['exit']): string | null {
    const { triggers, watched } = this.#parts;
    // The file of a crash, which was written as it came, has all of it, unless it was only a child that died.
    const targets = this.pid === null ? watched.pids : [this.pid];
    if (targets.length > 0 && targets.every((pid) => this.#crashed.has(pid))) return null;
    const isCrash = CORE_SIGNALS.has(exit?.signal ?? 'none');
    const one = triggers.find(({ atEnd }) => atEnd === 'end' || (atEnd === 'crash' && isCrash));
    if (one === undefined) return null;
    return exit?.signal == null ? one.text : `${one.text}: ${exit.signal} in process ${this.pid}`;
  }

  /** Stops the recorder and waits for its end, for `await using`. */
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
