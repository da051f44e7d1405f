import {
  PERF_RECORD_AUX,
  PERF_RECORD_COMM,
  PERF_RECORD_EXIT,
  PERF_RECORD_FINISHED_ROUND,
  PERF_RECORD_FORK,
  PERF_RECORD_MMAP,
  PERF_RECORD_MMAP2,
  PERF_RECORD_SAMPLE,
  PERF_RECORD_SWITCH,
  PERF_RECORD_SWITCH_CPU_WIDE,
} from '@counterpoint/core/abi';
import { CounterpointError } from '@counterpoint/core/base';
import { LossLedger } from '@counterpoint/core/loss';
import type { PerfDataFeatures } from '@counterpoint/core/perfdata';
import { decodeRecord, type PerfRecord, SampleLayout } from '@counterpoint/core/records';
import { RecordScan, TimeRange } from '@counterpoint/core/ring';
import {
  addNote,
  type EventTotals,
  type Note,
  type OpenTarget,
  type SampledEvents,
  TAKEN_TYPES,
  TakenEvents,
  type TakenProcess,
  takenLoss,
  takenNote,
} from '../perf-events/index.ts';
import { type DrainedFile, type Reader, RingReader, type RoundSink, ThreadReader } from '../reader/index.ts';
import { type Sys, SysError } from '../sys/index.ts';
import type { ExitStatus, HeldCommand } from '../target/index.ts';
import type { BuildIdCollector } from './build-ids.ts';
import { closingRecords } from './closing-records.ts';
import type { FormatRecording, FormatResult } from './format-recording.ts';
import { layoutFinder } from './layout-finder.ts';
import { cutChains, hiddenCuts } from './long-chains.ts';
import { LOSS_TYPES, LossWatch } from './loss-watch.ts';
import { MapWatch } from './map-watch.ts';
import type { NameLogs } from './name-logs.ts';
import { NamelessCode, processWithMadeCode } from './nameless-code.ts';
import type { RecordOptions, RecordResult, RecordStart, StopReason } from './options.ts';
import { REMEMBERED_ROUNDS, type RecordingOutput } from './output.ts';
import type { PerfMapKeeper } from './perf-maps.ts';
import { recordingFeatures, writtenEvents } from './recording-features.ts';
import type { Scope } from './request.ts';
import { synthesizeStart } from './synthesis.ts';

/**
 * Short enough that what a short-lived process leaves in /proc is mostly still there when its maps are seen.
 */
const DEFAULT_FLUSH_INTERVAL_MS = 200;
const DEFAULT_PROGRESS_INTERVAL_MS = 200;
const DEFAULT_COMMAND_GRACE_MS = 5000;

export interface RecordingParts {
  sys: Sys;
  options: RecordOptions;
  output: RecordingOutput;
  formats: FormatRecording;
  path: string;
  scope: Scope;
  target: OpenTarget;
  held: HeldCommand | null;
  sampled: SampledEvents;
  notes: Note[];
  buildIds: BuildIdCollector | null;
  perfMaps: PerfMapKeeper;
  nameLogs: NameLogs | null;
}

interface Stop {
  /**
   * `callback-threw`: the caller's own function did; the recording is completed, and then its error thrown.
   */
  reason: StopReason | 'callback-threw';
  error: unknown;
}

/** Types of the kernel's records that come after the last sample, too, of which only the time matters. */
const TIMED_TYPES: readonly number[] = [
  PERF_RECORD_MMAP,
  PERF_RECORD_COMM,
  PERF_RECORD_EXIT,
  PERF_RECORD_FORK,
  PERF_RECORD_AUX,
  PERF_RECORD_SWITCH,
  PERF_RECORD_SWITCH_CPU_WIDE,
];

/** It ended by something that nobody wanted. A stream that its reader has closed is the caller's own will. */
function isMishap({ reason, error }: Stop): boolean {
  return reason === 'write-error' && (error as { code?: unknown } | null)?.code !== 'ERR_STREAM_CLOSED';
}

