/** How wide the range of each row is: for the chance of samples, and for the difference between runs. */
import type { ComparedRow, RowSide } from './compared-rows.ts';
import { type RunValue, type Spreads, spreadsOf, type UsualSpread } from './run-spread.ts';
import { deviationsOf } from './share-interval.ts';
import { studentDeviationsOf } from './student-t.ts';

/**
 * What is usual between runs of the same program, of the log odds of a share and of the logarithm of a
 * period, as `npm run bench diff` measures it. A period has the time of the whole run in it, too.
 */
export const USUAL_OF: Readonly<Record<'share' | 'period', UsualSpread>> = {
  share: { deviation: 0.09, degreesOfFreedom: 8 },
  period: { deviation: 0.1, degreesOfFreedom: 8 },
};

export interface RowDeviations {
  /** Standard deviations of the chance of samples. */
  readonly samples: number;
  /** Standard deviation between runs. */
  readonly spread: number;
  /** Half the width of the range between runs, of the mean of each side's recordings. */
  readonly beforeWidth: number;
  readonly afterWidth: number;
}

/** `outside`: the probability that the range of any row may miss. */
export function rowDeviations(
  rows: readonly ComparedRow[],
  scale: 'share' | 'period',
  outside: number,
): RowDeviations[] {
  const [first] = rows;
  if (first === undefined) return [];
  const recordings = [first.before.runs.length, first.after.runs.length] as const;
  const weights = rows.map((row) => (row.before.share + row.after.share) / 2);
  const runs = rows.map((row, place) => ({ weight: weights[place]!, runs: runValues(row, scale) }));
  const degrees = recordings[0] + recordings[1] - 2;
  return deviationsOfRows(weights, spreadsOf(runs, degrees, USUAL_OF[scale]), recordings, outside);
}

/** Of rows of two recordings, by their shares: how runs differ is not measured. */
export function usualDeviations(weights: readonly number[], outside: number): RowDeviations[] {
  const { deviation, degreesOfFreedom } = USUAL_OF.share;
  const spreads = { deviations: weights.map(() => deviation), degreesOfFreedom };
  return deviationsOfRows(weights, spreads, [1, 1], outside);
}

function deviationsOfRows(
  weights: readonly number[],
  { deviations, degreesOfFreedom }: Spreads,
  [before, after]: readonly [number, number],
  outside: number,
): RowDeviations[] {
  // Of most rows there are few samples, and many have equally many.
  const known = new Map<number, { samples: number; runs: number }>();
  return partsOf(weights).map((part, place) => {
    let widths = known.get(part);
    if (widths === undefined) {
      const probability = 1 - outside * part;
      widths = {
        samples: deviationsOf(probability),
        runs: studentDeviationsOf(probability, degreesOfFreedom),
      };
      known.set(part, widths);
    }
    const spread = deviations[place]!;
    return {
      samples: widths.samples,
      spread,
      beforeWidth: (spread * widths.runs) / Math.sqrt(before),
      afterWidth: (spread * widths.runs) / Math.sqrt(after),
    };
  });
}

/**
 * Of many rows some would differ by chance, so each has a part of the probability to miss (Bonferroni): a
 * fifth of it goes to all alike, the rest by their shares. What takes a third of the time is found in spite
 * of a thousand rows that take none.
 */
function partsOf(weights: readonly number[]): number[] {
  const whole = sum(weights);
  return weights.map((weight) => 0.2 / weights.length + (whole > 0 ? (0.8 * weight) / whole : 0));
}

function runValues({ before, after }: ComparedRow, scale: 'share' | 'period'): RunValue[] {
  const shares = [...before.shares, ...after.shares];
  const samples = sum([...before.runs, ...after.runs].map((run) => run.samples));
  // Neither none nor all, of which logarithms would know nothing: half a sample is added.
  const share = ((sum(shares) / shares.length) * samples + 0.5) / (samples + 1);
  const valuesOf = scale === 'share' ? shareValues : periodValues;
  return [...valuesOf(before, share), ...valuesOf(after, share)];
}

/** In log odds: differences of a share are larger by this factor. */
function shareValues({ share, shares, runs }: RowSide, whole: number): RunValue[] {
  const factor = whole * (1 - whole);
  return shares.map((own, run) => ({
    deviation: (own - share) / factor,
    sampling: 1 / (Math.max(1, runs[run]!.samples) * factor),
  }));
}

/** In parts of the mean. */
function periodValues({ period, periods, runs }: RowSide, whole: number): RunValue[] {
  const mean = period / periods.length;
  return periods.map((own, run) => ({
    deviation: mean > 0 ? own / mean - 1 : 0,
    sampling: 1 / (Math.max(1, runs[run]!.samples) * whole),
  }));
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
