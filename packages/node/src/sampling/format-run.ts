/**
 * A format at work, over events that a session has opened and not yet enabled:
 *
 *   open: plan, assemble, load, attach ── results (while the counters run) ── stop ── the rest of the results ── finish: losses, cost
 */
import { PERF_TYPE_TRACEPOINT } from '@counterpoint/core/abi';
import { CounterpointError } from '@counterpoint/core/base';
import type { LossFacts } from '@counterpoint/core/loss';
import { makeAttr } from '@counterpoint/core/records';
import {
  attachToEvent,
  attachToRawTracepoint,
  BpfRingBuffer,
  type LoadedProgram,
  type LoadedSet,
  loadPrograms,
} from '../bpf/index.ts';
import { systemTracepoint } from '../pmu/index.ts';
import { openPlannedEvent, type SessionEvent } from '../session/index.ts';
import { type Fd, type Sys, SysError, type Watch } from '../sys/index.ts';
import { type AssembledFormat, assembleFormat, NOTIFY_RING } from './assemble-programs.ts';
import type { CollectContext, FormatSample, FormatTarget, SamplingFormat } from './format.ts';
import { LOSS_REASONS, type LossReason, type ProgramCounts, readLossCounters } from './loss-counters.ts';
import { TargetFilter } from './target-filter.ts';

export interface FormatRequest {
  readonly format: SamplingFormat;
  /** Checked: all options of the format's table. */
  readonly options: Readonly<Record<string, unknown>>;
  /** Open and disabled. Each has room for one program, so no two formats share one. */
  readonly events: readonly SessionEvent[];
  readonly target: Omit<FormatTarget, 'events'>;
}

/** What it came to. */
export interface FormatTotals {
  /** Handler runs of each event. */
  readonly overflows: readonly bigint[];
  /** Of all programs. */
  readonly runs: bigint;
  /** Of all programs together, by the kernel's own measurement; null where it did not measure. */
  readonly costNs: number | null;
  /** What was copied out of its maps into this process. */
  readonly bytesRead: number;
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
  #watch: Watch | null = null;

