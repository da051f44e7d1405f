import { printable } from '@counterpoint/core/base';
import type { Recording } from '../../../host/open/index.ts';
import type { VerbContext } from '../../common/args.ts';
import { itraceOptions } from '../../common/itrace-option.ts';
import { lossLines } from '../../common/loss-text.ts';
import { ProgressLine } from '../../common/progress.ts';
import { statusOfAnswer, statusOfLoss } from '../../common/recording-input.ts';
import { TraceLog } from '../../common/trace-log.ts';
import { headerAnswer, writeHeader } from './header.ts';
import type { ReportName } from './report.ts';

/** `report --stats`: perf's layout, then what is missing. */
export async function reportStats(
  { args, out, err }: VerbContext<ReportName>,
  recording: Recording,
): Promise<number> {
  using progress = new ProgressLine(err);
  // As perf: a trace is decoded only where that is asked for.
  const itrace = args.string('itrace') == null ? null : await itraceOptions(args, 'report');
  using log = new TraceLog(itrace, out, err);
  const reader = args.boolean('header') ? await recording.reader() : null;
  const stats = await recording.stats({
    onProgress: progress.listener(),
    ...(itrace === null ? {} : { itrace }),
    ...log.options,
  });
  progress.close();
  // Of counts this is the answer, with or without samples.
  const statusOf = () =>
    recording.holdsCounts ? statusOfLoss(args, stats) : statusOfAnswer(args, stats, err);
  if (args.boolean('json')) {
    out.json(reader === null ? stats : { ...stats, header: headerAnswer(reader, recording.name) });
    return statusOf();
  }
  const total = Object.values(stats.records).reduce((sum, count) => sum + count, 0);
  const line = (name: string, count: number | string, share: boolean) => {
    const percent =
      share && total > 0 ? `  (${((100 * Number(count)) / total).toFixed(1).padStart(4)}%)` : '';
    out.line(`${name.padStart(16)} events: ${String(count).padStart(10)}${percent}`);
  };
  if (reader !== null) writeHeader(reader, recording.name, out);
  out.line('\nAggregated stats:');
  line('TOTAL', total, false);
  for (const [name, count] of Object.entries(stats.records)) line(name, count, true);
  for (const event of stats.events) {
    if (event.samples === 0) continue;
    out.line(`${printable(event.name)} stats:`);
    line('SAMPLE', event.samples, false);
    if (event.lost !== '0') line('LOST_SAMPLES', event.lost, false);
  }
  out.line();
  const lines = lossLines(stats.loss, stats.damage);
  if (lines.length === 0) out.line('Nothing lost.');
  for (const text of lines) out.line(out.style.yellow(`Lost: ${text}`));
  return statusOf();
}
