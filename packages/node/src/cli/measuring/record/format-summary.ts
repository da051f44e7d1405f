import type { RecordResult } from '../../../linux/sample/record/index.ts';
import { countOf, formatBytes, formatDuration } from '../../common/human.ts';

type FormatResult = RecordResult['formats'][number];

/** `histogram: 25,000 overflows, 310 ns each in the kernel, 57.6 KB read, 1,200 samples`. */
export function formatSummary(format: FormatResult): string {
  const { name, hasHandler, overflows, runs, costNs, bytesRead, samples, suspended } = format;
  const [count, what] = hasHandler ? [overflows, 'overflow'] : [runs, 'program run'];
  // Without overflows, what ran is programs beside the handlers: they keep the target right.
  const cost =
    costNs === null || count === 0n ? '' : `, ${Math.round(costNs / Number(runs))} ns each in the kernel`;
  const read = bytesRead === 0 ? '' : `, ${formatBytes(bytesRead)} read`;
  const blind =
    suspended === null
      ? ''
      : `, suspended ${countOf(suspended.times, 'time')} for ${formatDuration(Number(suspended.ns))}`;
  return `${name}: ${countOf(count, what)}${cost}${read}${samples === 0 ? '' : `, ${countOf(samples, 'sample')}`}${blind}`;
}
