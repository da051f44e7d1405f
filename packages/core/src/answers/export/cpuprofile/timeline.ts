import { NONE, type Profile } from '../../../profile/tables/index.ts';
import { type ExportPlan, periodOfEach } from '../options.ts';

/** In the place of a node: the thread did not run. */
export const IDLE = -2;

/** A sample of a timeline: what runs from its time until the next one. */
export interface Moment {
  /** Row of `Profile.stacks`, `NONE` or `IDLE`. */
  stack: number;
  /** Nanoseconds from the first moment. */
  timeNs: number;
}

export interface Timeline {
  moments: Moment[];
  /** Nanoseconds from the first moment to the end of the last. */
  durationNs: number;
}

/** A gap is time off the CPU where it is longer than that many periods. */
const LEAST_GAP = 1.5;
/**
 * Readers count samples, so idle time has as many as it would have had. Beyond
 * this, they stand further apart.
 */
const MOST_IDLE_MOMENTS = 200_000;

/**
 * The samples of a thread as a reader of timelines wants them. A clock's sample stands for the time
 * before it, and where samples of a clock on the CPU leave gaps, the thread did not run:
 *
 *     samples     ──┤a ──┤b                     ──┤c
 *     moments     a     b     idle idle idle idle c
 */
export function timelineOf(profile: Profile, plan: ExportPlan, order: readonly number[]): Timeline {
  const { samples } = profile;
  const hasTimes = order.every((sample) => Number.isFinite(samples.timeNs.at(sample)));
  if (plan.event.unit !== 'nanoseconds' || !hasTimes) return inOrder(profile, order, hasTimes);
  const sorted = [...order].sort((a, b) => samples.timeNs.at(a) - samples.timeNs.at(b) || a - b);
  const step = idleStepNs(profile, plan, sorted);
  const moments: Moment[] = [];
  let startNs = 0;
  let cursorNs = Number.NEGATIVE_INFINITY;
  for (const sample of sorted) {
    const endNs = samples.timeNs.at(sample);
    const beginNs = endNs - samples.weight.at(sample);
    if (moments.length === 0) startNs = cursorNs = beginNs;
    if (beginNs - cursorNs > LEAST_GAP * step)
      for (; beginNs - cursorNs > step / 2; cursorNs += step)
        moments.push({ stack: IDLE, timeNs: cursorNs - startNs });
    moments.push({ stack: samples.stack.at(sample), timeNs: Math.max(cursorNs, beginNs) - startNs });
    cursorNs = Math.max(cursorNs, endNs);
  }
  return { moments, durationNs: moments.length === 0 ? 0 : cursorNs - startNs };
}

/** Of events that count something else than time, or without times: one behind the other. */
function inOrder({ samples }: Profile, order: readonly number[], hasTimes: boolean): Timeline {
  const moments: Moment[] = [];
  const startNs = hasTimes && order.length > 0 ? samples.timeNs.at(order[0]!) : 0;
  let timeNs = 0;
  for (const sample of order) {
    if (hasTimes) timeNs = Math.max(timeNs, samples.timeNs.at(sample) - startNs);
    moments.push({ stack: samples.stack.at(sample), timeNs });
    if (!hasTimes) timeNs += samples.weight.at(sample);
  }
  return { moments, durationNs: timeNs };
}

function idleStepNs(profile: Profile, plan: ExportPlan, sorted: readonly number[]): number {
  const { samples } = profile;
  const weights = sorted.map((sample) => samples.weight.at(sample)).sort((a, b) => a - b);
  const period = periodOfEach(profile, plan.eventIndex) ?? weights[weights.length >> 1] ?? 1;
  const spanNs = sorted.length === 0 ? 0 : samples.timeNs.at(sorted.at(-1)!) - samples.timeNs.at(sorted[0]!);
  return Math.max(1, period, spanNs / MOST_IDLE_MOMENTS);
}

/** Rows of samples of an event by thread: the thread that JavaScript ran on for longest, else the busiest. */
export function chosenThread(
  profile: Profile,
  eventIndex: number,
  isScript: (stack: number) => boolean,
): { thread: number; order: number[]; others: number } | null {
  const { samples } = profile;
  const threads = new Map<number, { order: number[]; script: number; all: number }>();
  for (let sample = 0; sample < samples.length; sample++) {
    if (samples.event.at(sample) !== eventIndex) continue;
    const thread = samples.thread.at(sample);
    let sums = threads.get(thread);
    if (sums === undefined) threads.set(thread, (sums = { order: [], script: 0, all: 0 }));
    const weight = samples.weight.at(sample);
    const stack = samples.stack.at(sample);
    sums.order.push(sample);
    sums.all += weight;
    if (stack !== NONE && isScript(stack)) sums.script += weight;
  }
  const [first] = [...threads].sort(([, a], [, b]) => b.script - a.script || b.all - a.all);
  return first === undefined ? null : { thread: first[0], order: first[1].order, others: threads.size - 1 };
}
