/**
 * What the draining thread and JavaScript share: words of 64 bits, by their offsets in bytes. The
 * thread's program knows nothing else.
 *
 *   | words | 3 iovecs | epoll events | rings ... |
 */
const WORDS = [
  /** Written by JavaScript: `COMMAND_…`. */
  'command',
  /** Written by the thread: `STATE_…`; the last it writes. */
  'state',
  'errno',
  /** Thread id. */
  'tid',
  /** The thread's, 15 letters at most and a NUL. */
  'name',
  'nameEnd',
  /** The file has whole records up to here. */
  'end',
  'rounds',
  'wakeups',
  /** Descriptors in epoll that have not hung up; 1 in `hungUp` once there are none. */
  'open',
  'hungUp',
  /** Tell when the file has this size; 1 in `limitTold` once it was told. */
  'limit',
  'limitTold',
  /** How long to wait for a watermark, in ms; -1 is for ever. `timeout` is that of the next wait. */
  'idleTimeout',
  'timeout',
  'epoll',
  'file',
  /** An eventfd that wakes JavaScript, and the number 1 for it. */
  'notice',
  'one',
  /**
   * The end of a pipe that JavaScript holds the other end of: data is a command, and
   * its end the end of JavaScript.
   */
  'control',
  /** The thread's own: a mark is due before the next records, passes until the end, and what a pass found. */
  'markDue',
  'passesLeft',
  'isPressed',
  'hasTaken',
  'isFlush',
  'mustTell',
  'at',
  'iovecs',
  'spareFd',
  /** PERF_RECORD_FINISHED_ROUND. */
  'mark',
  'ringCount',
  'skippedBytes',
  /**
   * How long the thread runs before others of its kind do, in ns, and its nice value in 32 bits; 0 leaves
   * what there is. And the struct sched_attr by which it asks for both.
   */
  'sliceNs',
  'nice',
  'scheduling',
  'schedulingFlags',
  'schedulingNice',
  'schedulingSliceNs',
  'schedulingDeadline',
  'schedulingPeriod',
] as const;

export type BlockWord = (typeof WORDS)[number];

export const BLOCK = Object.fromEntries(WORDS.map((name, index) => [name, index * 8])) as Readonly<
  Record<BlockWord, number>
>;

export const IOVECS_OFFSET = 512;
export const EVENTS_OFFSET = IOVECS_OFFSET + 3 * 16;
export const MOST_EVENTS = 64;
export const RINGS_OFFSET = EVENTS_OFFSET + MOST_EVENTS * 16;

/** One ring, in its row. */
export const RING = {
  /** Address of the mapping, with the kernel's page at its beginning. */
  page: 0,
  mappingBytes: 8,
  data: 16,
  dataBytes: 24,
  /** One less than `dataBytes`. */
  mask: 32,
  /** With so much in it when it was read, it is read again at once. */
  pressureBytes: 40,
  tail: 48,
  head: 56,
} as const;
export const RING_ROW_BYTES = 64;

export const COMMAND_FINISH = 1;
export const COMMAND_ABANDON = 2;
export const STATE_ENDED = 1;
export const STATE_FAILED = 2;

export function blockBytes(rings: number): number {
  return RINGS_OFFSET + rings * RING_ROW_BYTES;
}
