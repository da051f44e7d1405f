/** A share that was found in a number of samples. */
export interface SampledShare {
  /** From 0 to 1. */
  share: number;
  samples: number;
}

/** A difference of shares, and between which values it lies. */
export interface ShareDifference {
  difference: number;
  low: number;
  high: number;
}

/**
 * After less before, with Newcombe's interval from two score intervals (Newcombe 1998, "Interval
 * estimation for the difference between independent proportions", method 10). `deviations`: 1.96 for 95 %.
 * Samples are taken as independent.
 */
export function shareDifference(
  before: SampledShare,
  after: SampledShare,
  deviations: number,
): ShareDifference {
  const [fromLow, fromHigh] = scoreInterval(before, deviations);
  const [toLow, toHigh] = scoreInterval(after, deviations);
  const difference = after.share - before.share;
  return {
    difference,
    low: difference - Math.hypot(after.share - toLow, fromHigh - before.share),
    high: difference + Math.hypot(toHigh - after.share, before.share - fromLow),
  };
}

/** Wilson's interval of a share (Wilson 1927). Without samples it is everything. */
export function scoreInterval({ share, samples }: SampledShare, deviations: number): [number, number] {
  if (samples === 0) return [0, 1];
  const square = deviations * deviations;
  const middle = 2 * samples * share + square;
  const width = deviations * Math.sqrt(square + 4 * samples * share * (1 - share));
  const scale = 2 * (samples + square);
  return [Math.max(0, (middle - width) / scale), Math.min(1, (middle + width) / scale)];
}

/**
 * How many standard deviations from the mean a normal variable stays within with a probability, on both
 * sides: 1.96 for 0.95. By halving; the normal distribution itself by its continued fraction and its series.
 */
export function deviationsOf(probability: number): number {
  let low = 0;
  let high = 40;
  for (let step = 0; step < 100; step++) {
    const middle = (low + high) / 2;
    if (outside(middle) > 1 - probability) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** How many deviations, on both sides. */
function outside(deviations: number): number {
  const density = Math.exp((-deviations * deviations) / 2) / Math.sqrt(2 * Math.PI);
  if (deviations > 3) {
    // Laplace's continued fraction: 1 / (x + 1 / (x + 2 / (x + 3 / ...))).
    let rest = deviations;
    for (let term = 60; term > 0; term--) rest = deviations + term / rest;
    return (2 * density) / rest;
  }
  let term = deviations;
  let sum = deviations;
  for (let n = 1; n < 80; n++) {
    term *= (deviations * deviations) / (2 * n + 1);
    sum += term;
  }
  return 1 - 2 * density * sum;
}
