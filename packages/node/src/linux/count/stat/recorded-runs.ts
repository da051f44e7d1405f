import { PERF_COUNT_SW_DUMMY, PERF_TYPE_SOFTWARE } from '@counterpoint/core/abi';
import type { CountsEvent, RecordedCount, RecordedCounts } from '@counterpoint/core/counts';
import { NAMED_EVENTS, type ToolEvent } from '@counterpoint/core/events';
import { knownValues, type PlaceCount } from '../counting/index.ts';
import { atPlacesOfOthers } from './empty-places.ts';
import { type EventSum, eventSum, type Measurement, subtractMeasurement } from './measurement.ts';

/** A recording of counts, as what was measured live. */
export interface RecordedRuns {
  /** With intervals: each of them. */
  intervals: Measurement[];
  /** One for each run; none where the recording was cut short before anything was read. */
  totals: Measurement[];
}

const NO_TIMES = { userNs: 0n, systemNs: 0n };

/**
 * The same rows come out of these as did live, but for reasons, which a recording does not have. Counts are
 * sums since the recording began, over all of its runs; times begin anew with each run.
 */
export function recordedRuns(recorded: RecordedCounts): RecordedRuns {
  const hasIntervals = recorded.intervalMs > 0 || recorded.rounds.some(({ isFinal }) => !isFinal);
  const result: RecordedRuns = { intervals: [], totals: [] };
  const latest = new Map<string, RecordedCount>();
  /** What has grown in this run. */
  let run = new Map<string, Growth>();
  let timeNs = 0n;
  const endRun = () => {
    if (run.size > 0) result.totals.push(difference(recorded, [...run.values()], 0n, timeNs));
    run = new Map();
    timeNs = 0n;
  };
  for (const round of recorded.rounds) {
    // Time that goes back is that of another run.
    if (round.timeNs < timeNs) endRun();
    const growths = round.counts.map((now): Growth => {
      const before = latest.get(placeOf(now)) ?? { ...now, ...NOTHING };
      return { before, now };
    });
    if (hasIntervals) result.intervals.push(difference(recorded, growths, timeNs, round.timeNs));
    for (const { before, now } of growths) {
      const key = placeOf(now);
      latest.set(key, now);
      run.set(key, { before: run.get(key)?.before ?? before, now });
    }
    timeNs = round.timeNs;
    if (!hasIntervals) endRun();
  }
  endRun();
  return result;
}

/** A count at one place, at two moments. */
interface Growth {
  before: RecordedCount;
  now: RecordedCount;
}

function difference(
  recorded: RecordedCounts,
  growths: readonly Growth[],
  fromNs: bigint,
  toNs: bigint,
): Measurement {
  const [before, now] = [growths.map((growth) => growth.before), growths.map((growth) => growth.now)];
  const result = subtractMeasurement(measured(recorded, now, toNs), measured(recorded, before, fromNs));
  return { ...result, events: atPlacesOfOthers(result.events) };
}

const NOTHING = { value: 0n, enabledNs: 0n, runningNs: 0n };

function placeOf({ event, cpu, thread }: RecordedCount): string {
  return `${event} ${cpu} ${thread}`;
}

/** Of a place that stands twice in a round, the last count is taken. */
function measured(
  { events, threads }: RecordedCounts,
  counts: readonly RecordedCount[],
  sinceStartNs: bigint,
): Measurement {
  const places = events.map((): Map<string, PlaceCount> => new Map());
  for (const count of counts) {
    const { value, enabledNs, runningNs, cpu } = count;
    const task = threads[count.thread]?.tid ?? -1;
    places[count.event]!.set(placeOf(count), { task, cpu, value, enabledNs, runningNs });
  }
  return {
    sinceStartNs,
    elapsedNs: sinceStartNs,
    times: NO_TIMES,
    events: events.map((event, index) => sumOf(event, index, [...places[index]!.values()], sinceStartNs)),
  };
}

function sumOf(event: CountsEvent, index: number, places: PlaceCount[], elapsedNs: bigint): EventSum {
  const { name, attr, isOpen, unit, scale } = event;
  const sum = { value: 0n, enabledNs: 0n, runningNs: 0n };
  for (const { value, enabledNs, runningNs } of places) {
    sum.value += value;
    sum.enabledNs += enabledNs;
    sum.runningNs += runningNs;
  }
  const tool = toolOf(event);
  const status = !isOpen ? 'not-supported' : sum.runningNs === 0n ? 'not-counted' : 'counted';
  const count = {
    name,
    requestedName: name,
    status,
    reason: null,
    ...sum,
    ...knownValues(status, sum),
    errorBound: status === 'counted' && sum.runningNs >= sum.enabledNs ? 0 : null,
    unit,
    scale,
    leader: null,
    places: tool === null ? places : [],
  } as const;
  const whole: EventSum = { cgroup: null, set: '', index, attr, tool: null, changes: [], count };
  if (tool === null) return eventSum(whole, NO_TIMES, elapsedNs);
  // Its time is in the recording; here nobody would know it any more.
  return { ...whole, tool, count: { ...count, unit: 'ns', scale: 1 } };
}

/** A time that the tool measured has the attr of an event that never happens, and its name. */
function toolOf({ name, attr }: CountsEvent): ToolEvent | null {
  const isDummy = attr.type === PERF_TYPE_SOFTWARE && attr.config === BigInt(PERF_COUNT_SW_DUMMY);
  return isDummy ? (NAMED_EVENTS.get(name)?.tool ?? null) : null;
}
