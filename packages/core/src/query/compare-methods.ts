/** How the change of a row is measured, and between which values it lies. */
import { scoreInterval, shareDifference } from './share-interval.ts';

/** A row in one recording. */
export interface ComparedSide {
  /** Of the event's sum, from 0 to 1. */
  readonly share: number;
  /** Sum of the periods of the row. */
  readonly period: number;
  /** Sum of the periods of the recording. */
  readonly sumPeriod: number;
  /** How many samples of equal weight the recording is worth. */
  readonly samples: number;
}

/** A change, and the ends of its range. An end that is nowhere is infinite. */
export interface MeasuredChange {
  readonly change: number;
  readonly low: number;
  readonly high: number;
  readonly isBeyondNoise: boolean;
}

export type Measure = (before: ComparedSide, after: ComparedSide, deviations: number) => MeasuredChange;

/** In percentage points of the recording's sum. */
export const pointsOfShare: Measure = (before, after, deviations) => {
  const { difference, low, high } = shareDifference(before, after, deviations);
  return {
    change: 100 * difference,
    low: 100 * low,
    high: 100 * high,
    isBeyondNoise: low > 0 || high < 0,
  };
};

/**
 * How many times the periods of the earlier recording. Counts of samples in two recordings, of which so many
 * in all are known, are those of a binomial variable: its interval is the ratio's.
 */
export const ratioOfPeriods: Measure = (before, after, deviations) => {
  const [from, to] = [samplesOf(before), samplesOf(after)];
  const all = from + to;
  const change = after.period / before.period;
  if (all === 0) return { change: Number.NaN, low: 0, high: Number.POSITIVE_INFINITY, isBeyondNoise: false };
  // A sample of one recording may stand for more than one of the other.
  const scale = meanPeriod(after) / meanPeriod(before);
  const [least, most] = scoreInterval({ share: to / all, samples: all }, deviations);
  const low = scale * odds(least);
  const high = scale * odds(most);
  return { change, low, high, isBeyondNoise: low > 1 || high < 1 };
};

/** Periods of the later recording, weighted, less those of the earlier one: perf's `wdiff:BEFORE,AFTER`. */
export function weightedDifference(weightBefore: number, weightAfter: number): Measure {
  return (before, after, deviations) => {
    const from = countInterval(samplesOf(before), deviations, meanPeriod(before) * weightBefore);
    const to = countInterval(samplesOf(after), deviations, meanPeriod(after) * weightAfter);
    const change = after.period * weightAfter - before.period * weightBefore;
    // Of two intervals that of the difference, by the distances of their ends (as Newcombe's method 10).
    const low = change - Math.hypot(to.value - to.low, from.high - from.value);
    const high = change + Math.hypot(to.high - to.value, from.value - from.low);
    return { change, low, high, isBeyondNoise: low > 0 || high < 0 };
  };
}

/** Of a count (Poisson), by its score; each stands for `scale`. */
function countInterval(
  count: number,
  deviations: number,
  scale: number,
): { value: number; low: number; high: number } {
  const square = deviations * deviations;
  const middle = count + square / 2;
  const width = deviations * Math.sqrt(count + square / 4);
  return { value: count * scale, low: Math.max(0, middle - width) * scale, high: (middle + width) * scale };
}

function samplesOf({ share, samples }: ComparedSide): number {
  return share * samples;
}

/** What a sample of the recording stands for. */
function meanPeriod({ sumPeriod, samples }: ComparedSide): number {
  return samples > 0 ? sumPeriod / samples : 1;
}

function odds(share: number): number {
  return share >= 1 ? Number.POSITIVE_INFINITY : share / (1 - share);
}
