import type { ToolEvent } from '@counterpoint/core/events';
import type { PerfEventAttr } from '@counterpoint/core/records';
import type { ProcessTimes } from '../../kernel/sys/index.ts';
import { type EventCount, knownValues, type PlaceCount } from '../counting/index.ts';
import { toolTime } from './command-times.ts';
import { isClock } from './metrics.ts';

/** One event of one control group. */
export interface EventSum {
  /** Path of the control group; null without. */
  cgroup: string | null;
  /** Name of the event set. */
  set: string;
  /** Its place in the set. */
  index: number;
  /** As the kernel has it in the end. */
  attr: PerfEventAttr;
  /** The time that the tool measures itself, such as `user_time`; null: the kernel counts the event. */
  tool: ToolEvent | null;
  /** Why the event is not quite what was asked for. */
  changes: readonly string[];
  /** What it has counted. */
  count: EventCount;
}

/** What was counted from some time to another. */
export interface Measurement {
  /** From the beginning of the run to the end of this. */
  sinceStartNs: bigint;
  /** How long this is. */
  elapsedNs: bigint;
  /** CPU time of the command, once it has ended. */
  times: ProcessTimes;
  /** What each event counted. */
  events: EventSum[];
}

/** The kernel's clocks count ns and are shown in ms, as in perf; the times that the tool takes stay in ns. */
export function unitOf({
  attr,
  tool,
  unit,
  scale,
}: Pick<EventSum, 'attr' | 'tool'> & Pick<EventCount, 'unit' | 'scale'>): Pick<EventCount, 'unit' | 'scale'> {
  if (tool !== null) return { unit: 'ns', scale: 1 };
  return unit === null && isClock(attr) ? { unit: 'msec', scale: 1e-6 } : { unit, scale };
}

export function eventSum(sum: EventSum, times: ProcessTimes, elapsedNs: bigint): EventSum {
  const { count, tool, attr } = sum;
  const { unit, scale } = count;
  const shown = { ...count, ...unitOf({ attr, tool, unit, scale }) };
  if (tool === null) return { ...sum, count: shown };
  const value = toolTime(tool, times, elapsedNs);
  return { ...sum, count: { ...shown, value, scaled: value } };
}

export function measurementOf(events: EventSum[], elapsedNs: bigint, times: ProcessTimes): Measurement {
  return { sinceStartNs: elapsedNs, elapsedNs, times, events };
}

/**
 * What lies between two measurements from the same start; events named in
 * `snapshots` keep their value of now.
 */
export function subtractMeasurement(
  now: Measurement,
  before: Measurement | null,
  snapshots: ReadonlySet<string> = new Set(),
): Measurement {
  if (before === null) return now;
  return {
    sinceStartNs: now.sinceStartNs,
    elapsedNs: now.sinceStartNs - before.sinceStartNs,
    times: {
      userNs: now.times.userNs - before.times.userNs,
      systemNs: now.times.systemNs - before.times.systemNs,
    },
    events: now.events.map((event, index) =>
      snapshots.has(event.count.requestedName)
        ? event
        : { ...event, count: subtractCount(event.count, before.events[index]!.count) },
    ),
  };
}

function subtractCount(now: EventCount, before: EventCount): EventCount {
  const reading = {
    value: (now.value ?? 0n) - (before.value ?? 0n),
    enabledNs: now.enabledNs - before.enabledNs,
    runningNs: now.runningNs - before.runningNs,
  };
  const isIdle = now.status === 'counted' && reading.runningNs === 0n;
  const status = isIdle ? 'not-counted' : now.status;
  return {
    ...now,
    ...reading,
    status,
    reason: isIdle ? idleReason(reading.enabledNs) : now.reason,
    ...knownValues(status, reading),
    // Nothing was estimated where it counted all of the time; else slices of the
    // interval are not known apart.
    errorBound: status === 'counted' && reading.runningNs >= reading.enabledNs ? 0 : null,
    places: now.places.map((place, index) => subtractPlace(place, before.places[index])),
  };
}

function idleReason(enabledNs: bigint): string {
  return enabledNs === 0n ? 'the target did not run in this interval' : 'it had no counter in this interval';
}

function subtractPlace(now: PlaceCount, before: PlaceCount | undefined): PlaceCount {
  if (before === undefined) return now;
  return {
    ...now,
    value: now.value - before.value,
    enabledNs: now.enabledNs - before.enabledNs,
    runningNs: now.runningNs - before.runningNs,
  };
}
