/** Facts of a recording of counts (tools/lib/perf/include/perf/event.h). Imports nothing. */

/** `perf_record_event_update.type`. */
export const UPDATE_UNIT = 0n;
export const UPDATE_SCALE = 1n;

/** `PERF_STAT_CONFIG_TERM__*`. */
export const CONFIG_AGGREGATION = 0n;
export const CONFIG_INTERVAL = 1n;
export const CONFIG_SCALE = 2n;

/** `PERF_STAT_ROUND_TYPE__*`. */
export const ROUND_INTERVAL = 0n;
export const ROUND_FINAL = 1n;

/** A whole PERF_RECORD_STAT, with its header. */
export const STAT_SIZE_BYTES = 48;
/** One entry of a PERF_RECORD_THREAD_MAP; all of them have to go into one record. */
export const THREAD_SIZE_BYTES = 24;

/** `PERF_CPU_MAP__CPUS`: a list of numbers of 16 bits. */
export const CPU_MAP_LIST = 0;
export const ANY_CPU = 0xffff;
