import type { Damage } from '@counterpoint/core/base';
import { LOSS_KINDS, type LossEntry, type LossKind } from '@counterpoint/core/loss';
import { formatCount, formatDuration } from './human.ts';

/** What each kind of loss means, for a person. */
const WORDS: Record<LossKind, string> = {
  'ring-full': 'records lost because a ring buffer was full (larger -m, or a lower -F)',
  'lost-samples': 'samples the kernel dropped',
  throttled: 'of time in which an event was throttled',
  'format-map-full': 'samples that a full map had no room for (more entries: see the options of the format)',
  'format-ring-full':
    'samples that a full buffer had no room for (a larger one: see the options of the format)',
  'format-stack-collision': 'samples whose stack has a number that another stack took',
  'format-skipped': 'overflows at which the kernel did not run the format',
  'aux-truncated': 'stretches of trace data cut short',
  'trace-overflow': 'overflows in which the processor lost trace packets',
  'trace-error': 'places where the trace could not be followed: what ran there is missing',
  'aux-overwritten': 'stretches of trace data overwritten',
  'file-truncated': 'bytes at the end that are no whole record: the recording was not finished',
  'recorder-stopped': 'samples that were not written: the output took no more',
};

/** One line per kind of loss, and one per kind of damage; none where nothing is missing. */
export function lossLines(loss: readonly LossEntry[], damage: readonly Damage[]): string[] {
  const totals = new Map<LossKind, { count: bigint; places: number; exact: boolean }>();
  for (const entry of loss) {
    const total = totals.get(entry.kind) ?? { count: 0n, places: 0, exact: true };
    total.count += BigInt(entry.count);
    total.places++;
    total.exact &&= entry.exact;
    totals.set(entry.kind, total);
  }
  const lines = [...totals].map(([kind, { count, places, exact }]) => {
    const isTime = LOSS_KINDS[kind] === 'nanoseconds';
    const isUnknown = !exact && count === 0n;
    const known = `${exact ? '' : 'at least '}${isTime ? formatDuration(Number(count)) : formatCount(count)}`;
    const amount = isUnknown ? `an unknown ${isTime ? 'length' : 'number of'}` : known;
    return `${amount} ${WORDS[kind]}${places > 1 ? ` (in ${places} places)` : ''}`;
  });
  for (const { code, count, firstOffset } of damage) {
    lines.push(`damage: ${code}, ${formatCount(count)} times, first at offset ${firstOffset}`);
  }
  return lines;
}
