import type { Sys } from '../../kernel/sys/index.ts';
import { nextPeriod } from '../requests/overflow-control.ts';
import type { Counter, OpenSet } from '../sets/counter-set.ts';
import { OverflowQueue } from './overflow-queue.ts';
import { type Overflow, type OverflowListener, type OverflowLoss, OverflowWatch } from './overflow-watch.ts';

const MOST_WAITING_OVERFLOWS = 65_536;

/** What the overflows of a session mean for the session itself. */
export interface OverflowHost {
  /** Before anybody is told: the kernel has stopped this counter. */
  suspend(set: OpenSet, counter: Counter): void;
  /** Everybody has been told. */
  told(overflow: Overflow, set: OpenSet): void;
}

/**
 * The overflows of a session, for as long as it is open: from the rings of the sets that it
 * has now to everybody who listens, with the restart period set in between and what is lost
 * added up over all control updates.
 *
 *   rings of the sets ── OverflowWatch ── period, suspend ──┬── queue of one listener
 *   (a control update replaces them)                        └── queue of another
 */
export class SessionOverflows {
  readonly #sys: Sys;
  readonly #host: OverflowHost;
  readonly #queues = new Set<OverflowQueue<Overflow>>();
  #watch: OverflowWatch;
  /** Of the controls before the last update. */
  #lossBefore: OverflowLoss = { lost: 0n, throttled: 0 };
  /** No counter that tells of overflows has a target any more. */
  #hasTargetEnded = false;

  constructor(sys: Sys, sets: readonly OpenSet[], host: OverflowHost) {
    this.#sys = sys;
    this.#host = host;
    this.#watch = this.watch(sets);
  }

  /** There are rings: what is due comes through them. */
  get isWatching(): boolean {
    return this.#watch.isWatching;
  }

  /** What comes from now on, until the target has ended or the session is closed. */
  listen(): AsyncIterable<Overflow> {
    const queue = new OverflowQueue<Overflow>(MOST_WAITING_OVERFLOWS, () => this.#queues.delete(queue));
    this.#queues.add(queue);
    if (this.#hasTargetEnded) queue.end();
    return queue;
  }

  /** As of the last reading of the counters. */
  get loss(): OverflowLoss & { dropped: number } {
    let dropped = 0;
    for (const queue of this.#queues) dropped += queue.dropped;
    return { ...addLoss(this.#lossBefore, this.#watch.loss), dropped };
  }

  /** The rings of other sets, for `replaceBy`. */
  watch(sets: readonly OpenSet[]): OverflowWatch {
    const onEnd = () => {
      this.#hasTargetEnded = true;
      for (const queue of this.#queues) queue.end();
    };
    const onOverflow: OverflowListener = (overflow, set, event, counter) => {
      const control = set.events[event]!.overflow!;
      const period = nextPeriod(control);
      if (period !== counter.period) this.#sys.setPeriod(counter.fd, period);
      counter.period = period;
      if (control.action === 'suspend') this.#host.suspend(set, counter);
      for (const queue of this.#queues) queue.push(overflow);
      this.#host.told(overflow, set);
    };
    return new OverflowWatch(this.#sys, sets, onOverflow, onEnd);
  }

  /** A control update: what the old rings hold is told first. */
  replaceBy(watch: OverflowWatch): void {
    this.#watch.drain();
    this.#watch.close();
    this.#lossBefore = addLoss(this.#lossBefore, this.#watch.loss);
    this.#watch = watch;
  }

  /** Tell what the rings hold now. */
  drain(): void {
    this.#watch.drain();
  }

  /** Counters that had suspended themselves go on. */
  rearm(): void {
    this.#watch.rearm();
  }

  close(): void {
    this.#watch.close();
    for (const queue of this.#queues) queue.end();
  }
}

function addLoss(a: OverflowLoss, b: OverflowLoss): OverflowLoss {
  return { lost: a.lost + b.lost, throttled: a.throttled + b.throttled };
}
