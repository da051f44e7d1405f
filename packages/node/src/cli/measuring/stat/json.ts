import type { Damage } from '@counterpoint/core/base';
import type { LossEntry } from '@counterpoint/core/loss';
import type { SwitchRule } from '../../../linux/count/counting/index.ts';
import type { Aggregation, Measurement, RunResult, StatRow } from '../../../linux/count/stat/index.ts';
import type { StatSettings } from './settings.ts';

/** The answer of `stat --json`: 64-bit counts and times are decimal strings, what is absent is null. */
export function statAnswer(
  { scope, command, control }: StatSettings,
  runs: readonly RunResult[],
  rows: readonly StatRow[],
) {
  const last = runs[runs.length - 1]!;
  return {
    type: 'stat',
    version: 1,
    target: scope,
    command,
    switching: switchingAnswer(control?.switching),
    stopped: last.stopped,
    exitCode: last.exit?.code ?? null,
    exitSignal: last.exit?.signal ?? null,
    runs: runs.map(({ total }) => timesAnswer(total)),
    rows: rows.map(rowAnswer),
    notes: [...new Map(last.notes.map((note) => [note.text, note])).values()],
  };
}

/** A line of `stat -I MS --json`; the last line is the whole answer. */
export function intervalAnswer(interval: Measurement, rows: readonly StatRow[], run: number) {
  return {
    type: 'stat-interval',
    version: 1,
    /** With `-r`: which run, from 1. */
    run,
    sinceStartNs: String(interval.sinceStartNs),
    elapsedNs: String(interval.elapsedNs),
    rows: rows.map(rowAnswer),
  };
}

/** The answer of `stat report --json`. Reasons and CPU times of the command are not in a recording. */
export function recordedAnswer(
  facts: {
    recording: string;
    commandLine: readonly string[];
    by: Aggregation;
    intervalMs: number;
    isUnfinished: boolean;
    loss: readonly LossEntry[];
    damage: readonly Damage[];
  },
  runs: readonly Pick<RunResult, 'total'>[],
  rows: readonly StatRow[],
) {
  return {
    type: 'stat-report',
    version: 1,
    ...facts,
    runs: runs.map(({ total }) => ({ elapsedNs: String(total.elapsedNs) })),
    rows: rows.map(rowAnswer),
  };
}

function switchingAnswer(rule: SwitchRule | undefined) {
  if (rule === undefined) return null;
  return rule.by === 'overflow' ? { ...rule, count: String(rule.count) } : rule;
}

function timesAnswer({ elapsedNs, times }: Measurement) {
  return { elapsedNs: String(elapsedNs), userNs: String(times.userNs), systemNs: String(times.systemNs) };
}

function rowAnswer(row: StatRow) {
  const { event, place, status, reason, value, scaled, spreadPercent, metrics } = row;
  const { count } = event;
  return {
    event: count.requestedName,
    effectiveEvent: count.name,
    set: event.set,
    cgroup: event.cgroup,
    place,
    status,
    reason,
    /** Scaled to all of the time; of several runs their mean. */
    count: status === 'counted' ? (scaled === null ? null : String(scaled)) : null,
    value: status === 'counted' ? value : null,
    unit: count.unit,
    scale: count.scale,
    errorBound: place === null ? count.errorBound : null,
    spreadPercent,
    enabledNs: String(Math.round(row.enabledNs)),
    runningNs: String(Math.round(row.runningNs)),
    metrics: metrics.map((metric) => ({ value: metric.value, unit: metric.unit })),
  };
}
