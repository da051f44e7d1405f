/**
 * A format at work, over events that are open and not yet enabled:
 *
 *   open: plan, assemble, load, attach ── begin ── results (while the counters run) ── end, stop ── the rest of the results
 *   ── finish: losses, cost
 */
import { PERF_TYPE_TRACEPOINT } from '@counterpoint/core/abi';
import type { Probe } from '@counterpoint/core/events';
import type { LossFacts } from '@counterpoint/core/loss';
import { makeAttr } from '@counterpoint/core/records';
import {
  attachToEvent,
  attachToRawTracepoint,
  type BpfMapDefinition,
  type BpfProgram,
  BpfRingBuffer,
  type LoadedProgram,
  type LoadedSet,
  loadPrograms,
} from '../../kernel/bpf/index.ts';
import { systemTracepoint } from '../../kernel/local-pmus/index.ts';
import { openPlannedEvent, type SampledEvent } from '../../kernel/perf-events/index.ts';
import { type Fd, type Sys, SysError, type Watch } from '../../kernel/sys/index.ts';
import { type AssembledFormat, assembleFormat, NOTIFY_RING } from './assemble-programs.ts';
import { checkRows, checkSample } from './check-samples.ts';
import type { CollectContext, FormatSample, FormatTarget, SampleRows, SamplingFormat } from './format.ts';
import { explainLoading, planOf } from './format-errors.ts';
import { HandlerCost } from './handler-cost.ts';
import { LOSS_REASONS, LossCounters, type LossReason, type ProgramCounts } from './loss-counters.ts';
import { MapTime } from './map-time.ts';
import { attachToReopened, isOpenedAgain, notAttached } from './muted-handlers.ts';
import { RecordedTimeKeeper } from './recorded-time.ts';
import { samplesOfRows } from './sample-rows.ts';
import { SideResults } from './side-results.ts';
import { countedOverflows, skippedOverflows } from './skipped-overflows.ts';
import { requireSuspension, SUSPENSION_GATE, Suspension, suspensionCookies } from './suspension.ts';
import { TargetFilter } from './target-filter.ts';
import { Waiter } from './waiter.ts';

export interface FormatRequest {
  readonly format: SamplingFormat;
  /** Checked: all options of the format's table. */
  readonly options: Readonly<Record<string, unknown>>;
  /** Open and disabled. Each has room for one program, so no two formats share one. */
  readonly events: readonly SampledEvent[];
  readonly target: Omit<FormatTarget, 'events'>;
}

/** What it came to. */
export interface FormatTotals {
  /** Handler runs of each event. */
  readonly overflows: readonly bigint[];
  /** Of all programs. */
  readonly runs: bigint;
  /** Of all those runs together, as far as the kernel has measured some; null where it has not. */
  readonly costNs: number | null;
  /** What was copied out of its maps into this process. */
  readonly bytesRead: number;
  /** How often it had its counters suspended, and for how long altogether; null where it never does. */
  readonly suspended: { readonly times: number; readonly ns: bigint } | null;
  readonly losses: readonly LossFacts[];
}

interface UserSpaceLoss {
  readonly reason: LossReason;
  readonly count: number;
  readonly event: number | null;
  readonly cpu: number | null;
}

export class FormatRun implements Disposable {
  readonly format: SamplingFormat;
  readonly #sys: Sys;
  readonly #request: FormatRequest;
  readonly #assembled: AssembledFormat;
  readonly #loaded: LoadedSet;
  /** What runs programs. */
  readonly #attached: Disposable[];
  /** Closed in order, after those: programs, then maps. */
  readonly #held: readonly Disposable[];
  readonly #context: CollectContext<never>;
  readonly #waiter = new Waiter();
  readonly #found: UserSpaceLoss[] = [];
  readonly #notifications: BpfRingBuffer | null;
  readonly #suspension: Suspension | null;
  readonly #recordedTime: RecordedTimeKeeper;
  /** Null: it has no programs. */
  readonly #counters: LossCounters | null;
  readonly #mapTime: MapTime;
  readonly #ofRestarts = new SideResults();
  /** Its `collect` reads what there is while no handler runs. */
  #isDraining = false;
  #onDrained: (() => void)[] = [];
  #watch: Watch | null = null;
  #hasStopped = false;

