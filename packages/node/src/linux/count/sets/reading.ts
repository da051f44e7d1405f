import { checkArgument } from '@counterpoint/core/base';
import type { CountStatus, EventCount, Reading } from '../requests/types.ts';

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

function checkReading(where: string, reading: Reading): void {
  const members = { value: 'bigint', enabledNs: 'bigint', runningNs: 'bigint' };
  checkArgument(members, where, 'the reading', reading, '{ value, enabledNs, runningNs }, each a bigint');
}

/** `value * enabled / running`, rounded; the value itself where it was always counted. */
export function scaledValue(input: Reading): bigint {
  checkReading('scaledValue()', input);
  const { value, enabledNs, runningNs } = input;
  if (runningNs === 0n) return 0n;
  if (runningNs >= enabledNs) return value;
  return (value * enabledNs + runningNs / 2n) / runningNs;
}

/**
 * What an event of this status may say: no number where nobody knows one. Of a target that did not run while
 * the event was enabled, 0 is known.
 */
export function knownValues(
  status: CountStatus,
  sum: Reading,
  couldNotRun = sum?.enabledNs === 0n,
): Pick<EventCount, 'value' | 'scaled'> {
  checkArgument(typeof status === 'string', 'knownValues()', 'the status', status, 'the status of a count');
  checkReading('knownValues()', sum);
  const isKnown = status === 'counted' || (status === 'not-counted' && couldNotRun);
  return isKnown ? { value: sum.value, scaled: scaledValue(sum) } : { value: null, scaled: null };
}
