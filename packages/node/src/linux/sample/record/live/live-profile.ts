import { existsSync } from 'node:fs';
import {
  PERF_RECORD_COMM,
  PERF_RECORD_EXIT,
  PERF_RECORD_FORK,
  PERF_RECORD_KSYMBOL,
  PERF_RECORD_MMAP2,
} from '@counterpoint/core/abi';
import { RunningProfile } from '@counterpoint/core/ingest';
import { LOSS_KINDS, type LossEntry, type LossFacts, LossLedger } from '@counterpoint/core/loss';
import { unitOfEvent } from '@counterpoint/core/profile';
import { decodeRecord, type ExitRecord } from '@counterpoint/core/records';
import { RecordScan } from '@counterpoint/core/ring';
import { checkMade } from '../../../../host/options/index.ts';
import { addNote, type Note, TakenEvents, takenLoss, takenNote } from '../../../kernel/perf-events/index.ts';
import { requireLinux } from '../../../kernel/sys/index.ts';
import type { HistogramDrain } from '../../formats/index.ts';
import { RingReader } from '../../reader/index.ts';
import { InliningWatch, withLiveMaps } from '../../v8/index.ts';
import { layoutFinder } from '../layout-finder.ts';
import { LOSS_TYPES, LossWatch } from '../loss-watch.ts';
import { NamelessCode, processWithMadeCode, writesNames } from '../nameless-code.ts';
import { checkLiveOptions } from '../option-tables.ts';
import { refuseEmptyLists } from '../request.ts';
import { synthesizeStart } from '../synthesis.ts';
import type { LiveEnd, LiveProfileOptions, LiveRefresh } from './live-options.ts';
import { type LiveTarget, liveSymbols, MOST_DRAIN_MS, openLiveTarget } from './live-target.ts';
import { SidebandQueue } from './sideband-queue.ts';

const DEFAULT_INTERVAL_MS = 2000;
/** perf top's own. */
const DEFAULT_KEEP_SHARE = 7 / 8;
const DEFAULT_COMMAND_GRACE_MS = 5000;
/** Processes that were asked about: others come and go, for days. */
const MOST_MAKERS = 4096;
/** Losses that are no number of samples. */
const OTHER_UNITS: ReadonlySet<string> = new Set(['nanoseconds', 'processes']);
const WATCHED_TYPES = [
  PERF_RECORD_MMAP2,
  PERF_RECORD_COMM,
  PERF_RECORD_FORK,
  PERF_RECORD_EXIT,
  PERF_RECORD_KSYMBOL,
];

/** An event that a live profile samples. */
export interface LiveEvent {
  /** Its name in the end: `cycles:u` where the kernel's part had to be left out. */
  readonly name: string;
  /** The name with which it was requested. */
  readonly requestedName: string;
  /** Samples per second of each CPU or thread; null where a period is given. */
  readonly frequencyHz: number | null;
  /** Events between two samples; null where a frequency is given. */
  readonly period: bigint | null;
}

/**
 * What runs, while it runs: samples are counted in the kernel by process and address, and at each
 * look the counts become a profile.
 *
 *   handler ── buckets ──drain──┐
 *   rings: processes, maps ─────┴─> RunningProfile ──names──> LiveRefresh, one each interval
 *
 *   await using live = await LiveProfile.open({ pids: [4711] });
 *   for await (const { profile } of live) console.log(topFunctions(profile).rows.slice(0, 10));
 */
