import { FEATURE_RECORDED_FILES } from '@counterpoint/core/abi';
import { LossLedger } from '@counterpoint/core/loss';
import type { PerfDataFeatures } from '@counterpoint/core/perfdata';
import { type AuxRecord, type PerfRecord, SampleLayout } from '@counterpoint/core/records';
import { RecordScan } from '@counterpoint/core/ring';
import {
  addNote,
  type EventTotals,
  type Note,
  OFFLINE_LOOK_MS,
  OfflineCpus,
  type OpenTarget,
  type SampledEvents,
  type TakenProcess,
  takenLoss,
  takenNote,
} from '../../kernel/perf-events/index.ts';
import type { Sys } from '../../kernel/sys/index.ts';
import type { ExitStatus, HeldCommand } from '../../kernel/target/index.ts';
import { type DrainedFile, type Reader, RingReader, type RoundSink, ThreadReader } from '../reader/index.ts';
import type { PlannedTrace } from '../trace-pmus/index.ts';
import { fullAreas, takenTraceBytes } from './aux-facts.ts';
import type { BuildIdCollector } from './build-ids.ts';
import { closingRecords } from './closing-records.ts';
import { endOfCommand, endOrAbort, tellToEnd } from './command-end.ts';
import type { CommandNames } from './command-names.ts';
import { leaveRecorderOut } from './event-scope.ts';
import type { FormatRecording, FormatResult, FormatWriter } from './format-recording.ts';
import type { JavascriptFrames } from './javascript-frames.ts';
import { KeptTasks } from './kept-tasks.ts';
import { hiddenCuts } from './long-chains.ts';
import { MapWatch } from './map-watch.ts';
import { NamelessCode, processWithMadeCode } from './nameless-code.ts';
import type { RecordControl, RecordOptions, RecordResult, RecordStart, StopReason } from './options.ts';
import type { RecordingOutput } from './output.ts';
import { OutputSwitch } from './output-switch.ts';
import { PassingRecords } from './passing-records.ts';
import type { PerfMapKeeper } from './perf-maps.ts';
import { recordingFeatures, writtenEvents } from './recording-features.ts';
import type { Scope } from './request.ts';
import type { SoftRecording } from './soft-recording.ts';
import { type SynthesisTarget, synthesizeStart } from './synthesis.ts';
import { startWithPriority } from './thread-priority.ts';
import { TraceIndex } from './trace-index.ts';
import { traceClock, traceInfo } from './trace-plan.ts';
import { WrittenSamples } from './written-samples.ts';

/**
 * Short enough that what a short-lived process leaves in /proc is mostly still there when its maps are seen.
 */
const DEFAULT_FLUSH_INTERVAL_MS = 200;
/** Samples with stacks: what their functions are called is read from memory, and that is reused. */
const FRAMES_FLUSH_INTERVAL_MS = 40;
const DEFAULT_PROGRESS_INTERVAL_MS = 200;

export interface RecordingParts {
  sys: Sys;
  options: RecordOptions;
  output: RecordingOutput;
  formats: FormatRecording;
  /** Null: nothing is stepped. */
  soft: SoftRecording | null;
  /** Null: no event makes a trace. */
  trace: PlannedTrace | null;
  path: string;
  scope: Scope;
  target: OpenTarget;
  held: HeldCommand | null;
  sampled: SampledEvents;
  notes: Note[];
  buildIds: BuildIdCollector | null;
  perfMaps: PerfMapKeeper;
  /** Null: chains are as the kernel gives them. */
  frames: JavascriptFrames | null;
  commandNames: CommandNames | null;
}

