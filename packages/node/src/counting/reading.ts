import type { Reading } from './types.ts';

export function emptyReading(): Reading {
  return { value: 0n, enabledNs: 0n, runningNs: 0n };
}

export function addReading(sum: Reading, { value, enabledNs, runningNs }: Reading): void {
  sum.value += value;
  sum.enabledNs += enabledNs;
  sum.runningNs += runningNs;
}

export function subtractReading(reading: Reading, base: Reading): Reading {
  return {
    value: reading.value - base.value,
    enabledNs: reading.enabledNs - base.enabledNs,
    runningNs: reading.runningNs - base.runningNs,
  };
}

/** `value * enabled / running`, rounded; the value itself where it was always counted. */
export function scaledValue({ value, enabledNs, runningNs }: Reading): bigint {
  if (runningNs === 0n) return 0n;
  if (runningNs >= enabledNs) return value;
  return (value * enabledNs + runningNs / 2n) / runningNs;
}