/**
 * The recording itself, over open events:
 *
 *   begin output, synthesise ── start reading, enable, release ── wait for a reason to stop ── disable, drain ── finish
 */
export class RingRecording {
  readonly #parts: RecordingParts;
  readonly #loss: LossWatch;
  readonly #maps: MapWatch;
  /** Null where no names are wanted. */
  readonly #nameless: NamelessCode | null;
  /** Null where events are on CPUs: nobody takes those. */
  readonly #taken: TakenEvents | null;
  readonly #takenProcesses: TakenProcess[] = [];
  readonly #scan: RecordScan;
  /** Of the kernel's records that are no samples. */
  readonly #sidebandTimes = new TimeRange();
  #reader: Reader | null = null;
  /** The latest rounds, oldest first. */
  readonly #rounds: { begin: number; samplesBefore: number }[] = [];
  /** The latest samples of formats, oldest first. */
  readonly #formatPieces: { begin: number; samples: number }[] = [];
  /** Where the rounds that are in the output end. */
  #roundsEnd = Number.POSITIVE_INFINITY;
  #formatResults: FormatResult[] = [];
  readonly #startedAt = performance.now();
  readonly #stopped: Promise<Stop>;
  #stop: (reason: Stop['reason'], error?: unknown) => void = () => {};

