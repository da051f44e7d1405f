import { PERF_TYPE_HARDWARE, PERF_TYPE_HW_CACHE, PERF_TYPE_RAW } from '@counterpoint/core/abi';
import type { PmuModel } from '@counterpoint/core/pmus';
import { type CountedEvent, type PlannedCounter, planCounters } from '../../../linux/count/counting/index.ts';
import type { PlannedEvent } from '../../../linux/kernel/perf-events/index.ts';

/** Where an event is expected to be counted; `kind` and the rest as `PlannedCounter` has them. */
export type CounterAnswer = Omit<PlannedCounter, 'event'>;

/**
 * Events of a recording need counters as those of a count do. `models` are this
 * machine's where they are absent.
 */
export function counterAnswers(
  events: readonly (PlannedEvent | CountedEvent)[],
  models?: readonly PmuModel[],
): CounterAnswer[] {
  return planCounters(events.map(asCounted), models).map(({ event: _, ...answer }) => answer);
}

function asCounted(event: PlannedEvent | CountedEvent): CountedEvent {
  return { unit: null, scale: 1, tool: null, weakGroup: false, overflow: null, ...event };
}

/** A line below the event; null where there is nothing to be said. */
export function counterText({ kind, counters, share, reason, remedy }: CounterAnswer): string | null {
  switch (kind) {
    case 'counter': {
      const turns = share === null || share === 1 ? '' : `, for ${(100 * share).toFixed(0)} % of the time`;
      return `counted on ${counters.join(' and ')}${turns}`;
    }
    case 'unschedulable':
      return `never counted: ${reason}${remedy === null ? '' : ` (${remedy})`}`;
    case 'elsewhere':
      return 'counted by a PMU outside the cores';
    case 'software':
    case 'unknown':
      return null;
  }
}

/** One line for all events that want a counter of which nothing is known here. */
export function unknownCountersText(
  opens: readonly { attr: { type?: number | string }; counter: CounterAnswer }[],
): string | null {
  const types: readonly unknown[] = [PERF_TYPE_HARDWARE, PERF_TYPE_HW_CACHE, PERF_TYPE_RAW];
  return opens.some(({ attr, counter }) => counter.kind === 'unknown' && types.includes(attr.type))
    ? 'which counters: not known; the kernel describes no PMU of a core here, or there are too many to plan'
    : null;
}
