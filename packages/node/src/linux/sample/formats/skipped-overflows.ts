/**
 * Overflows at which the kernel ran no handler: it does not while it reads a map on that
 * CPU, and counts them nowhere.
 *
 *   counted with a fixed period    each instance has overflowed floor(count / period) times: what no run belongs to was skipped
 *   clocks                         a timer fires as often as the machine lets it, late on an idle CPU, while the count goes on
 *   context switches               the kernel (6.18) counts more than it samples: 521 and 481 in a second, without any program
 *   at a frequency                 what period it has come to, the kernel does not say
 *   followed into children         their remainders are added up in one count
 *
 * So of the last four it is known for how long maps were read: what they lost, they lost then.
 */
import {
  PERF_COUNT_SW_CONTEXT_SWITCHES,
  PERF_COUNT_SW_CPU_CLOCK,
  PERF_COUNT_SW_TASK_CLOCK,
  PERF_TYPE_SOFTWARE,
  PERF_TYPE_TRACEPOINT,
} from '@counterpoint/core/abi';
import type { LossFacts } from '@counterpoint/core/loss';
import type { SampledEvent } from '../../kernel/perf-events/index.ts';
import type { Fd, Sys } from '../../kernel/sys/index.ts';

/** Software events whose count goes on without overflows. */
const AHEAD: ReadonlySet<bigint> = new Set(
  [PERF_COUNT_SW_CPU_CLOCK, PERF_COUNT_SW_TASK_CLOCK, PERF_COUNT_SW_CONTEXT_SWITCHES].map(BigInt),
);

/** How often each event has overflowed; null where its count does not say it. */
export function countedOverflows(sys: Sys, events: readonly SampledEvent[]): readonly (number | null)[] {
  return events.map((event) => {
    const { attr, instances } = event;
    if (!isCountable(event)) return null;
    const period = Number(attr.samplePeriodOrFreq);
    return instances.reduce((sum, { fd }) => sum + Math.floor(readCount(sys, fd) / period), 0);
  });
}

/**
 * `runs`: of the handler of each event. Counts have to be older than runs: what
 * comes in between is not skipped.
 */
export function skippedOverflows(
  events: readonly SampledEvent[],
  counted: readonly (number | null)[],
  runs: readonly bigint[],
  mapNs: number,
): LossFacts[] {
  // A program on a tracepoint that is skipped is counted by the kernel; one on a probe counts it itself.
  const handled = events.filter(
    ({ attr, probe = null }, index) =>
      index < runs.length && attr.type !== PERF_TYPE_TRACEPOINT && probe === null,
  );
  const uncounted = handled.filter((event) => counted[events.indexOf(event)] === null);
  const losses = handled.flatMap((event): LossFacts[] => {
    const index = events.indexOf(event);
    const count = (counted[index] ?? 0) - Number(runs[index]);
    // An interrupt of the hardware may be late by more than a period.
    const exact = event.attr.type === PERF_TYPE_SOFTWARE;
    return count > 0 ? [{ kind: 'format-skipped', event: event.name, count, exact }] : [];
  });
  const count = Math.round(mapNs);
  if (uncounted.length > 0 && count > 0)
    losses.push({
      kind: 'format-map-read',
      event: uncounted.length === 1 ? uncounted[0]!.name : null,
      count,
    });
  return losses;
}

function isCountable({ attr, instances }: SampledEvent): boolean {
  const { flags, type, config, samplePeriodOrFreq } = attr;
  const isAhead = type === PERF_TYPE_SOFTWARE && AHEAD.has(config);
  const isFollowed = flags.inherit === 1 && instances.some(({ task }) => task !== -1);
  return !isAhead && !isFollowed && flags.freq === 0 && samplePeriodOrFreq > 0n;
}

/** The first word of what read(2) gives, but for groups. */
function readCount(sys: Sys, fd: Fd): number {
  const words = new BigUint64Array(8);
  sys.read(fd, new Uint8Array(words.buffer));
  return Number(words[0]);
}