  private constructor(
    sys: Sys,
    request: FormatRequest,
    assembled: AssembledFormat,
    loaded: LoadedSet,
    attached: Disposable[],
    held: readonly Disposable[],
  ) {
    this.format = request.format;
    this.#sys = sys;
    this.#request = request;
    this.#assembled = assembled;
    this.#loaded = loaded;
    this.#attached = attached;
    this.#held = held;
    this.#notifications = assembled.hasNotifications
      ? new BpfRingBuffer(sys, loaded.map(NOTIFY_RING.name))
      : null;
    this.#context = {
      options: request.options as never,
      events: request.events,
      target: { ...request.target, events: request.events },
      cpus: loaded.cpus,
      next: (intervalMs) => this.#waiter.next(intervalMs),
      openRing: (map) => new BpfRingBuffer(sys, map),
      countLoss: (reason, count, { event = null, cpu = null } = {}) =>
        this.#found.push({ reason, count, event, cpu }),
      nowNs: () => process.hrtime.bigint(),
    };
  }

  /** All or nothing: what is refused leaves nothing loaded. */
  static open(sys: Sys, request: FormatRequest): FormatRun {
    const { format, options, events, target } = request;
    const plan = format.plan(options as never, { ...target, events });
    const filter = new TargetFilter(target);
    const assembled = assembleFormat(format, options, plan, events, filter);
    const programs = [...assembled.handlers, ...assembled.programs.map(({ program }) => program)];
    const notifications = assembled.hasNotifications ? [NOTIFY_RING] : [];
    // Without programs nothing is loaded, and so nothing needs rights for it.
    const counters = programs.length === 0 ? [] : [assembled.losses, ...notifications];
    const loaded = loadPrograms(sys, programs, { maps: [...(plan.maps ?? []), ...counters] });
    const attached: Disposable[] = [];
    const held: Disposable[] = [loaded];
    try {
      filter.fill(loaded.maps);
      attachAll(sys, request, assembled, loaded, attached);
      if (programs.length > 0) held.unshift(...measuredCost(sys));
      return new FormatRun(sys, request, assembled, loaded, attached, held);
    } catch (error) {
      for (const one of [...attached, ...held]) one[Symbol.dispose]();
      throw error;
    }
  }

  /** The kernel's numbers of its programs. */
  get programIds(): number[] {
    return [...this.#loaded.programs.values()].map((program) => program.info().id);
  }

  /** Every result, until `stop` was called and the rest is read. To be read once. */
  async *results(): AsyncGenerator<unknown> {
    const ring = this.#notifications;
    if (ring !== null)
      this.#watch = ring.watch(() => {
        while (ring.reader.next());
        ring.reader.commit();
        this.#waiter.wake('notified');
      });
    try {
      yield* this.format.collect(this.#loaded.maps, this.#context);
    } finally {
      this.#watch?.close();
      this.#watch = null;
    }
  }

  /** A result as samples of the recording; none where the format has no such form. */
  *samples(result: unknown): Iterable<FormatSample> {
    yield* this.format.toSamples?.(result, this.#context) ?? [];
  }

  /** What the format says of a result, for people. */
  *lines(result: unknown): Iterable<string> {
    yield* this.format.describe?.(result, this.#context) ?? [];
  }

  /** The counters are stopped: no program runs from now on. Let `collect` read the rest, and end. */
  stop(): void {
    this.#detach();
    this.#waiter.wake('stopped');
  }

  /** After the last result. */
  finish(): FormatTotals {
    const { handlers, programs } = this.#assembled;
    const count = handlers.length + programs.length;
    const counts =
      count === 0
        ? []
        : readLossCounters(this.#loaded.map(this.#assembled.losses.name), count, this.#loaded.cpus);
    const runsOf = (rows: readonly ProgramCounts[]) => rows.reduce((sum, one) => sum + one.runs, 0n);
    const overflows = handlers.map((_, index) => runsOf(counts.filter(({ program }) => program === index)));
    const bytesRead = [...this.#loaded.maps.values()].reduce((sum, map) => sum + map.bytesRead, 0);
    return {
      overflows,
      runs: runsOf(counts),
      costNs: this.#costNs(),
      bytesRead,
      losses: this.#losses(counts),
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

  #costNs(): number | null {
    const infos = [...this.#loaded.programs.values()].map((program) => program.info());
    const runs = infos.reduce((sum, { runCount }) => sum + runCount, 0);
    return runs === 0 ? null : infos.reduce((sum, { runTimeNs }) => sum + runTimeNs, 0);
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
    return [...counted, ...found, ...this.#skipped(counts)];
  }

  /**
   * Overflows that no handler ran for, by the event's own count. Up to a period of each instance is still to come; and of the
   * children of an inherited event, so for those nothing can be said.
   */
  #skipped(counts: readonly ProgramCounts[]): LossFacts[] {
    return this.#request.events.flatMap(({ name, attr, instances }, index) => {
      const own = counts.filter(({ program }) => program === index);
      const runs = Number(own.reduce((sum, one) => sum + one.runs, 0n));
      const period = Number(own.reduce((sum, one) => sum + one.period, 0n));
      const isInherited = attr.flags.inherit === 1 && instances.some(({ task }) => task !== -1);
      if (period === 0 || isInherited) return [];
      const events = instances.reduce((sum, { fd }) => sum + readCount(this.#sys, fd), 0);
      const count = Math.floor(((events - period) / period) * runs) - instances.length;
      return count > 0 ? [{ kind: 'format-skipped' as const, event: name, count, exact: false }] : [];
    });
  }
}

/** The kernel measures programs for the administrator only; others go without. */
function measuredCost(sys: Sys): Disposable[] {
  try {
    return [sys.bpfEnableStats()];
  } catch (error) {
    if (error instanceof SysError) return [];
    throw error;
  }
}

/** The first word of what read(2) gives, but for groups. */
function readCount(sys: Sys, fd: Fd): number {
  const words = new BigUint64Array(8);
  sys.read(fd, new Uint8Array(words.buffer));
  return Number(words[0]);
}

/** Handlers to their events, programs to their places. What is opened for it goes to the front of `attached`. */
function attachAll(
  sys: Sys,
  { events }: FormatRequest,
  assembled: AssembledFormat,
  loaded: LoadedSet,
  attached: Disposable[],
): void {
  const attachToTracepoint = (program: LoadedProgram, tracepoint: { system: string; name: string }) => {
    const event = openTracepoint(sys, tracepoint);
    attached.unshift(event);
    attached.unshift(attachToEvent(sys, program, event));
  };
  assembled.handlers.forEach(({ name }, index) => {
    const { instances, tracepoint } = events[index]!;
    const program = loaded.program(name);
    // It would run for all CPUs and processes through one of the instances, too. But where a child that has inherited such an
    // instance ends, the kernel (6.18) takes the program off the tracepoint.
    if (tracepoint !== null) attachToTracepoint(program, tracepoint);
    else for (const { fd } of instances) attached.unshift(attachToEvent(sys, program, fd));
  });
  for (const { program: assembledProgram, attach } of assembled.programs) {
    const program = loaded.program(assembledProgram.name);
    if (attach.kind === 'raw-tracepoint') attached.unshift(attachToRawTracepoint(sys, program, attach.name));
    else attachToTracepoint(program, attach);
  }
}

/** An event that is there for the program only: it is never enabled, and records nothing. */
function openTracepoint(sys: Sys, { system, name }: { system: string; name: string }): Fd {
  const attr = makeAttr({ type: PERF_TYPE_TRACEPOINT, config: BigInt(systemTracepoint(system, name).id) });
  attr.flags.disabled = 1;
  return openPlannedEvent(sys, { attr, requestedName: `${system}:${name}` }, -1, 0, null);
}

type Wake = 'notified' | 'interval' | 'stopped';

/** One who waits, and what woke it. A notification that comes while nobody waits is kept; the end stays. */
class Waiter {
  #pending: Wake | null = null;
  #resolve: ((wake: Wake) => void) | null = null;

  wake(wake: Wake): void {
    if (this.#pending !== 'stopped') this.#pending = wake;
    this.#resolve?.(wake);
  }

  async next(intervalMs?: number): Promise<Wake> {
    if (this.#resolve !== null)
      throw new CounterpointError('ERR_FORMAT_COLLECT', 'a format waits twice at the same time');
    if (this.#pending === null) {
      let timer: NodeJS.Timeout | undefined;
      const wake = await new Promise<Wake>((resolve) => {
        this.#resolve = resolve;
        if (intervalMs !== undefined) timer = setTimeout(resolve, intervalMs, 'interval');
      });
      clearTimeout(timer);
      this.#resolve = null;
      if (wake === 'interval') return wake;
    }
    const wake = this.#pending ?? 'interval';
    if (wake !== 'stopped') this.#pending = null;
    return wake;
  }
}
