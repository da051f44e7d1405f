/** How the change of a row is measured, and between which values it lies. */
import { scoreInterval, shareDifference } from './share-interval.ts';

/** A row in the recordings of one side. */
export interface ComparedSide {
  /** Of the event's sum, from 0 to 1: the mean of the recordings. */
  readonly share: number;
  /** Sum of the periods of the row in all recordings. */
  readonly period: number;
  /** Sum of the periods of the recordings. */
  readonly sumPeriod: number;
  /** How many samples of equal weight the recordings are worth. */
  readonly samples: number;
  /** How many recordings. */
  readonly recordings: number;
  /**
   * How far their mean may be from what is usual, in log odds of the share or the logarithm of the period.
   */
  readonly runWidth: number;
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
  const change = perRecording(after) / perRecording(before);
  if (all === 0) return { change: Number.NaN, low: 0, high: Number.POSITIVE_INFINITY, isBeyondNoise: false };
  // A sample of one recording may stand for more than one of the other.
  const scale = periodOfSample(after) / periodOfSample(before);
  const [least, most] = scoreInterval({ share: to / all, samples: all }, deviations);
  const runWidth = Math.hypot(before.runWidth, after.runWidth);
  const low = further(change, scale * odds(least), -1, runWidth);
  const high = further(change, scale * odds(most), 1, runWidth);
  return { change, low, high, isBeyondNoise: low > 1 || high < 1 };
};

/** The end of a range, moved for the difference of runs: distances of logarithms add up by their squares. */
function further(change: number, end: number, direction: 1 | -1, runWidth: number): number {
  const distance = Math.log(end / change);
  if (!Number.isFinite(distance)) return end * Math.exp(direction * runWidth);
  return change * Math.exp(direction * Math.hypot(distance, runWidth));
}

/** Periods of the later recording, weighted, less those of the earlier one: perf's `wdiff:BEFORE,AFTER`. */
export function weightedDifference(weightBefore: number, weightAfter: number): Measure {
  return (before, after, deviations) => {
    const from = weightedPeriod(before, deviations, weightBefore);
    const to = weightedPeriod(after, deviations, weightAfter);
    const change = perRecording(after) * weightAfter - perRecording(before) * weightBefore;
    // Of two intervals that of the difference, by the distances of their ends (as Newcombe's method 10).
    const low = change - Math.hypot(to.below, from.above);
    const high = change + Math.hypot(to.above, from.below);
    return { change, low, high, isBeyondNoise: low > 0 || high < 0 };
  };
}

/** The distances from a period to the ends of its range: of a count (Poisson) by its score, and of runs. */
function weightedPeriod(
  side: ComparedSide,
  deviations: number,
  weight: number,
): { below: number; above: number } {
  const count = samplesOf(side);
  const scale = periodOfSample(side) * weight;
  const square = deviations * deviations;
  const middle = count + square / 2;
  const width = deviations * Math.sqrt(count + square / 4);
  const runs = (by: number) => count * (1 - Math.exp(by));
  return {
    below: scale * Math.hypot(count - Math.max(0, middle - width), runs(-side.runWidth)),
    above: scale * Math.hypot(middle + width - count, runs(side.runWidth)),
  };
}

function samplesOf({ share, samples }: ComparedSide): number {
  return share * samples;
}

function perRecording({ period, recordings }: ComparedSide): number {
  return period / recordings;
}

/** What a sample adds to the period of a recording, on the average of the recordings. */
function periodOfSample({ sumPeriod, samples, recordings }: ComparedSide): number {
  return samples > 0 ? sumPeriod / samples / recordings : 1;
}

function odds(share: number): number {
  return share >= 1 ? Number.POSITIVE_INFINITY : share / (1 - share);
}
