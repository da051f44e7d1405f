/** `attr.read_format`: what read() and PERF_SAMPLE_READ return. */
export const PERF_FORMAT_TOTAL_TIME_ENABLED = 1 << 0;
export const PERF_FORMAT_TOTAL_TIME_RUNNING = 1 << 1;
export const PERF_FORMAT_ID = 1 << 2;
export const PERF_FORMAT_GROUP = 1 << 3;
export const PERF_FORMAT_LOST = 1 << 4;

export const READ_FORMAT_NAMES: readonly string[] = [
  'TOTAL_TIME_ENABLED',
  'TOTAL_TIME_RUNNING',
  'ID',
  'GROUP',
  'LOST',
];
