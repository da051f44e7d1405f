/** How long one function takes, as a table and as JSON. */
import type { Distribution, FunctionLatency } from '@counterpoint/trace/intel-pt';
import { formatCount } from '../../common/human.ts';
import type { Output } from '../../common/output.ts';
import type { RowNames } from './calls-print.ts';
import type { TimeScale } from './time.ts';

const PERCENTILES = [50, 90, 99, 99.9] as const;

function distributionObject(of: Distribution, factor = 1): Record<string, unknown> | null {
  if (of.count === 0) return null;
  const scaled = (value: number) => (factor === 1 ? value : Math.round(value * factor * 1000) / 1000);
  return {
    count: of.count,
    sum: String(Math.round(of.sum * factor)),
    min: scaled(of.min),
    max: scaled(of.max),
    mean: scaled(of.mean),
    ...Object.fromEntries(PERCENTILES.map((percent) => [`p${percent}`, scaled(of.percentile(percent))])),
    // A percentile is at most this share too high.
    resolution: of.resolution,
  };
}

export function latencyObject(
  latency: FunctionLatency,
  address: string,
  name: string | null,
  names: RowNames,
  scale: TimeScale,
): Record<string, unknown> {
  const parts = (of: { ticks: Distribution; instructions: Distribution }) => ({
    ticks: distributionObject(of.ticks),
    ...(scale.isKnown ? { ns: distributionObject(of.ticks, scale.nsPerTick) } : {}),
    instructions: distributionObject(of.instructions),
  });
  return {
    type: 'pt-latency',
    version: 1,
    function: address,
    name,
    unfinished: latency.unfinished,
    untimed: latency.untimed,
    ...parts(latency),
    callers: latency.callers().map((caller) => ({
      caller: names.hexOf(caller.callerRow),
      name: names.symbolOf(caller.callerRow),
      ...parts(caller),
    })),
  };
}

/** `traceHasTime`: some time was told; that no call was timed does not mean that there is none. */
export function printLatency(
  latency: FunctionLatency,
  title: string,
  traceHasTime: boolean,
  names: RowNames,
  scale: TimeScale,
  out: Output,
): void {
  const hasTime = latency.ticks.count > 0;
  const text = (value: number) =>
    hasTime ? scale.duration(Math.round(value)) : formatCount(Math.round(value));
  const row = (of: Distribution, label: string) => [
    formatCount(of.count),
    text(of.min),
    text(of.mean),
    ...PERCENTILES.map((percent) => text(of.percentile(percent))),
    text(of.max),
    label,
  ];
  const { count } = latency.instructions;
  const unit = hasTime
    ? ' (time)'
    : !traceHasTime
      ? ' (instructions: the trace has no time)'
      : count > 0
        ? ' (instructions: the times of its calls are not known)'
        : '';
  out.line(`${title}: ${formatCount(count)} ${count === 1 ? 'call' : 'calls'}${unit}`);
  if (latency.unfinished > 0)
    out.line(
      `  not counted: ${formatCount(latency.unfinished)} that did not return, or that began before the trace`,
    );
  if (hasTime && latency.untimed > 0)
    out.line(`  not counted: ${formatCount(latency.untimed)} whose time is not known`);
  if (count === 0) return;
  const ofTrace = hasTime ? latency.ticks : latency.instructions;
  if (ofTrace.resolution > 0)
    out.line(`  percentiles are at most ${(100 * ofTrace.resolution).toFixed(1)}% too high`);
  out.line('');
  const callers = latency.callers().filter((caller) => !hasTime || caller.ticks.count > 0);
  out.table(
    ['calls', 'min', 'mean', ...PERCENTILES.map((percent) => `p${percent}`), 'max', 'from'].map((title) => ({
      title,
      align: title === 'from' ? 'left' : 'right',
    })),
    [
      row(ofTrace, 'all callers'),
      ...callers.map((caller) =>
        row(hasTime ? caller.ticks : caller.instructions, names.of(caller.callerRow)),
      ),
    ],
  );
}