  private constructor(
    sys: Sys,
    request: FormatRequest,
    assembled: AssembledFormat,
    loaded: LoadedSet,
    attached: Disposable[],
    held: readonly Disposable[],
    suspension: Suspension | null,
    recordedTime: RecordedTimeKeeper,
    counters: LossCounters | null,
  ) {
    this.format = request.format;
    this.#sys = sys;
    this.#request = request;
    this.#assembled = assembled;
    this.#loaded = loaded;
    this.#attached = attached;
    this.#held = held;
    this.#suspension = suspension;
    this.#recordedTime = recordedTime;
    this.#counters = counters;
    this.#mapTime = new MapTime(loaded.maps);
    this.#notifications = assembled.hasNotifications
      ? new BpfRingBuffer(sys, loaded.map(NOTIFY_RING.name))
      : null;
    this.#context = {
      options: request.options as never,
      events: request.events,
      target: { ...request.target, events: request.events },
      cpus: loaded.cpus,
      next: async (intervalMs) => {
        this.#restart();
        this.#tellDrained();
        const wake = await this.#waiter.next(intervalMs);
        this.#isDraining = wake === 'paused';
        return wake;
      },
      recordedTime: () => recordedTime.get(),
      delay: (ms) => this.#waiter.delay(ms),
      openRing: (map) => new BpfRingBuffer(sys, map),
      countLoss: (reason, count, { event = null, cpu = null } = {}) =>
        this.#found.push({ reason, count, event, cpu }),
      nowNs,
    };
  }

  /** All or nothing: what is refused leaves nothing loaded. */
  static open(sys: Sys, request: FormatRequest): FormatRun {
    const { format, options, events, target } = request;
    const plan = planOf(format, options, { ...target, events });
    requireSuspension(format, plan, events);
    const filter = new TargetFilter(target);
    const assembled = assembleFormat(format, options, plan, events, filter);
    const programs = [...assembled.handlers, ...assembled.programs.map(({ program }) => program)];
    const notifications = assembled.hasNotifications ? [NOTIFY_RING] : [];
    // Without programs nothing is loaded, and so nothing needs rights for it.
    const ownMaps = programs.length === 0 ? [] : [assembled.losses, ...notifications];
    const loaded = load(sys, format, programs, [...(plan.maps ?? []), ...ownMaps]);
    const attached: Disposable[] = [];
    const held: Disposable[] = [loaded];
    try {
      filter.fill(loaded.maps);
      const recordedTime = new RecordedTimeKeeper(loaded.maps, nowNs);
      held.unshift(recordedTime);
      // From here on no program does anything, until it is armed.
      const suspension =
        plan.suspend === true ? new Suspension(sys, loaded.map(SUSPENSION_GATE.name), events) : null;
      if (suspension !== null) held.unshift(suspension);
      attachAll(sys, request, assembled, loaded, attached, suspension !== null);
      suspension?.arm();
      const counters =
        programs.length === 0
          ? null
          : new LossCounters(loaded.map(assembled.losses.name), programs.length, loaded.cpus);
      if (counters !== null) held.unshift(counters, new HandlerCost(sys));
      return new FormatRun(
        sys,
        request,
        assembled,
        loaded,
        attached,
        held,
        suspension,
        recordedTime,
        counters,
      );
    } catch (error) {
      for (const one of [...attached, ...held]) one[Symbol.dispose]();
      throw error;
    }
  }

  /** The kernel's numbers of its programs. */
  get programIds(): number[] {
    return [...this.#loaded.programs.values()].map((program) => program.info().id);
  }

  /** Its own programs know when the recording begins, and leave out what was before. */
  get heedsBegin(): boolean {
    return this.#assembled.heedsBegin;
  }

  /** The counters are enabled. */
  begin(): void {
    this.#recordedTime.begin();
  }

  /**
   * The counters are stopped: what is recorded ends here, though `stop` may come later and takes its time.
   */
  end(): void {
    this.#recordedTime.end();
  }

  /** Every result, until `stop` was called and the rest is read. To be read once. */
  async *results(): AsyncGenerator<unknown> {
    const ring = this.#notifications;
    if (ring !== null)
      this.#watch = ring.watch(() => {
        while (ring.reader.next());
        ring.reader.commit();
        if (this.#suspension?.stop() === false) return;
        if (this.#suspension !== null) this.#mapTime.pause();
        this.#waiter.wake('notified');
      });
    try {
      const collected = this.format.collect(this.#loaded.maps, this.#context);
      yield* this.#suspension === null ? collected : this.#ofRestarts.mergedWith(collected);
    } finally {
      this.#watch?.close();
      this.#watch = null;
    }
  }

  /**
   * The counters stand still for a while: resolves when `collect` has given all it has, and waits again. It
   * may never do so; then it has ended, or failed.
   */
  drain(): Promise<void> {
    return new Promise((resolve) => {
      this.#onDrained.push(resolve);
      this.#waiter.wake('paused');
    });
  }

  #tellDrained(): void {
    if (!this.#isDraining) return;
    for (const tell of this.#onDrained.splice(0)) tell();
  }

  /** What was suspended goes on, after the format had its last look. */
  #restart(): void {
    const suspendedBy = this.#suspension?.suspendedBy ?? null;
    if (suspendedBy === null || this.#hasStopped) return;
    const results = this.format.onRestart?.(this.#loaded.maps, { ...this.#context, suspendedBy });
    if (results !== undefined) this.#ofRestarts.add(results);
    this.#suspension!.resume(this.#context.nowNs());
    this.#mapTime.goOn();
  }

  /** A result as samples of the recording; none where the format has no such form. */
  *samples(result: unknown): Iterable<FormatSample> {
    const rows = this.rows(result);
    if (rows !== null) {
      yield* samplesOfRows(rows);
      return;
    }
    const { name } = this.format;
    for (const sample of this.format.toSamples?.(result, this.#context) ?? [])
      yield checkSample(name, sample, this.#request.events.length);
  }

  /** The same where they lie; null where the format makes them one by one. */
  rows(result: unknown): SampleRows | null {
    const rows = this.format.toRows?.(result, this.#context) ?? null;
    return rows === null ? null : checkRows(this.format.name, rows, this.#request.events.length);
  }

  /** What the format says of a result, for people. */
  *lines(result: unknown): Iterable<string> {
    yield* this.format.describe?.(result, this.#context) ?? [];
  }

  /** The counters are stopped: no program runs from now on. Let `collect` read the rest, and end. */
  stop(): void {
    this.end();
    this.#hasStopped = true;
    this.#detach();
    this.#mapTime.pause();
    this.#suspension?.end(this.#context.nowNs());
    this.#waiter.wake('stopped');
  }

  /** After the last result. */
  finish(): FormatTotals {
    const { handlers } = this.#assembled;
    // First: what overflows from now on is in the runs, not in those counts.
    const counted = countedOverflows(this.#sys, this.#request.events);
    const counts = this.#counters?.read() ?? [];
    const runsOf = (rows: readonly ProgramCounts[]) => rows.reduce((sum, one) => sum + one.runs, 0n);
    const overflows = handlers.map((_, index) => runsOf(counts.filter(({ program }) => program === index)));
    const runs = runsOf(counts);
    const bytesRead = [...this.#loaded.maps.values()].reduce((sum, map) => sum + map.bytesRead, 0);
    return {
      overflows,
      runs,
      costNs: this.#costNs(Number(runs)),
      bytesRead,
      suspended: this.#suspension?.totals() ?? null,
      losses: [
        ...this.#losses(counts),
        ...skippedOverflows(this.#request.events, counted, overflows, this.#mapTime.ns),
      ],
    };
  }

  close(): void {
    this.#watch?.close();
    this.#notifications?.close();
    this.#detach();
    for (const one of this.#held) one[Symbol.dispose]();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #detach(): void {
    for (const one of this.#attached.splice(0)) one[Symbol.dispose]();
  }

  /** Some runs were measured (`HandlerCost`), and all others taken for like them. */
  #costNs(runs: number): number | null {
    const infos = [...this.#loaded.programs.values()].map((program) => program.info());
    const measured = infos.reduce((sum, { runCount }) => sum + runCount, 0);
    const measuredNs = infos.reduce((sum, { runTimeNs }) => sum + runTimeNs, 0);
    return measured === 0 ? null : (measuredNs / measured) * runs;
  }

  #losses(counts: readonly ProgramCounts[]): LossFacts[] {
    const { events } = this.#request;
    const nameOf = (program: number | null) => (program === null ? null : (events[program]?.name ?? null));
    const counted = counts.flatMap(({ program, cpu, losses }) =>
      losses.map(([reason, count]) => ({
        kind: LOSS_REASONS[reason],
        event: nameOf(program < this.#assembled.handlers.length ? program : null),
        cpu,
        count,
      })),
    );
    const found = this.#found.map(({ reason, count, event, cpu }) => ({
      kind: LOSS_REASONS[reason],
      event: nameOf(event),
      cpu,
      count,
    }));
    const suspended = this.#suspension?.losses(events.length === 1 ? events[0]!.name : null) ?? [];
    return [...counted, ...found, ...suspended, ...this.#recursions(), ...notAttached(this.#sys, events)];
  }

  /**
   * What the kernel counts of each program itself, but for those of overflows. A
   * handler is known by its event.
   */
  #recursions(): LossFacts[] {
    const { handlers, programs } = this.#assembled;
    return [...handlers, ...programs.map(({ program }) => program)].flatMap(({ name, type }, index) => {
      const { recursionMisses: count } = this.#loaded.program(name).info();
      if (type === 'perf-event' || count === 0) return [];
      const event = index < handlers.length ? this.#request.events[index]!.name : name;
      return [{ kind: 'format-recursion' as const, event, count }];
    });
  }
}

/** CLOCK_MONOTONIC, as `ktime_get_ns` of programs. */
function nowNs(): bigint {
  return process.hrtime.bigint();
}

function load(
  sys: Sys,
  format: SamplingFormat,
  programs: readonly BpfProgram[],
  maps: readonly BpfMapDefinition[],
): LoadedSet {
  try {
    return loadPrograms(sys, programs, { maps });
  } catch (error) {
    throw explainLoading(format, error);
  }
}

/**
 * Handlers to their events, programs to their places. What is opened for it goes to the front of `attached`.
 */
function attachAll(
  sys: Sys,
  { events }: FormatRequest,
  assembled: AssembledFormat,
  loaded: LoadedSet,
  attached: Disposable[],
  isSuspending: boolean,
): void {
  const cookies = isSuspending ? suspensionCookies(events) : null;
  const attachToTracepoint = (program: LoadedProgram, tracepoint: { system: string; name: string }) => {
    const event = openTracepoint(sys, tracepoint);
    attached.unshift(event);
    attached.unshift(attachToEvent(sys, program, event));
  };
  assembled.handlers.forEach(({ name }, index) => {
    const { instances, tracepoint, probe = null } = events[index]!;
    const program = loaded.program(name);
    // It would run for all CPUs and processes through one of the instances, too. But where a child that has
    // inherited such an instance ends, the kernel (6.18) takes the program off the tracepoint.
    if (tracepoint !== null) attachToTracepoint(program, tracepoint);
    else if (probe !== null) {
      const event = openForProgram(sys, events[index]!, probe);
      attached.unshift(event);
      attached.unshift(attachToEvent(sys, program, event));
    } else if (isOpenedAgain(events[index]!, events))
      for (const instance of instances)
        attached.unshift(attachToReopened(sys, program, events[index]!, instance));
    else
      for (const { fd } of instances)
        attached.unshift(attachToEvent(sys, program, fd, cookies?.get(fd) ?? null));
  });
  for (const { program: assembledProgram, attach } of assembled.programs) {
    const program = loaded.program(assembledProgram.name);
    if (attach.kind === 'raw-tracepoint') attached.unshift(attachToRawTracepoint(sys, program, attach.name));
    else attachToTracepoint(program, attach);
  }
}

/**
 * The same for a probe, whose definition it shares with the recorded event. It is for a task of the target,
 * since with one for CPUs the kernel would put the breakpoint into every process that has the file.
 */
function openForProgram(sys: Sys, { instances, attr, requestedName }: SampledEvent, probe: Probe): Fd {
  const own = makeAttr({ type: attr.type, config: attr.config, config2: attr.config2 });
  own.flags.disabled = 1;
  let ended: unknown = null;
  for (const { task } of instances) {
    try {
      const cpu = task === -1 ? 0 : -1;
      return openPlannedEvent(sys, { attr: own, probe, requestedName, isDefined: true }, task, cpu, null);
    } catch (error) {
      if (!(error instanceof SysError) || error.code !== 'ESRCH') throw error;
      ended = error;
    }
  }
  throw ended;
}

/** An event that is there for the program only: it is never enabled, and records nothing. */
function openTracepoint(sys: Sys, { system, name }: { system: string; name: string }): Fd {
  const attr = makeAttr({ type: PERF_TYPE_TRACEPOINT, config: BigInt(systemTracepoint(system, name).id) });
  attr.flags.disabled = 1;
  return openPlannedEvent(sys, { attr, requestedName: `${system}:${name}` }, -1, 0, null);
}
