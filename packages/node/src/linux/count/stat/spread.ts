import { checkArgument } from '@counterpoint/core/base';

/** Mean of some runs, and how far it may be off. */
export interface Spread {
  /** The mean. */
  mean: number;
  /** Standard error of the mean; 0 for a single run. */
  standardError: number;
}

/** The mean of some values and its standard error. */
export function spreadOf(values: readonly number[]): Spread {
  checkArgument(Array.isArray(values), 'spreadOf()', 'the values', values, 'a list of numbers');
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  if (values.length < 2) return { mean, standardError: 0 };
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return { mean, standardError: Math.sqrt(squares / (values.length - 1) / values.length) };
}

/** In percent of the mean; 0 where the mean is. */
export function spreadPercent({ mean, standardError }: Spread): number {
  return mean === 0 ? 0 : (100 * standardError) / mean;
}
