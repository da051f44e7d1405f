import { checkOptions, FUNCTION, required } from '../../../host/options/index.ts';
import { requireLinux } from '../../kernel/sys/index.ts';
import type { Counters, CountersEvent, CountersReading } from './counters.ts';
import type { SelfMonitoringNote } from './notes.ts';
import { counters } from './open-counters.ts';
import { openFirst } from './open-first.ts';

/** An event of `measure()`, with its times. */
export interface MeasuredEvent {
  /** The event. */
  event: CountersEvent;
  /** Less the overhead, and scaled where the event shared its counter; null where it never ran meanwhile. */
  count: bigint | null;
  /** As counted, with the overhead, not scaled. */
  raw: bigint;
  /** What measuring nothing counts. */
  overhead: bigint;
  /** CPU time of the thread while the function ran, in nanoseconds. */
  enabledNs: bigint;
  /** How much of that time the event was on a counter, in nanoseconds. */
  runningNs: bigint;
}

/** What `measure()` gives: the result of the function, and what it cost. */
export interface Measurement<T> {
  /** What the function gave. */
  result: T;
  /** By the names that were asked for. */
  counts: Readonly<Record<string, bigint | null>>;
  /** How long it took, less the overhead. */
  timeNs: bigint;
  /** Each event with its times, in the order in which they were requested. */
  events: readonly MeasuredEvent[];
  /** What was done otherwise than requested, and why. */
  notes: readonly SelfMonitoringNote[];
}

/** What is counted where nothing is asked for: the first list that this machine has. */
const DEFAULT_EVENTS: readonly (readonly string[])[] = [
  ['cycles', 'instructions'],
  ['task-clock', 'page-faults', 'context-switches'],
];

/** Measurements of nothing, of which the smallest counts: more only catches what was not ours. */
const CALIBRATIONS = 64;
const ASYNC_CALIBRATIONS = 16;
const WARM_UPS = 4;

/**
 * Call `fn`, and count events of this thread meanwhile. If `fn` returns a promise, the count ends when the
 * promise is settled. It then includes everything that this thread did until that time, and nothing of other
 * threads. The first call of a function includes its compilation: measure a later call to leave it out.
 *
 * Default events: cycles and instructions, or task-clock, page-faults and context-switches on machines
 * without these. Throws CounterpointError with `ERR_EVENT_UNSUPPORTED` if this machine does not have an event
 * that was named, and what `fn` throws.
 */
export function measure<T>(
  fn: () => PromiseLike<T>,
  events?: string | readonly string[],
): Promise<Measurement<T>>;
/** The same for a function that is not async: it gives the result at once. */
export function measure<T>(fn: () => T, events?: string | readonly string[]): Measurement<T>;
export function measure<T>(
  fn: () => T | PromiseLike<T>,
  events?: string | readonly string[],
): Measurement<T> | Promise<Measurement<T>> {
  requireLinux('measure()');
  checkOptions('measure()', { fn }, { fn: required(FUNCTION) });
  const notes: SelfMonitoringNote[] = [];
  return measureWith(events === undefined ? openDefault(notes) : counters(events), fn, notes);
}

function openDefault(notes: SelfMonitoringNote[]): Counters {
  return openFirst(DEFAULT_EVENTS, (text) => notes.push({ kind: 'event-dropped', text }));
}

/** Measures with counters that it closes. */
export function measureWith<T>(
  own: Counters,
  fn: () => T | PromiseLike<T>,
  notes: SelfMonitoringNote[] = [],
): Measurement<T> | Promise<Measurement<T>> {
  const bracket = new Bracket(own, notes);
  let isAsync = false;
  try {
    bracket.calibrate();
    const result = bracket.run(fn);
    if (!isThenable(result)) return bracket.finish(result);
    isAsync = true;
    return bracket.whenSettled(
      result,
      (value) => bracket.finishLater(value),
      () => own.close(),
    );
  } finally {
    if (!isAsync) own.close();
  }
}

function isThenable<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return (
    ((typeof value === 'object' && value !== null) || typeof value === 'function') &&
    typeof (value as { then?: unknown }).then === 'function'
  );
}

const nothing = (): void => {};
const nothingLater = async (): Promise<void> => {};

/** One measurement: a reading before and one after, and the same around nothing. */
class Bracket {
  readonly own: Counters;
  readonly #notes: SelfMonitoringNote[];
  /** Time and values, as `readInto` fills them. */
  readonly #before: BigUint64Array;
  readonly #after: BigUint64Array;
  /** The smallest differences around nothing. */
  #overhead: bigint[] = [];
  /** Around both, for how much of the time each event was on a counter. */
  #timesBefore: CountersReading | null = null;
  #timesAfter: CountersReading | null = null;

