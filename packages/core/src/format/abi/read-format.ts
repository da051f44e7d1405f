/** `attr.read_format`: what read() and PERF_SAMPLE_READ return. */

/** `attr.read_format`: with the time that the event was enabled, in nanoseconds. */
export const PERF_FORMAT_TOTAL_TIME_ENABLED = 1 << 0;
/** `attr.read_format`: with the time that the event had a counter, in nanoseconds. */
export const PERF_FORMAT_TOTAL_TIME_RUNNING = 1 << 1;
/** `attr.read_format`: with the event's id. */
export const PERF_FORMAT_ID = 1 << 2;
/** `attr.read_format`: one read of the leader gives all counts of the group. */
export const PERF_FORMAT_GROUP = 1 << 3;
/** `attr.read_format`: with the number of records of the event that did not fit the ring (Linux 6.0). */
export const PERF_FORMAT_LOST = 1 << 4;

/** Names of the bits of `attr.read_format`, from the lowest on, without PERF_FORMAT_. */
export const READ_FORMAT_NAMES: readonly string[] = [
  'TOTAL_TIME_ENABLED',
  'TOTAL_TIME_RUNNING',
  'ID',
  'GROUP',
  'LOST',
];
