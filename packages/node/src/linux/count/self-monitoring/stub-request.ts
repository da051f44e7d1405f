/**
 * What the stub shall read, and where it puts it. All addresses stand in its code, so
 * that a call has no arguments.
 *
 *   results   | time | value 0 … n-1 | enabled 0 … n-1 | running 0 … n-1 | struct timespec |
 *               8 bytes each; the timespec is scratch memory for clock_gettime
 */
export interface StubRequest {
  resultsAddress: bigint;
  /** `struct perf_event_mmap_page` of each event. */
  pageAddresses: readonly bigint[];
  clock: StubClock;
  /**
   * `clock` reads the time stamp counter in the counter's place: what tests and
   * benchmarks do without counters.
   */
  counterInstruction: 'counter' | 'clock';
}

export type StubClock =
  /** Time of the kernel's records, computed from this page (`time_zero`). */
  | { kind: 'page'; pageAddress: bigint }
  /** CLOCK_MONOTONIC by the C library's clock_gettime, where the page gives no time. */
  | { kind: 'monotonic'; clockGettimeAddress: bigint };

// Bits of what the stub returns. 0: everything was read from the pages.

/** An event has no counter that can be read, or no times to scale it by: ask the kernel. */
export const STUB_NEEDS_READ = 1;
/** Every counter was read and none is shared, but how long they ran is as old as the pages. */
export const STUB_TIMES_STALE = 2;
/** The page has no time any more. */
export const STUB_NO_CLOCK = 4;
/** The pages changed each time. */
export const STUB_BUSY = 8;

/** The kernel changes a page within some hundred instructions, and only when this thread is interrupted. */
export const STUB_ATTEMPTS = 64;

/** More than any CPU counts at once. Jumps over the code of one event reach ±32 KiB on arm64. */
export const MOST_STUB_EVENTS = 64;

export const CLOCK_MONOTONIC = 1;
export const NS_PER_SECOND = 1_000_000_000;

/** Byte offsets of the results. */
export function resultOffsets(events: number): {
  values: number;
  enabled: number;
  running: number;
  timespec: number;
  sizeBytes: number;
} {
  const column = 8 * events;
  return {
    values: 8,
    enabled: 8 + column,
    running: 8 + 2 * column,
    timespec: 8 + 3 * column,
    sizeBytes: 8 + 3 * column + 16,
  };
}