  constructor(parts: RecordingParts) {
    this.#parts = parts;
    const { options } = parts;
    this.#maps = new MapWatch(parts.buildIds, parts.perfMaps, parts.nameLogs);
    this.#nameless = options.nodeNames === false ? null : new NamelessCode();
    this.#loss = new LossWatch((id) => this.#eventName(id));
    this.#taken = parts.scope.kind === 'cpus' ? null : new TakenEvents((one) => this.#tellTaken(one));
    this.#scan = this.#makeScan();
    this.#stopped = new Promise((resolve) => {
      this.#stop = (reason, error = null) => resolve({ reason, error });
    });
  }

  async run(): Promise<RecordResult> {
    const { options, output, sampled, sys, scope, target, held, nameLogs, notes } = this.#parts;
    await output.begin(writtenEvents(sampled.events), () => recordingFeatures(sys, sampled.events, options));
    const command = held === null ? null : { pid: held.pid, name: held.heldName };
    await output.writeRecords(
      synthesizeStart(sampled, { scope, ...target, command }, this.#maps, notes, undefined, this.#nameless),
    );
    const stop = await this.#untilStopped();
    sampled.disable();
    this.#tellStop(stop);
    const formatError = await this.#parts.formats.stop();
    if (formatError !== null && stop.error === null)
      Object.assign(stop, { reason: 'write-error', error: formatError });
    // perf ends its command, too, when it stops before it.
    if (stop.reason !== 'command-exited' && !isMishap(stop)) held?.kill('SIGTERM');
    await this.#reader!.finish();
    this.#taken?.finish();
    const end = await Promise.race([this.#reader!.ended, null]);
    if (stop.reason !== 'write-error' && end?.reason === 'failed')
      Object.assign(stop, { reason: 'write-error', error: end.error });
    const lost = sampled.readLost();
    await this.#finishOutput(stop, lost);
    if (isMishap(stop)) this.#leaveTargetAlone(stop.error);
    const exit = held === null ? null : await this.#commandExit(held, stop);
    nameLogs?.finish();
    const { reason, error } = stop;
    if (reason === 'callback-threw') throw error;
    return this.#result({ reason, error }, lost, exit);
  }

  /** How the command ended. One that does not end by SIGTERM is left alone after a while. */
  async #commandExit(held: HeldCommand, stop: Stop): Promise<ExitStatus | null> {
    const { reason } = stop;
    const { commandGraceMs = DEFAULT_COMMAND_GRACE_MS } = this.#parts.options;
    if (isMishap(stop)) await this.#endOrAbort(held);
    if (reason === 'command-exited' || commandGraceMs === Number.POSITIVE_INFINITY) return await held.exited;
    let timer: NodeJS.Timeout | undefined;
    const patience = new Promise<null>((resolve) => {
      // On a busy machine it has ended by then, and the event loop has not told of it yet:
      // that comes between the two.
      timer = setTimeout(() => setImmediate(resolve, null), commandGraceMs);
    });
    const exit = await Promise.race([held.exited, patience]);
    clearTimeout(timer);
    if (exit !== null) return exit;
    held.abandon();
    const text = `the command (process ${held.pid}) goes on: SIGTERM did not end it within ${commandGraceMs} ms`;
    this.#parts.notes.push({ kind: 'command-goes-on', text });
    return null;
  }

  /**
   * The output took no more: that is no reason to end what is watched, which may be in the middle of work
   * that nobody can repeat. The events are taken off it, and the file is complete by now.
   */
  #leaveTargetAlone(error: unknown): void {
    const { sampled, held, notes, options } = this.#parts;
    sampled.close();
    const why = error instanceof Error ? error.message : String(error);
    const rest =
      held === null ? 'what was watched goes on' : `the command (process ${held.pid}) goes on without it`;
    addNote(notes, { kind: 'command-goes-on', text: `${why}: the recording ends here, ${rest}` });
    this.#tell(() => options.onNote?.(notes));
  }

  /** A command that goes on ends by itself, or when the caller ends the recording. */
  async #endOrAbort(held: HeldCommand): Promise<void> {
    const { signal } = this.#parts.options;
    const onAbort = () => held.kill('SIGTERM');
    const aborted = new Promise<void>((resolve) => {
      signal?.addEventListener('abort', () => resolve(), { once: true });
    });
    if (signal?.aborted === true) onAbort();
    signal?.addEventListener('abort', onAbort, { once: true });
    await Promise.race([held.exited, signal?.aborted === true ? null : aborted]);
    signal?.removeEventListener('abort', onAbort);
  }

  /** Start everything, and wait for the first reason to stop. */
  async #untilStopped(): Promise<Stop> {
    const { options, sampled, scope, held, notes } = this.#parts;
    const onAbort = () => this.#stop('aborted');
    options.signal?.addEventListener('abort', onAbort, { once: true });
    const timers: NodeJS.Timeout[] = [];
    const reader = this.#startReader();
    this.#reader = reader;
    this.#parts.formats.start(
      async (bytes, oldestNs, samples) => {
        const { output } = this.#parts;
        await output.writeRecords(bytes, oldestNs);
        this.#formatPieces.push({ begin: output.sizeBytes - bytes.length, samples });
        if (this.#formatPieces.length > REMEMBERED_ROUNDS) this.#formatPieces.shift();
        this.#checkSize();
      },
      (error) => this.#stop('write-error', error),
    );
    reader.ended.then((end) => {
      if (end.reason === 'failed') this.#stop('write-error', end.error);
      else this.#taken?.finish();
      // A command's exit says the same, and brings its status.
      if (end.reason === 'hung-up' && scope.kind !== 'command') this.#stop('target-ended');
    });
    try {
      const { delayMs = 0, onProgress } = options;
      if (delayMs > 0) timers.push(setTimeout(() => this.#enable(), delayMs));
      else this.#enable();
      held?.release();
      held?.exited.then(() => this.#stop('command-exited'));
      const start = { ...describeEvents(sampled), notes, pid: held?.pid ?? null };
      this.#tell(() => options.onStart?.(start));
      if (onProgress !== undefined) {
        const intervalMs = options.progressIntervalMs ?? DEFAULT_PROGRESS_INTERVAL_MS;
        timers.push(setInterval(() => this.#tell(() => onProgress(this.#progress())), intervalMs));
      }
      if (options.signal?.aborted === true) onAbort();
      return await this.#stopped;
    } catch (error) {
      reader[Symbol.dispose]();
      throw error;
    } finally {
      for (const timer of timers) clearTimeout(timer);
      options.signal?.removeEventListener('abort', onAbort);
    }
  }

  /** A thread beside the event loop where that can be, and the output is a file that nobody else writes. */
  #startReader(): Reader {
    const { sys, sampled, options, output, notes } = this.#parts;
    const flushIntervalMs = options.flushIntervalMs ?? DEFAULT_FLUSH_INTERVAL_MS;
    const file = output.drained?.() ?? null;
    if (file !== null) {
      const reader = new ThreadReader(sys, sampled, this.#scan, this.#watchedFile(file), {
        flushIntervalMs,
        limitBytes: options.maxSizeBytes ?? Number.POSITIVE_INFINITY,
        onLimit: () => this.#stop('size-limit'),
        realtimePriority: options.realtimePriority,
      });
      if (startWithPriority(reader, options.realtimePriority)) return reader;
    }
    if (options.realtimePriority !== undefined)
      addNote(notes, {
        kind: 'no-realtime',
        text: 'no real-time priority here: only files are written by a thread of their own, and without sampling formats',
      });
    const reader = new RingReader(sys, sampled, this.#scan, this.#limitedSink(), { flushIntervalMs });
    reader.start();
    return reader;
  }

  #enable(): void {
    this.#parts.sampled.enable();
    this.#parts.formats.begin();
  }

  /** The reason to stop is known by now: what the caller's function throws takes its place. */
  #tellStop(stop: Stop): void {
    const { options, formats } = this.#parts;
    try {
      options.onStop?.({ unfinishedFormats: () => formats.unfinished });
    } catch (error) {
      Object.assign(stop, { reason: 'callback-threw', error });
    }
  }

  #addMap(record: PerfRecord): void {
    this.#maps.add(record);
    const pid = processWithMadeCode(record);
    const note = pid === null ? null : (this.#nameless?.noteOf(pid) ?? null);
    if (note === null) return;
    const { notes, options } = this.#parts;
    notes.push(note);
    this.#tell(() => options.onNote?.(notes));
  }

  /** At once: a server may run for days without anybody who watches it. */
  #tellTaken(taken: TakenProcess): void {
    const { held, notes, options } = this.#parts;
    this.#takenProcesses.push(taken);
    addNote(notes, takenNote(taken, held));
    this.#tell(() => options.onNote?.(notes));
  }

  /** Call a function of the caller's. One that throws ends the recording. */
  #tell(call: () => void): void {
    try {
      call();
    } catch (error) {
      this.#stop('callback-threw', error);
    }
  }

  #progress() {
    return {
      elapsedMs: performance.now() - this.#startedAt,
      samples: this.#scan.samples + this.#parts.formats.samples,
      bytes: this.#parts.output.sizeBytes,
      lostRecords: this.#loss.lostRecords,
    };
  }

  #eventName(id: bigint): string | null {
    const event = this.#parts.sampled.events.find(({ instances }) => instances.some((one) => one.id === id));
    return event?.name ?? null;
  }

  /**
   * The CPU whose ring a record of loss stood in; else by the event that it names: events are bound to CPUs.
   */
  #cpuOf(record: PerfRecord): number | null {
    const current = this.#reader?.currentCpu ?? null;
    if (current !== null) return current;
    const { sampleId } = record;
    const named = 'id' in record && typeof record.id === 'bigint' ? record.id : sampleId?.id;
    for (const { instances } of this.#parts.sampled.events) {
      const instance = instances.find(({ id }) => id === named);
      if (instance !== undefined) return instance.cpu;
    }
    return sampleId?.cpu ?? null;
  }

  /** The output, until it has the size that was allowed. */
  #limitedSink(): RoundSink {
    const { output } = this.#parts;
    return {
      writeRound: (spans, sizeBytes) => {
        this.#taken?.beginPass();
        this.#rememberRound(output.sizeBytes);
        const written = output.writeRound(spans, sizeBytes);
        if (written !== undefined) return written.then(() => this.#checkSize());
        this.#checkSize();
      },
    };
  }

  #watchedFile(file: DrainedFile): DrainedFile {
    this.#rememberRound(file.sizeBytes);
    const grewTo = (sizeBytes: number): void => {
      this.#rememberRound(sizeBytes);
      file.grewTo(sizeBytes);
    };
    return { ...file, grewTo };
  }

  #rememberRound(begin: number): void {
    this.#rounds.push({ begin, samplesBefore: this.#scan.samples });
    if (this.#rounds.length > REMEMBERED_ROUNDS) this.#rounds.shift();
  }

  #checkSize(): void {
    const { output, options } = this.#parts;
    if (output.sizeBytes >= (options.maxSizeBytes ?? Number.POSITIVE_INFINITY)) this.#stop('size-limit');
  }

  /** Samples are only counted; maps and losses are looked at. */
  #makeScan(): RecordScan {
    const { sampled } = this.#parts;
    const first = new SampleLayout(sampled.events[0]!.attr);
    const layoutAt = layoutFinder(sampled.events);
    const cut = cutChains(sampled.events);
    const looked = new Set([
      PERF_RECORD_MMAP2,
      ...(this.#taken === null ? [] : [...TAKEN_TYPES, PERF_RECORD_FINISHED_ROUND]),
      ...LOSS_TYPES,
    ]);
    return new RecordScan(
      [...looked, ...TIMED_TYPES],
      (type, view, offset, size) => {
        if (type === PERF_RECORD_SAMPLE) {
          const event = cut?.eventOfCut(view, offset) ?? null;
          if (event !== null) this.#loss.cutChain(event);
          return;
        }
        if (type === PERF_RECORD_FINISHED_ROUND) {
          this.#taken?.beginPass();
          return;
        }
        const layout = layoutAt(view, offset + size);
        const timeAt = offset + size - layout.timeFromEnd;
        if (layout.timeFromEnd > 0)
          this.#sidebandTimes.add(view.getUint32(timeAt, true), view.getUint32(timeAt + 4, true));
        if (!looked.has(type)) return;
        const record = decodeRecord(view, offset, size, layout);
        if (type === PERF_RECORD_MMAP2) this.#addMap(record);
        this.#taken?.add(record);
        this.#loss.add(record, this.#cpuOf(record));
      },
      first.timeFromStart,
      cut?.long ?? null,
    );
  }

  async #finishOutput(stop: Stop, lost: readonly EventTotals[]): Promise<void> {
    const { sys, options, output, sampled, notes, buildIds, perfMaps } = this.#parts;
    perfMaps.finish(notes);
    const features: Partial<PerfDataFeatures> = recordingFeatures(sys, sampled.events, options);
    const sampleTime = this.#scan.sampleTimes.get();
    if (sampleTime !== null) features.sampleTime = sampleTime;
    const found = (await buildIds?.finish()) ?? [];
    if (found.length > 0) features.buildIds = found;
    for (const path of buildIds?.replaced ?? [])
      notes.push({ kind: 'build-ids', text: `${path} was replaced while it ran: it has no build id here` });
    const { results, losses: formatLosses } = this.#parts.formats.finish();
    this.#formatResults = results;
    for (const { entries } of formatLosses) this.#loss.ledger.addEntries(entries);
    this.#loss.finish(lost.map(({ event, lostSamples }) => ({ name: event.name, lostSamples })));
    // Where records were lost, so may have been the one of the program's map.
    const isSure = this.#loss.lostRecords === 0n;
    const untold = new LossLedger();
    for (const one of this.#takenProcesses) untold.add(takenLoss(one, isSure));
    // No record of the kernel tells of them, nor of these.
    for (const cut of hiddenCuts(sampled.events)) untold.add(cut);
    this.#loss.ledger.addEntries(untold.list());
    const unread = this.#unreadSamples() + this.#parts.formats.unwrittenSamples;
    const time = this.#lastTimeNs();
    const closing = (roundsEnd: number) => {
      const unwritten = unread + this.#samplesAfter(roundsEnd);
      const losses = [...formatLosses, { events: [], entries: untold.list() }];
      return closingRecords(sampled.events, { lost, formatLosses: losses, unwritten }, time);
    };
    try {
      this.#roundsEnd = await output.finish(features, closing);
    } catch (error) {
      if (stop.reason !== 'write-error') Object.assign(stop, { reason: 'write-error', error });
    }
    const unwritten = unread + this.#samplesAfter(this.#roundsEnd);
    if (unwritten > 0) this.#loss.ledger.add({ kind: 'recorder-stopped', count: unwritten });
  }

  /**
   * Of the newest record: what is written last is not before anything that a reader has already handed out.
   */
  #lastTimeNs(): bigint {
    const lastSampleNs = this.#scan.sampleTimes.get()?.last ?? 0n;
    const lastSidebandNs = this.#sidebandTimes.get()?.last ?? 0n;
    return lastSampleNs > lastSidebandNs ? lastSampleNs : lastSidebandNs;
  }

  /** Samples that were written, and then cut off again at `roundsEnd`. */
  #samplesAfter(roundsEnd: number): number {
    const cut = this.#rounds.find(({ begin }) => begin >= roundsEnd);
    const ofRounds = cut === undefined ? 0 : this.#scan.samples - cut.samplesBefore;
    return this.#formatPieces.reduce(
      (sum, { begin, samples }) => (begin >= roundsEnd ? sum + samples : sum),
      ofRounds,
    );
  }

  /** What is still in the rings because the output did not take it. */
  #unreadSamples(): number {
    const scan = new RecordScan([], () => {});
    for (const { ring } of this.#parts.sampled.rings) {
      ring.take();
      scan.scan(ring.memory.data, ring.tail, ring.head);
    }
    return scan.samples;
  }

  #result(
    stop: { reason: StopReason; error: unknown },
    lost: readonly EventTotals[],
    exit: ExitStatus | null,
  ): RecordResult {
    const { output, path, sampled, notes } = this.#parts;
    return {
      path,
      stopped: stop.reason,
      samples: this.#scan.samples - this.#samplesAfter(this.#roundsEnd) + this.#parts.formats.samples,
      bytes: output.sizeBytes,
      wakeups: this.#reader?.wakeups ?? 0,
      loss: this.#loss.ledger.list(),
      exitCode: exit?.code ?? null,
      exitSignal: exit?.signal ?? null,
      notes,
      formats: this.#formatResults,
      events: sampled.events.map((event) => ({
        requestedName: event.requestedName,
        name: event.name,
        lostSamples: lost.find((one) => one.event === event)?.lostSamples ?? null,
      })),
      error:
        stop.error === null ? null : stop.error instanceof Error ? stop.error : new Error(String(stop.error)),
    };
  }
}

function startWithPriority(reader: ThreadReader, priority: number | undefined): boolean {
  try {
    return reader.start();
  } catch (error) {
    if (priority === undefined || !(error instanceof SysError) || error.code !== 'EPERM') throw error;
    throw new CounterpointError(
      'ERR_REALTIME',
      `this user may not have the real-time priority ${priority}`,
      'Give CAP_SYS_NICE or raise its limit (ulimit -r), or record without -r.',
    );
  }
}

function describeEvents({ events, rings }: SampledEvents): Pick<RecordStart, 'events' | 'rings'> {
  return {
    events: events.map(({ requestedName, name, instances }) => ({
      requestedName,
      name,
      descriptors: instances.length,
    })),
    rings: { cpus: rings.map(({ cpu }) => cpu), sizeBytes: rings[0]?.ring.memory.data.length ?? 0 },
  };
}
