/** What an event's name says of its samples. A name may carry modifiers: `cpu-clock:u`. */

/**
 * Clocks, perf's own off-CPU time and ours, and the scheduler's tracepoints that count what they
 * measure: their weight is time.
 */
const TIME_EVENT =
  /^(?:cpu-clock|task-clock|offcpu-time|sched:sched_stat_(?:sleep|wait|iowait|blocked|runtime))(?::|$)/;
const OFF_CPU_EVENT = /^offcpu-time(?::|$)/;

/** What a weight counts: `nanoseconds` where it is time, else the event's own name. */
export function unitOfEvent(name: string): string {
  return TIME_EVENT.test(name) ? 'nanoseconds' : name;
}

/** Its samples are times in which a thread did not run. */
export function isOffCpuEvent(name: string): boolean {
  return OFF_CPU_EVENT.test(name);
}
