/** A share that was found in the samples of one or more runs. */
export interface SampledShare {
  /** From 0 to 1. */
  share: number;
  samples: number;
  /** How far runs may be from what is usual, in log odds; 0 where they do not differ. */
  runWidth: number;
}

/** A difference of shares, and between which values it lies. */
export interface ShareDifference {
  difference: number;
  low: number;
  high: number;
}

/**
 * After less before, with Newcombe's interval from two intervals of shares (Newcombe 1998, "Interval
 * estimation for the difference between independent proportions", method 10). `deviations`: 1.96 for 95 %.
 */
export function shareDifference(
  before: SampledShare,
  after: SampledShare,
  deviations: number,
): ShareDifference {
  const [from, to] = [distancesOf(before, deviations), distancesOf(after, deviations)];
  const difference = after.share - before.share;
  return {
    difference,
    low: difference - Math.hypot(to.below, from.above),
    high: difference + Math.hypot(to.above, from.below),
  };
}

/**
 * From the share to the ends of its range. Chance of samples and the difference of runs are independent:
 * their distances add up by their squares (Zou and Donner 2008).
 */
function distancesOf(sampled: SampledShare, deviations: number): { below: number; above: number } {
  const { share, runWidth } = sampled;
  const [low, high] = scoreInterval(sampled, deviations);
  return {
    below: Math.hypot(share - low, share - shifted(share, -runWidth)),
    above: Math.hypot(high - share, shifted(share, runWidth) - share),
  };
}

/** The share with other log odds. */
function shifted(share: number, by: number): number {
  if (share <= 0 || share >= 1) return share;
  return share / (share + (1 - share) * Math.exp(-by));
}

/** Wilson's interval of a share (Wilson 1927). Without samples it is everything. */
export function scoreInterval(
  { share, samples }: Pick<SampledShare, 'share' | 'samples'>,
  deviations: number,
): [number, number] {
  if (samples === 0) return [0, 1];
  const square = deviations * deviations;
  const middle = 2 * samples * share + square;
  const width = deviations * Math.sqrt(square + 4 * samples * share * (1 - share));
  const scale = 2 * (samples + square);
  const [low, high] = [(middle - width) / scale, (middle + width) / scale];
  return [share <= 0 ? 0 : Math.max(0, low), share >= 1 ? 1 : Math.min(1, high)];
}

/**
 * How many standard deviations from the mean a normal variable stays within with a probability, on both
 * sides: 1.96 for 0.95. By halving; the normal distribution itself by its continued fraction and its series.
 */
export function deviationsOf(probability: number): number {
  let low = 0;
  let high = 40;
  for (let step = 0; step < 45; step++) {
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