export class LiveProfile implements AsyncIterable<LiveRefresh>, AsyncDisposable {
  /** The events that are sampled. */
  readonly events: readonly LiveEvent[];
  /** What was done otherwise than asked. */
  readonly notes: readonly Note[];
  /** Of the command, where there is one. */
  readonly pid: number | null;
  /** What is watched. */
  readonly kind: 'command' | 'processes' | 'threads' | 'cpus';
  /** The CPUs on which samples are counted. */
  readonly cpus: readonly number[];
  /** See the option. May be set at any time. */
  keepShare: number;
  readonly #options: LiveProfileOptions;
  readonly #intervalMs: number;
  readonly #open: LiveTarget;
  readonly #running: RunningProfile;
  readonly #queue = new SidebandQueue();
  readonly #losses: LossWatch;
  /** Null where events are on CPUs: nobody takes those. */
  readonly #taken: TakenEvents | null;
  readonly #reader: RingReader;
  /** Of Node processes that write no names of their code. */
  readonly #memory: InliningWatch;
  readonly #makers = new Set<number>();
  /**
   * Processes whose first thread has ended, and whether a look was taken since;
   * forgotten once all of them is gone.
   */
  readonly #ending = new Map<number, boolean>();
  #naming: Promise<void> | null = null;
  #end: LiveEnd | null = null;
  #isClosed = false;

  private constructor(options: LiveProfileOptions, intervalMs: number, open: LiveTarget) {
    checkMade(open, 'sampled', 'a LiveProfile', 'const live = await LiveProfile.open({ command });');
    this.#options = options;
    this.#intervalMs = intervalMs;
    this.#open = open;
    this.keepShare = options.keepShare ?? DEFAULT_KEEP_SHARE;
    const { sampled, sys, scope, target, held, notes } = open;
    this.events = sampled.events
      .filter(({ isSideband }) => !isSideband)
      .map(({ name, requestedName, attr: { flags, samplePeriodOrFreq }, hitsPerOverflow = 1 }) => ({
        name,
        requestedName,
        frequencyHz: flags.freq === 1 ? Number(samplePeriodOrFreq) : null,
        // A tracepoint or probe only counts: its program knows the period.
        period: flags.freq === 1 ? null : samplePeriodOrFreq || BigInt(hitsPerOverflow),
      }));
    this.notes = notes;
    this.pid = held?.pid ?? null;
    this.kind = scope.kind;
    this.cpus = target.cpus;
    this.#memory = new InliningWatch(null, options.nodeNames !== false);
    this.#running = new RunningProfile(withLiveMaps(options.symbols ?? liveSymbols(), this.#memory));
    for (const { name } of this.events) {
      const unit = unitOfEvent(name);
      this.#running.profile.events.push({ name, unit, samples: 0, sumPeriod: 0n, lost: 0n });
    }
    this.#losses = new LossWatch(() => null);
    this.#taken =
      scope.kind === 'cpus'
        ? null
        : new TakenEvents((one) => {
            addNote(notes, takenNote(one, held));
            this.#losses.ledger.add(takenLoss(one, this.#losses.lostRecords === 0n));
          });
    const sink = { writeRound: () => this.#taken?.beginPass() };
    this.#reader = new RingReader(sys, sampled, this.#makeScan(), sink, { flushIntervalMs: 0 });
  }

  /** Open everything; a command is started, and waits. Counting begins when the first look is asked for. */
  static async open(options: LiveProfileOptions = {}): Promise<LiveProfile> {
    requireLinux('LiveProfile.open()');
    checkLiveOptions(options);
    refuseEmptyLists(options);
    const { command = [], pids = [], tids = [] } = options;
    const hasTarget = command.length + pids.length + tids.length > 0 || options.cpus !== undefined;
    const intervalMs = options.intervalMs ?? DEFAULT_INTERVAL_MS;
    const drainMs = intervalMs / Math.ceil(intervalMs / MOST_DRAIN_MS);
    const whole = hasTarget ? options : { ...options, systemWide: true };
    return new LiveProfile(whole, intervalMs, await openLiveTarget(whole, drainMs));
  }

  /** There is one more look, the last. */
  stop(): void {
    this.#finish({ reason: 'stopped', exit: null });
  }

  /**
   * Looks, one each interval, until `stop` is called or what is looked at has ended. To be gone through once.
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<LiveRefresh> {
    await this.#start();
    const { run } = this.#open;
    const profile = this.#running.profile;
    let before = run.finish();
    let lostBefore = 0;
    let startedAt = performance.now();
    let [number, samples, kernelSamples, readNs] = [0, 0, 0, 0];
    for await (const result of run.results()) {
      const drain = result as HistogramDrain;
      // What is done below, to find names, is not time that was counted.
      const now = performance.now();
      this.#readSideband();
      kernelSamples += this.#add(drain);
      for (const count of drain.samples.view()) samples += count;
      readNs += drain.readNs;
      // A little early is in time: timers are.
      const isDue = now - startedAt > this.#intervalMs * 0.9;
      if (!isDue && !drain.isLast) continue;
      const isNaming = await this.#findNames();
      this.#sumUp();
      const totals = run.finish();
      const losses = this.#lossesOf(totals.losses);
      const counted = losses.filter(({ kind }) => !OTHER_UNITS.has(LOSS_KINDS[kind]));
      const lost = counted.reduce((sum, { count }) => sum + Number(count), 0);
      yield {
        ...{ number: ++number, elapsedMs: now - startedAt, profile, samples, kernelSamples, readNs, losses },
        lost: Math.max(0, lost - lostBefore),
        handlerNs: totals.costNs === null ? null : Math.max(0, totals.costNs - (before.costNs ?? 0)),
        diagnostics: this.#running.diagnostics,
        isNaming,
        end: drain.isLast ? this.#end : null,
      };
      before = totals;
      lostBefore = lost;
      startedAt = now;
      [samples, kernelSamples, readNs] = [0, 0, 0];
      this.#running.fade(this.keepShare);
      this.#forgetEnded();
    }
  }

  /**
   * Everything is closed, and nothing of it is left in the kernel. A command that still runs gets SIGTERM.
   */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const { sampled, run, held, commandNames } = this.#open;
    this.#reader[Symbol.dispose]();
    this.#memory[Symbol.dispose]();
    run.close();
    sampled.close();
    if (held !== null && this.#end?.reason !== 'command-exited') {
      held.kill('SIGTERM');
      const graceMs = this.#options.commandGraceMs ?? DEFAULT_COMMAND_GRACE_MS;
      const patience = delay(graceMs);
      if ((await Promise.race([held.exited, patience.promise])) === null) held.abandon();
      patience.cancel();
    }
    held?.[Symbol.dispose]();
    commandNames?.finish();
  }