interface Stop {
  /**
   * `callback-threw`: the caller's own function did; the recording is completed, and then its error thrown.
   */
  reason: StopReason | 'callback-threw';
  error: unknown;
}

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
  readonly #records: PassingRecords;
  readonly #maps: MapWatch;
  /** Null where no names are wanted. */
  readonly #nameless: NamelessCode | null;
  #reader: Reader | null = null;
  readonly #written = new WrittenSamples();
  readonly #traceIndex = new TraceIndex();
  /** Where the rounds that are in the output end. */
  #roundsEnd = Number.POSITIVE_INFINITY;
  #formatResults: FormatResult[] = [];
  #switch: OutputSwitch | null = null;
  /** Null where nothing begins another file. */
  readonly #tasks: KeptTasks | null;
  readonly #startedAt = performance.now();
  readonly #stopped: Promise<Stop>;
  #stop: (reason: Stop['reason'], error?: unknown) => void = () => {};

  constructor(parts: RecordingParts) {
    this.#parts = parts;
    const { options } = parts;
    this.#maps = new MapWatch(parts.buildIds, parts.perfMaps, parts.commandNames);
    this.#nameless =
      options.nodeNames === false
        ? null
        : new NamelessCode(
            (pid) => parts.perfMaps.whyNameless(pid),
            (pid) => parts.perfMaps.isPending(pid),
          );
    const tasks = options.switchOutput === undefined ? null : new KeptTasks();
    this.#tasks = tasks;
    this.#records = new PassingRecords(parts.sampled.events, parts.scope.kind === 'cpus', {
      addMap: (record) => this.#addMap(record),
      addTask: tasks === null ? undefined : (record) => tasks.add(record),
      addAux: (record) => this.#heardAux(record),
      tellTaken: (taken) => this.#tellTaken(taken),
      currentCpu: () => this.#reader?.currentCpu ?? null,
    });
    this.#stopped = new Promise((resolve) => {
      this.#stop = (reason, error = null) => resolve({ reason, error });
    });
  }

  async run(): Promise<RecordResult> {
    const { options, output, sampled, sys, scope, target, held, commandNames, notes } = this.#parts;
    const written = this.#parts.frames?.begin(sampled.events) ?? sampled.events;
    await output.begin(writtenEvents(written), () => recordingFeatures(sys, sampled.events, options));
    const command = held === null ? null : { pid: held.pid, name: held.heldName };
    const watched = { scope, ...target, command };
    const { frames } = this.#parts;
    const start = (target: SynthesisTarget, maps: Pick<MapWatch, 'add'>) =>
      synthesizeStart(sampled, target, maps, notes, undefined, this.#nameless, frames, options.synthesis);
    const add = (record: PerfRecord) => {
      this.#maps.add(record);
      this.#tasks?.add(record);
    };
    const { trace } = this.#parts;
    if (trace !== null) await output.writeRecords(traceInfo(trace, sampled, scope));
    await output.writeRecords(start(watched, { add }));
    using switching = this.#switching(start);
    this.#switch = switching;
    const stop = await this.#untilStopped();
    this.#parts.perfMaps.look();
    if (options.traceSnapshots === 'and-at-end') await this.#takeSnapshots();
    sampled.disable();
    this.#tellStop(stop);
    const softError = (await this.#parts.soft?.stop()) ?? null;
    const formatError = (await this.#parts.formats.stop()) ?? softError;
    if (formatError !== null && stop.error === null)
      Object.assign(stop, { reason: 'write-error', error: formatError });
    // perf ends its command, too, when it stops before it.
    if (stop.reason !== 'command-exited' && !isMishap(stop)) tellToEnd(held, options.signal);
    await this.#reader!.finish();
    await switching?.stop();
    this.#records.taken?.finish();
    const end = await Promise.race([this.#reader!.ended, null]);
    if (stop.reason !== 'write-error' && end?.reason === 'failed')
      Object.assign(stop, { reason: 'write-error', error: end.error });
    const lost = sampled.readLost();
    this.#nameless?.noteLeft(notes);
    await this.#finishOutput(stop, lost);
    if (isMishap(stop)) this.#leaveTargetAlone(stop.error);
    const exit = held === null ? null : await this.#commandExit(held, stop);
    commandNames?.finish();
    this.#removeMaps(stop);
    const { reason, error } = stop;
    if (reason === 'callback-threw') throw error;
    return this.#result({ reason, error }, lost, exit);
  }

  /**
   * Those that a command wrote because it was recorded, where the recording has them and nobody wants more.
   */
  #removeMaps(stop: Stop): void {
    const { perfMaps, commandNames, scope, output, options, notes } = this.#parts;
    const isIn = output.keepsFeatures === true && stop.error === null;
    const isOwn = commandNames !== null && scope.kind === 'command' && isIn && options.keepPerfMaps !== true;
    perfMaps.finish(notes, () => isOwn);
  }

  async #commandExit(held: HeldCommand, stop: Stop): Promise<ExitStatus | null> {
    const { options, notes } = this.#parts;
    if (isMishap(stop)) await endOrAbort(held, options.signal);
    const endsByItself = stop.reason === 'command-exited';
    const end = await endOfCommand(held, {
      endsByItself,
      graceMs: options.commandGraceMs,
      signal: options.signal,
    });
    if (!('text' in end)) return end;
    notes.push({ kind: 'command-goes-on', text: end.text });
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
    const rest = held === null ? 'the target continues' : `the command (process ${held.pid}) continues`;
    addNote(notes, { kind: 'command-goes-on', text: `${why}: the recording ends here, ${rest}` });
    this.#tell(() => options.onNote?.(notes));
  }

  /** Start everything, and wait for the first reason to stop. */
  async #untilStopped(): Promise<Stop> {
    const { options, sampled, scope, held, notes } = this.#parts;
    const onAbort = () => this.#stop('aborted');
    options.signal?.addEventListener('abort', onAbort, { once: true });
    const timers: NodeJS.Timeout[] = [];
    const reader = this.#startReader();
    this.#reader = reader;
    const write: FormatWriter = async (bytes, oldestNs, samples) => {
      const { output } = this.#parts;
      this.#traceIndex.addRecords(output.nextOffset, bytes);
      await output.writeRecords(bytes, oldestNs);
      // A trace is no samples.
      if (samples > 0) this.#records.addMade(bytes);
      this.#written.addFormatPiece(output.sizeBytes - bytes.length, samples);
      this.#checkSize();
    };
    this.#parts.formats.start(write, (error) => this.#stop('write-error', error));
    this.#parts.soft?.start(write, (error) => {
      if (error !== null) this.#stop('write-error', error);
      // A command's exit says the same, and brings its status.
      else if (scope.kind !== 'command') this.#stop('target-ended');
    });
    reader.ended.then((end) => {
      if (end.reason === 'failed') this.#stop('write-error', end.error);
      else this.#records.taken?.finish();
      // A command's exit says the same, and brings its status.
      if (end.reason === 'hung-up' && scope.kind !== 'command') this.#stop('target-ended');
    });
    try {
      const { delayMs = 0, onProgress } = options;
      if (delayMs > 0) timers.push(setTimeout(() => this.#enable(), delayMs));
      else if (options.startDisabled !== true) this.#enable();
      const { onControl } = options;
      if (onControl !== undefined) this.#tell(() => onControl(this.#control()));
      held?.release();
      if (held !== null)
        this.#parts.commandNames?.follow(held.pid, (pid) => this.#parts.perfMaps.consider(pid));
      held?.exited.then(() => this.#stop('command-exited'));
      const start = { ...describeEvents(sampled), notes, pid: held?.pid ?? null };
      this.#tell(() => options.onStart?.(start));
      timers.push(this.#watchCpus());
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

  #watchCpus(): NodeJS.Timeout {
    const { sampled, notes, options } = this.#parts;
    const cpus = new OfflineCpus(
      sampled.rings.map(({ cpu }) => cpu),
      notes,
      'samples',
    );
    return setInterval(() => {
      if (cpus.look()) this.#tell(() => options.onNote?.(notes));
    }, OFFLINE_LOOK_MS);
  }

  /** A thread beside the event loop where that can be, and the output is a file that nobody else writes. */
  #startReader(): Reader {
    const { sys, sampled, options, output, notes } = this.#parts;
    const usualMs = this.#parts.frames === null ? DEFAULT_FLUSH_INTERVAL_MS : FRAMES_FLUSH_INTERVAL_MS;
    const flushIntervalMs = options.flushIntervalMs ?? usualMs;
    // Who rewrites samples does it in the event loop; so do those who read traces.
    const inLoop = this.#parts.frames !== null || sampled.rings.some(({ aux }) => aux !== null);
    const file = inLoop ? null : (output.drained?.() ?? null);
    if (file !== null) {
      const reader = new ThreadReader(sys, sampled, this.#records.scan, this.#watchedFile(file), {
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
        text: 'no real-time priority here: only an uncompressed recording to a file, without sampling formats, has a thread of its own for writing',
      });
    const { trace, scope } = this.#parts;
    const reader = new RingReader(sys, sampled, this.#records.scan, this.#limitedSink(), {
      flushIntervalMs,
      ...(trace === null ? {} : { traceClock: traceClock(trace, sampled, scope) }),
    });
    reader.start();
    return reader;
  }

  #enable(): void {
    const { options, sys, sampled } = this.#parts;
    if (options.excludeRecorder === true) leaveRecorderOut(sys, sampled);
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
    if (pid === null) return;
    const { notes, options, commandNames } = this.#parts;
    const note = this.#nameless?.noteOf(pid) ?? commandNames?.noteOf(pid) ?? null;
    if (note === null) return;
    notes.push(note);
    this.#tell(() => options.onNote?.(notes));
  }

  async #takeSnapshots(): Promise<void> {
    if (this.#reader instanceof RingReader) await this.#reader.takeSnapshots();
  }

  #heardAux({ auxOffset, auxSize, flags }: AuxRecord): void {
    this.#reader?.currentRing?.aux?.heard(Number(auxOffset), Number(auxSize), Number(flags & 0xffn));
  }

  /** At once: a server may run for days without anybody who watches it. */
  #tellTaken(taken: TakenProcess): void {
    const { held, notes, options } = this.#parts;
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
      samples: this.#records.scan.samples + this.#parts.formats.samples + (this.#parts.soft?.samples ?? 0),
      bytes: this.#parts.output.sizeBytes,
      lostRecords: this.#records.loss.lostRecords,
    };
  }

  /** The output, until it has the size that was allowed. */
  #limitedSink(): RoundSink {
    const { output } = this.#parts;
    return {
      writeRound: (spans, sizeBytes) => {
        if (this.#switch !== null) return this.#writeSwitched(this.#switch, spans, sizeBytes);
        this.#records.taken?.beginPass();
        this.#rememberRound(output.sizeBytes);
        const written = this.#writeRound(spans, sizeBytes);
        if (written !== undefined) return written.then(() => this.#checkSize());
        this.#checkSize();
      },
    };
  }

  async #writeSwitched(
    files: OutputSwitch,
    spans: readonly Uint8Array<ArrayBuffer>[],
    sizeBytes: number,
  ): Promise<void> {
    const { output } = this.#parts;
    await files.beginRound();
    this.#records.taken?.beginPass();
    this.#rememberRound(output.sizeBytes);
    await this.#writeRound(spans, sizeBytes);
    files.endRound(output.fileBytes ?? 0);
    this.#checkSize();
  }

  #writeRound(spans: readonly Uint8Array<ArrayBuffer>[], sizeBytes: number): void | Promise<void> {
    const { frames, output, sampled } = this.#parts;
    if (frames === null) {
      this.#traceIndex.addRound(output.nextOffset, spans, sampled.rings);
      return output.writeRound(spans, sizeBytes);
    }
    const bytes = frames.rewrite(spans, sizeBytes);
    return output.writeRound([bytes], bytes.length);
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
    this.#written.beginRound(begin, this.#records.scan.samples);
  }

  /** Null where all goes into one file. */
  #switching(
    start: (target: SynthesisTarget, maps: Pick<MapWatch, 'add'>) => Uint8Array<ArrayBuffer>,
  ): OutputSwitch | null {
    const { options, output, sampled, target } = this.#parts;
    const tasks = this.#tasks;
    if (options.switchOutput === undefined || tasks === null) return null;
    // Of the machine; who runs is kept.
    const machine: SynthesisTarget = { ...target, scope: { kind: 'command' }, command: null };
    const layout = new SampleLayout(sampled.events[0]!.attr);
    return new OutputSwitch(
      options.switchOutput,
      async () => {
        await output.switch?.(await this.#features());
        const path = output.finalPath;
        await output.writeRecords(start(machine, { add() {} }));
        await output.writeRecords(tasks.take(layout));
        if (path !== undefined) this.#tell(() => options.onSwitch?.(path));
      },
      (error) => this.#stop('write-error', error),
    );
  }

  #control(): RecordControl {
    const { sampled } = this.#parts;
    const set = (isOn: boolean, name?: string): boolean => {
      const events = sampled.events.filter(
        (event) =>
          !event.isSideband &&
          (name === undefined ? event.leader === null : event.name === name || event.requestedName === name),
      );
      if (events.length > 0) sampled.setSampling(isOn, events);
      return events.length > 0;
    };
    return {
      events: sampled.events,
      enable: (name) => set(true, name),
      disable: (name) => set(false, name),
      switchOutput: () => this.#switch?.want(),
      snapshot: () => this.#takeSnapshots(),
    };
  }

  #checkSize(): void {
    const { output, options } = this.#parts;
    if (output.sizeBytes >= (options.maxSizeBytes ?? Number.POSITIVE_INFINITY)) this.#stop('size-limit');
  }

  async #finishOutput(stop: Stop, lost: readonly EventTotals[]): Promise<void> {
    const { output, sampled, notes, buildIds, formats, soft } = this.#parts;
    const features = await this.#features();
    for (const text of buildIds?.notes() ?? []) notes.push({ kind: 'build-ids', text });
    const { results, losses: formatLosses } = formats.finish();
    this.#formatResults = results;
    for (const { entries } of formatLosses) this.#records.loss.ledger.addEntries(entries);
    this.#records.loss.finish(lost.map(({ event, lostSamples }) => ({ name: event.name, lostSamples })));
    // Where records were lost, so may have been the one of the program's map.
    const isSure = this.#records.loss.lostRecords === 0n;
    const untold = new LossLedger();
    for (const one of this.#records.takenProcesses) untold.add(takenLoss(one, isSure));
    // No record of the kernel tells of them, nor of these.
    for (const cut of hiddenCuts(sampled.events)) untold.add(cut);
    for (const full of fullAreas(sampled)) untold.add(full);
    this.#records.loss.ledger.addEntries(untold.list());
    const unread = this.#unreadSamples() + formats.unwrittenSamples + (soft?.unwrittenSamples ?? 0);
    const time = this.#records.lastTimeNs();
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
    this.#roundsEnd = Math.min(this.#roundsEnd, output.wholeBytes ?? Number.POSITIVE_INFINITY);
    const unwritten = unread + this.#samplesAfter(this.#roundsEnd);
    if (unwritten > 0) this.#records.loss.ledger.add({ kind: 'recorder-stopped', count: unwritten });
  }

  /** What the recording says of itself by now. */
  async #features(): Promise<Partial<PerfDataFeatures>> {
    const { sys, options, sampled, notes, buildIds, perfMaps } = this.#parts;
    const maps = await perfMaps.pack(notes);
    const features: Partial<PerfDataFeatures> = recordingFeatures(sys, sampled.events, options);
    if (maps !== null) features.raw = new Map([...(features.raw ?? []), [FEATURE_RECORDED_FILES, maps]]);
    if (this.#traceIndex.entries.length > 0) features.auxIndex = this.#traceIndex.entries;
    const sampleTime = this.#records.scan.sampleTimes.get();
    if (sampleTime !== null) features.sampleTime = sampleTime;
    const found = (await buildIds?.finish()) ?? [];
    if (found.length > 0) features.buildIds = found;
    return features;
  }

  #samplesAfter(roundsEnd: number): number {
    return this.#written.after(roundsEnd, this.#records.scan.samples);
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
      path: output.finalPath ?? path,
      stopped: stop.reason,
      samples:
        this.#records.scan.samples -
        this.#samplesAfter(this.#roundsEnd) +
        this.#parts.formats.samples +
        (this.#parts.soft?.samples ?? 0),
      soft: this.#parts.soft?.counts ?? null,
      traceBytes: (this.#parts.soft?.traceBytes ?? 0) + takenTraceBytes(sampled),
      bytes: output.sizeBytes,
      // And once at the end, as perf counts.
      wakeups: (this.#reader?.wakeups ?? 0) + 1,
      loss: this.#records.loss.ledger.list(),
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
