import { CounterpointError } from '@counterpoint/core/base';
import { checkOptions, type OptionsOf } from '../../../host/options/index.ts';
import { type Fd, realSys, type Sys } from '../../kernel/sys/index.ts';
import { onlineCpus } from '../../kernel/target/index.ts';
import { OverflowQueue } from '../overflows/overflow-queue.ts';
import { Publication, type Publishable, type PublishOptions } from '../published/publish.ts';
import { CONTROL_OPTIONS, CPU_LIST, INTERVAL_MS, requireControl } from '../requests/check-request.ts';
import { controlData } from '../requests/control-data.ts';
import type { ControlData, ControlOptions } from '../requests/control-data-types.ts';
import type { ControlRequest } from '../requests/request-types.ts';
import type { Counts } from '../requests/types.ts';
import { requireEventNames } from './event-names.ts';
import { lockExclusive } from './exclusive.ts';
import { openOneOf } from './open-counting.ts';
import type { CountingSession, PreparedUpdate } from './session.ts';

const CLOCK_MONOTONIC = 1;
const MOST_WAITING_SAMPLES = 4096;

/** What each CPU counted up to one moment. */
export interface GlobalSample {
  /** When the sums were read, on CLOCK_MONOTONIC, in nanoseconds. */
  timeNs: bigint;
  /** The sums of each CPU, by its number. */
  byCpu: ReadonlyMap<number, Counts>;
}

/** Options of `GlobalCounters.start()`. */
export interface GlobalStart {
  /** Read all sums this often: `samples()` and `read()` give what was read then. Absent: `read()` reads. */
  samplingIntervalMs?: number;
}

const START: OptionsOf<GlobalStart> = { samplingIntervalMs: INTERVAL_MS };

/**
 * The counters of whole CPUs, each with a control of its own (perfctr's global mode):
 *
 *   stop ── writeControl(control, cpus) for some or all ── start ── read(cpu), readControl(cpu), samples() ── stop …
 *
 * The control of a CPU is written while all are stopped; writing it sets its sums to zero.
 */
export class GlobalCounters implements Disposable, Publishable {
  /** The CPUs whose counters these are, by number. */
  readonly cpus: readonly number[];
  /** Always false: the global mode has no overflows that suspend. */
  readonly isSuspended = false;
  readonly #sys: Sys;
  readonly #options: ControlOptions;
  readonly #sessions = new Map<number, CountingSession>();
  readonly #controls = new Map<number, ControlRequest>();
  readonly #queues = new Set<OverflowQueue<GlobalSample>>();
  readonly #publications = new Set<Publication>();
  #timer: NodeJS.Timeout | null = null;
  readonly #lock: Fd | null;
  #sample: GlobalSample | null = null;
  #isRunning = false;
  #isClosed = false;

  /**
   * Opens no counter yet: `writeControl()` does. Default: all CPUs that are online. Throws ERR_NO_CPU for a
   * CPU that is not there.
   */
  constructor(cpus?: readonly number[], options?: ControlOptions);
  /** @internal */
  constructor(cpus: readonly number[], options: ControlOptions, sys: Sys);
  constructor(cpus: readonly number[] = onlineCpus(), options: ControlOptions = {}, sys: Sys = realSys) {
    checkOptions('GlobalCounters', { cpus }, { cpus: CPU_LIST });
    checkOptions('GlobalCounters', options, CONTROL_OPTIONS);
    if (cpus.length === 0)
      throw new CounterpointError(
        'ERR_NO_CPU',
        'the list of CPUs is empty',
        `Online are ${onlineCpus().join(', ')}.`,
      );
    this.cpus = [...new Set(cpus)];
    this.#sys = sys;
    // The lock is for all CPUs together.
    this.#lock = options.exclusive === 'require' ? lockExclusive(sys) : null;
    this.#options = this.#lock === null ? options : { ...options, exclusive: true, pinned: true };
  }

  /** Whether the counters are started. */
  get isRunning(): boolean {
    return this.#isRunning;
  }

  /** Whether `close()` was called. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Set what the CPUs count, all where none are named. On an error those named keep what they had. */
  writeControl(control: ControlRequest, cpus: readonly number[] = this.cpus): void {
    this.#requireOpen();
    if (this.#isRunning) {
      throw new CounterpointError(
        'ERR_RUNNING',
        'write the control of a CPU only while all CPUs are stopped',
        'Call stop() before.',
      );
    }
    requireControl('writeControl()', control);
    checkOptions('writeControl()', { cpus }, { cpus: CPU_LIST });
    for (const cpu of cpus) this.#requireCpu(cpu);
    const opened: CountingSession[] = [];
    try {
      for (const cpu of cpus)
        opened.push(
          openOneOf(
            {
              ...this.#options,
              ...control,
              target: { kind: 'cpus', cpus: [cpu] },
              sys: this.#sys,
            },
            this.cpus.length,
          ),
        );
    } catch (error) {
      for (const session of opened) session.close();
      throw error;
    }
    cpus.forEach((cpu, index) => {
      this.#sessions.get(cpu)?.close();
      this.#sessions.set(cpu, opened[index]!);
      this.#controls.set(cpu, control);
    });
    this.#sample = null;
  }

