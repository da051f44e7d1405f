import type { EventRing } from '../../kernel/perf-events/index.ts';

/** Why reading ended by itself: every descriptor hung up (the target is gone), or the sink failed. */
export type ReaderEnd = { reason: 'hung-up' } | { reason: 'failed'; error: unknown };

/**
 * Empties the rings of sampled events until it is told to finish: `RingReader` in the event
 * loop, `ThreadReader` beside it.
 */
export interface Reader extends Disposable {
  /** How often there was enough data to be woken for. */
  readonly wakeups: number;
  readonly rounds: number;
  /** CPU of the ring that is being scanned, for the scan's visitor; null where it is not known. */
  readonly currentCpu: number | null;
  /** The ring itself, where the reader goes through one after the other. */
  readonly currentRing?: EventRing | null;
  /** Resolves at most once. */
  readonly ended: Promise<ReaderEnd>;
  /** Stop waiting, and take what is still in the rings: call it after the events are disabled. */
  finish(): Promise<void>;
}
