/**
 * How much a row differs from run to run, beyond the chance of samples. Two runs of the same program differ:
 * in what a compiler at run time decides, in where memory lies, in what else the machine does. A row's own
 * runs are few, so its spread is drawn towards that of the other rows, and all towards what is usual (as
 * Smyth 2004, "Linear models and empirical Bayes methods", does it for genes).
 */

/** A row in one run. Values are relative, as log odds or logarithms are: 0.1 is a tenth. */
export interface RunValue {
  /** Less the mean of the runs of its side. */
  readonly deviation: number;
  /** The variance that the number of samples explains. */
  readonly sampling: number;
}

/** A row in the runs of both sides. */
export interface RowRuns {
  /** How much the row counts when rows are pooled. */
  readonly weight: number;
  readonly runs: readonly RunValue[];
}

/** What is usual where nothing is measured; see `npm run bench diff`. */
export interface UsualSpread {
  /** Standard deviation between runs. */
  readonly deviation: number;
  /** How many runs more than one that is worth: rows of real programs differ, and so do programs. */
  readonly degreesOfFreedom: number;
}

export interface Spreads {
  /** Of each row: its standard deviation between runs, of which samples explain nothing. */
  readonly deviations: readonly number[];
  /** For Student's t: the larger, the better known. */
  readonly degreesOfFreedom: number;
}

/** Rows of fewer samples a run tell nothing of how runs differ. */
const ENOUGH_SAMPLES = 5;

/** `degrees`: how many recordings there are, less one for each side. */
export function spreadsOf(rows: readonly RowRuns[], degrees: number, usual: UsualSpread): Spreads {
  if (degrees === 0)
    return {
      deviations: rows.map(() => usual.deviation),
      degreesOfFreedom: usual.degreesOfFreedom,
    };
  const ratios = rows.map(({ runs }) => varianceRatio(runs, degrees, usual));
  const pooled = pooledRatio(rows, ratios, degrees, usual);
  const degreesOfFreedom = usual.degreesOfFreedom + degrees;
  const deviations = rows.map(({ runs }, row) => {
    const ratio = (usual.degreesOfFreedom * pooled + degrees * ratios[row]!) / degreesOfFreedom;
    const sampling = meanSampling(runs);
    return Math.sqrt(Math.max(0, ratio * expectedVariance(sampling, usual) - sampling));
  });
  return { deviations, degreesOfFreedom };
}

/** The variance of a row's runs, as a multiple of that which is expected. */
function varianceRatio(runs: readonly RunValue[], degrees: number, usual: UsualSpread): number {
  let sum = 0;
  for (const { deviation, sampling } of runs) sum += deviation ** 2 / expectedVariance(sampling, usual);
  return sum / degrees;
}

/** What is usual in these recordings: the median of their rows, for one row may be far off. */
function pooledRatio(
  rows: readonly RowRuns[],
  ratios: readonly number[],
  degrees: number,
  usual: UsualSpread,
): number {
  const known = rows
    .map(({ weight, runs }, row) => ({ weight, ratio: ratios[row]!, sampling: meanSampling(runs) }))
    .filter(({ sampling }) => sampling <= 1 / ENOUGH_SAMPLES)
    .sort((a, b) => a.ratio - b.ratio);
  const sum = known.reduce((total, { weight }) => total + weight, 0);
  if (sum === 0) return 1;
  let left = sum / 2;
  const middle = known.find(({ weight }) => (left -= weight) <= 0)!.ratio;
  // So many rows of equal weight (Kish 1965), each with its degrees; against what is usual elsewhere.
  const worth = (degrees * sum ** 2) / known.reduce((total, { weight }) => total + weight ** 2, 0);
  const median = middle / medianOfRatios(degrees, usual.degreesOfFreedom);
  return (usual.degreesOfFreedom + worth * median) / (usual.degreesOfFreedom + worth);
}

/** Of the F distribution, by that of chi-squared (Wilson and Hilferty 1931). */
function medianOfRatios(degrees: number, usualDegrees: number): number {
  return ((1 - 2 / (9 * degrees)) / (1 - 2 / (9 * usualDegrees))) ** 3;
}

function expectedVariance(sampling: number, usual: UsualSpread): number {
  return sampling + usual.deviation ** 2;
}

function meanSampling(runs: readonly RunValue[]): number {
  return runs.reduce((sum, { sampling }) => sum + sampling, 0) / runs.length;
}