  constructor(own: Counters, notes: SelfMonitoringNote[]) {
    this.own = own;
    this.#notes = notes;
    this.#before = new BigUint64Array(1 + own.events.length);
    this.#after = new BigUint64Array(1 + own.events.length);
  }

  calibrate(): void {
    for (let round = 0; round < CALIBRATIONS; round++) {
      this.run(nothing);
      this.#keepSmallest();
    }
    for (let round = 0; round < WARM_UPS; round++) this.#warmUpAsync();
    this.#timesBefore = this.own.read();
  }

  /**
   * What an asynchronous function needs is compiled when it is first called, 0.1 ms in the middle of the
   * measurement. The promise is never settled: nothing of this is left to run later.
   */
  #warmUpAsync(): void {
    const never = new Promise<void>(nothing);
    if (isThenable(never)) void this.whenSettled(never, nothing, nothing);
  }

  /**
   * How the promise is awaited costs, too. Once the function has ended, as it is not
   * known before that it is needed.
   */
  async #calibrateAsync(): Promise<void> {
    const [before, after] = [this.#before.slice(), this.#after.slice()];
    this.#overhead = [];
    for (let round = 0; round < ASYNC_CALIBRATIONS; round++) {
      await this.whenSettled(this.run(nothingLater), nothing, nothing);
      this.#keepSmallest();
    }
    this.#before.set(before);
    this.#after.set(after);
    this.#notes.push({
      kind: 'asynchronous',
      text: 'the function was asynchronous: the counts include other callbacks that ran on this thread meanwhile, but not the work of other threads for it (thread pool, workers, compression, file system)',
    });
  }

  run<T>(fn: () => T): T {
    this.own.readInto(this.#before);
    const result = fn();
    this.own.readInto(this.#after);
    return result;
  }

  /**
   * The reading after an asynchronous function, and what comes then. All that happens before that reading is
   * counted with the function: calibration and warming up take the same way.
   */
  whenSettled<T, R>(
    promise: PromiseLike<T>,
    then: (result: T) => R | PromiseLike<R>,
    always: () => void,
  ): Promise<R> {
    return this.#readWhenSettled(promise, then).finally(always);
  }

  async #readWhenSettled<T, R>(promise: PromiseLike<T>, then: (result: T) => R | PromiseLike<R>): Promise<R> {
    const result = await promise;
    this.own.readInto(this.#after);
    return then(result);
  }

  async finishLater<T>(result: T): Promise<Measurement<T>> {
    this.#timesAfter = this.own.read();
    await this.#calibrateAsync();
    return this.finish(result);
  }

  finish<T>(result: T): Measurement<T> {
    this.#timesAfter ??= this.own.read();
    const events = this.own.events.map((event, i) => this.#measured(event, i));
    const counts = Object.fromEntries(events.map(({ event, count }) => [event.requestedName, count]));
    const timeNs = this.#lessOverhead('the time', this.#difference(0), this.#overhead[0]!);
    return { result, counts, timeNs, events, notes: [...this.own.notes, ...this.#notes] };
  }

  #difference(word: number): bigint {
    return this.#after[word]! - this.#before[word]!;
  }

  #keepSmallest(): void {
    for (let word = 0; word < this.#after.length; word++) {
      const cost = this.#difference(word);
      const least = this.#overhead[word];
      if (least === undefined || cost < least) this.#overhead[word] = cost;
    }
  }

  #measured(event: CountersEvent, i: number): MeasuredEvent {
    const raw = this.#difference(1 + i);
    const overhead = this.#overhead[1 + i]!;
    const [from, to] = [this.#timesBefore!.counts[i]!, this.#timesAfter!.counts[i]!];
    const enabledNs = to.enabledNs - from.enabledNs;
    const runningNs = to.runningNs - from.runningNs;
    const facts = { event, raw, overhead, enabledNs, runningNs };
    if (runningNs === 0n && enabledNs > 0n) {
      this.#note('not-counted', `${event.name} never had a counter meanwhile`);
      return { ...facts, count: null };
    }
    const own = this.#lessOverhead(event.name, raw, overhead);
    if (runningNs >= enabledNs) return { ...facts, count: own };
    const share = Number((runningNs * 1000n) / enabledNs) / 10;
    this.#note('multiplexed', `${event.name} had a counter ${share} % of the time: its count is an estimate`);
    return { ...facts, count: (own * enabledNs) / runningNs };
  }

  #lessOverhead(what: string, raw: bigint, overhead: bigint): bigint {
    if (raw >= overhead) return raw - overhead;
    this.#note(
      'below-overhead',
      `${what}: the count was ${raw}, less than the cost of measuring (${overhead}), so it is shown as 0`,
    );
    return 0n;
  }

  #note(kind: SelfMonitoringNote['kind'], text: string): void {
    this.#notes.push({ kind, text });
  }
}