  /** What the CPU counts; null where nothing was written. */
  readControl(cpu: number): ControlData | null {
    this.#requireCpu(cpu);
    const control = this.#controls.get(cpu);
    return control === undefined ? null : controlData({ ...this.#options, ...control });
  }

  /** Start every CPU that has a control. */
  start(options: GlobalStart = {}): void {
    this.#requireOpen();
    checkOptions('start()', options, START);
    if (this.#isRunning) return;
    const { samplingIntervalMs } = options;
    if (this.#sessions.size === 0) throw noControl();
    for (const session of this.#sessions.values()) session.start();
    this.#isRunning = true;
    this.#sample = null;
    if (samplingIntervalMs === undefined) return;
    this.#takeSample();
    this.#timer = setInterval(() => this.#takeSample(), samplingIntervalMs);
  }

  /** Stop all CPUs; sums stay. */
  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    for (const session of this.#sessions.values()) session.stop();
    const wasRunning = this.#isRunning;
    this.#isRunning = false;
    if (wasRunning && this.#sample !== null) this.#takeSample();
  }

  /** The sums of one CPU: as last sampled, or now where nothing is sampled. */
  readCpu(cpu: number): Counts | null {
    this.#requireOpen();
    this.#requireCpu(cpu);
    return this.#sample?.byCpu.get(cpu) ?? this.#sessions.get(cpu)?.read() ?? null;
  }

  /** The sums of all CPUs, each of whose sets is named `cpu N: SET`. */
  read(): Counts {
    this.#requireOpen();
    const { timeNs, byCpu } = this.#sample ?? this.#readAll();
    const sets = [...byCpu].flatMap(([cpu, counts]) =>
      counts.sets.map((set) => ({ ...set, name: `cpu ${cpu}: ${set.name}` })),
    );
    const [first] = byCpu.values();
    return { type: 'counts', version: 1, timeNs, elapsedNs: first?.elapsedNs ?? 0n, sets };
  }

  /** What was read at each interval from now on, until it is closed. */
  samples(): AsyncIterable<GlobalSample> {
    this.#requireOpen();
    const queue = new OverflowQueue<GlobalSample>(MOST_WAITING_SAMPLES, () => this.#queues.delete(queue));
    this.#queues.add(queue);
    return queue;
  }

  #readAll(): GlobalSample {
    const byCpu = new Map<number, Counts>();
    for (const [cpu, session] of this.#sessions) byCpu.set(cpu, session.read());
    return { timeNs: this.#sys.clockNs(CLOCK_MONOTONIC), byCpu };
  }

  #takeSample(): void {
    this.#sample = this.#readAll();
    for (const queue of this.#queues) queue.push(this.#sample);
    for (const publication of this.#publications) publication.refresh();
  }

  /** Another event set on every CPU. */
  next(set?: string | number): void {
    for (const session of this.#sessions.values()) session.next(set);
  }

  /** Sets the sums of the named events to zero, on all CPUs. Default: all events. */
  reset(wanted?: readonly string[] | 'all'): void {
    this.#requireOpen();
    const names = wanted === 'all' ? undefined : wanted;
    const sessions = [...this.#sessions.values()];
    requireEventNames(
      names,
      sessions.flatMap(({ eventNames }) => eventNames),
    );
    // What one CPU counts another need not.
    for (const session of sessions) session.reset(names?.filter((name) => session.eventNames.includes(name)));
    if (this.#sample !== null) this.#takeSample();
  }

  /**
   * Write the same control on every CPU, while it may be running. Sums of the events that `preserve` names,
   * or of `all`, go on; others begin at zero. On an error all keep what they had.
   */
  update(control: ControlRequest, preserve: readonly string[] | 'all' = []): void {
    this.#requireOpen();
    requireControl('update()', control);
    const prepared: PreparedUpdate[] = [];
    const sessions = [...this.#sessions.values()];
    if (sessions.length === 0) throw noControl();
    try {
      for (const session of sessions) prepared.push(session.prepareUpdate(control, preserve));
    } catch (error) {
      for (const update of prepared) update.drop();
      throw error;
    }
    for (const update of prepared) update.make();
    for (const cpu of this.#sessions.keys()) this.#controls.set(cpu, control);
    if (this.#sample !== null) this.#takeSample();
  }

  /** Has no effect, because nothing suspends these counters. It is here for `Publishable`. */
  resume(): void {
    for (const session of this.#sessions.values()) session.resume();
  }

  /** The control of the first CPU that has one. */
  control(): ControlData {
    const [first] = this.#controls.values();
    if (first === undefined) throw noControl();
    return controlData({ ...this.#options, ...first });
  }

  /** As `CountingSession.publish`; with a sampling interval the page is written at each sample. */
  async publish(options: PublishOptions = {}): Promise<Publication> {
    this.#requireOpen();
    const publication = await Publication.open(this.#sys, this, options);
    this.#publications.add(publication);
    return publication;
  }

  /** Closes all counters and ends their publications. Closing twice does nothing. */
  close(): void {
    if (this.#isClosed) return;
    this.stop();
    for (const publication of this.#publications) publication.close();
    this.#isClosed = true;
    for (const queue of this.#queues) queue.end();
    for (const session of this.#sessions.values()) session.close();
    this.#lock?.close();
  }

  /** The same as `close()`, for `using`. */
  [Symbol.dispose](): void {
    this.close();
  }

  #requireCpu(cpu: number): void {
    if (this.cpus.includes(cpu)) return;
    throw new CounterpointError(
      'ERR_NO_CPU',
      `CPU ${cpu} is not among those of this session`,
      `They are ${this.cpus.join(', ')}.`,
    );
  }

  #requireOpen(): void {
    if (this.#isClosed)
      throw new CounterpointError('ERR_CLOSED', 'these counters are closed', 'Open them again.');
  }
}

function noControl(): CounterpointError {
  return new CounterpointError('ERR_NO_EVENTS', 'no CPU has a control yet', 'Call writeControl() before.');
}
