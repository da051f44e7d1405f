/** Student's t distribution (Student 1908): of means whose spread is known from a few values only. */

/**
 * How many estimated standard deviations from the mean it stays within with a probability, on both sides:
 * 2.776 for 0.95 with 4 degrees of freedom. By halving.
 */
export function studentDeviationsOf(probability: number, degreesOfFreedom: number): number {
  let low = 0;
  let high = 1;
  while (outside(high, degreesOfFreedom) > 1 - probability && high < 1e9) high *= 2;
  for (let step = 0; step < 45; step++) {
    const middle = (low + high) / 2;
    if (outside(middle, degreesOfFreedom) > 1 - probability) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** The probability of being more deviations away, on both sides. */
function outside(deviations: number, degrees: number): number {
  return incompleteBeta(degrees / (degrees + deviations * deviations), degrees / 2, 0.5);
}

/** The regularised incomplete beta function, by its continued fraction (DLMF 8.17.22). */
function incompleteBeta(x: number, a: number, b: number): number {
  if (x <= 0 || x >= 1) return x <= 0 ? 0 : 1;
  // The fraction converges quickly on this side only.
  if (x > (a + 1) / (a + b + 2)) return 1 - incompleteBeta(1 - x, b, a);
  let fraction = 1;
  for (let n = 60; n > 0; n--) {
    const even = (n * (b - n) * x) / ((a + 2 * n - 1) * (a + 2 * n));
    const odd = (-(a + n - 1) * (a + b + n - 1) * x) / ((a + 2 * n - 2) * (a + 2 * n - 1));
    fraction = 1 + odd / (1 + even / fraction);
  }
  const front = a * Math.log(x) + b * Math.log(1 - x) + logGamma(a + b) - logGamma(a) - logGamma(b);
  return Math.exp(front) / a / fraction;
}

/** Stirling's series, for an argument that is made large enough (DLMF 5.11.1). */
function logGamma(value: number): number {
  let shift = 0;
  let z = value;
  for (; z < 10; z++) shift += Math.log(z);
  const series = 1 / (12 * z) - 1 / (360 * z ** 3) + 1 / (1260 * z ** 5) - 1 / (1680 * z ** 7);
  return (z - 0.5) * Math.log(z) - z + Math.log(2 * Math.PI) / 2 + series - shift;
}