  /** The same as `close()`, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #start(): Promise<void> {
    const { sampled, scope, target, held, notes } = this.#open;
    const command = held === null ? null : { pid: held.pid, name: held.heldName };
    const { machine } = this.#running;
    // So that it is known at once whose names cannot be read.
    await this.#memory.prepare(scope.kind === 'processes' ? (this.#options.pids ?? []) : []);
    synthesizeStart(
      sampled,
      { scope, ...target, command },
      {
        add: (record) => {
          this.#watchMemory(processWithMadeCode(record));
          machine.record(record);
        },
      },
      notes,
      undefined,
      this.#options.nodeNames === false ? null : new NamelessCode((pid) => this.#memory.whyNameless(pid)),
    );
    this.#reader.start();
    this.#reader.ended.then(() => {
      if (scope.kind !== 'command') this.#finish({ reason: 'target-ended', exit: null });
    });
    sampled.enable();
    this.#open.run.begin();
    held?.release();
    held?.exited.then((exit) => this.#finish({ reason: 'command-exited', exit }));
  }

  /** A process that makes code. Cheap when asked again. */
  #watchMemory(pid: number | null): void {
    if (pid === null || this.#makers.has(pid)) return;
    if (this.#makers.size >= MOST_MAKERS) this.#makers.clear();
    this.#makers.add(pid);
    if (!writesNames(pid)) this.#memory.consider({ pid, paths: [], uid: 0, startMs: null, isNameless: true });
  }

  /** The first reason counts. */
  #finish(end: LiveEnd): void {
    if (this.#end !== null || this.#isClosed) return;
    this.#end = end;
    this.#reader.readNow();
    this.#taken?.finish();
    this.#open.sampled.disable();
    this.#open.run.stop();
  }

  #makeScan(): RecordScan {
    const layoutAt = layoutFinder(this.#open.sampled.events);
    return new RecordScan([...WATCHED_TYPES, ...LOSS_TYPES], (type, view, offset, size) => {
      const record = decodeRecord(view, offset, size, layoutAt(view, offset + size));
      if (LOSS_TYPES.includes(type)) this.#losses.add(record, this.#reader.currentCpu);
      else this.#queue.add(record);
      const maker = processWithMadeCode(record);
      if (maker !== null) this.#open.commandNames?.consider(maker);
      this.#watchMemory(maker);
      this.#taken?.add(record);
      if (type !== PERF_RECORD_EXIT) return;
      const { pid, tid } = record as ExitRecord;
      if (pid === tid) this.#ending.set(pid, false);
    });
  }

  /** Who runs, and what is mapped where, as of now. */
  #readSideband(): void {
    this.#reader.readNow();
    const mark = this.#queue.mark();
    this.#reader.readNow();
    for (const record of this.#queue.release(mark)) this.#running.machine.record(record);
  }

  /** How many of the samples are in the kernel. */
  #add({ length, event, pid, addressLo, addressHi, samples, period }: HistogramDrain): number {
    let kernelSamples = 0;
    for (let row = 0; row < length; row++) {
      const count = samples.at(row);
      if (addressHi.at(row) < 0) kernelSamples += count;
      this.#running.add(
        event.at(row),
        pid.at(row),
        addressLo.at(row),
        addressHi.at(row),
        count,
        period.at(row),
      );
    }
    return kernelSamples;
  }

  /** True where it takes longer than it may: then it goes on beside the counting. */
  async #findNames(): Promise<boolean> {
    if (this.#naming === null) {
      this.#naming = this.#running.resolve(performance.now()).finally(() => {
        this.#naming = null;
      });
      // Who waits for it next gets the error.
      this.#naming.catch(() => {});
    }
    const { nameWaitMs = Number.POSITIVE_INFINITY } = this.#options;
    if (nameWaitMs === Number.POSITIVE_INFINITY) await this.#naming;
    else {
      const { promise, cancel } = delay(nameWaitMs);
      await Promise.race([this.#naming, promise]).finally(cancel);
    }
    return this.#naming !== null;
  }

  #lossesOf(formatLosses: readonly LossFacts[]): LossEntry[] {
    const ledger = new LossLedger();
    for (const loss of formatLosses) ledger.add(loss);
    return [...ledger.list(), ...this.#losses.ledger.list()];
  }

  #sumUp(): void {
    const { events, samples } = this.#running.profile;
    const counts = new Float64Array(events.length);
    const weights = new Float64Array(events.length);
    for (let row = 0; row < samples.length; row++) {
      counts[samples.event.at(row)]! += samples.count.at(row);
      weights[samples.event.at(row)]! += samples.weight.at(row);
    }
    events.forEach((event, index) => {
      event.samples = Math.round(counts[index]!);
      event.sumPeriod = BigInt(Math.round(weights[index]!));
    });
  }

  /**
   * What a process that has ended did at last may be in the next drain only; and its other threads may go on.
   */
  #forgetEnded(): void {
    for (const [pid, isSeen] of this.#ending) {
      if (!isSeen) this.#ending.set(pid, true);
      else if (!existsSync(`/proc/${pid}`)) {
        this.#running.machine.forget(pid);
        this.#memory.forget(pid);
        this.#makers.delete(pid);
        this.#ending.delete(pid);
      }
    }
  }
}

/** Null after so long; with Infinity never. */
function delay(ms: number): { promise: Promise<null>; cancel: () => void } {
  let timer: NodeJS.Timeout | undefined;
  const promise = new Promise<null>((resolve) => {
    if (ms !== Number.POSITIVE_INFINITY) timer = setTimeout(resolve, ms, null);
  });
  return { promise, cancel: () => clearTimeout(timer) };
}
