import { printable, printableJson } from '@counterpoint/core/base';
import type { StatRow } from '../../../linux/count/stat/index.ts';
import { twoDigits } from '../../common/human.ts';
import { countText, intervalTime, placeName } from './text.ts';

/** What stands before the fields of a row. */
export interface FieldsContext {
  /** End of the interval; null outside of `-I`. */
  sinceStartNs: bigint | null;
  /** The sums at the end of `-I`. */
  isSummary: boolean;
  /** Name the event set of each row: there are several. */
  withSets: boolean;
}

const HAS_MEMBERS: ReadonlySet<string> = new Set(['core', 'die', 'socket', 'node']);

/**
 * perf's `-x`: [time][place[,members]],count,unit,event,[cgroup],[spread],running
 * time,percent,metric,its unit,[set].
 */
export function separatedLines(row: StatRow, separator: string, context: FieldsContext): string[] {
  const { place, event, status, metrics, spreadPercent } = row;
  const before: string[] = [];
  if (context.sinceStartNs !== null) before.push(intervalTime(context.sinceStartNs));
  if (context.isSummary) before.push('         summary');
  if (place !== null) before.push(printable(placeName(place)));
  if (place !== null && HAS_MEMBERS.has(place.by)) before.push(String(place.members));
  const cgroup = event.cgroup === null ? [] : [printable(event.cgroup)];
  const spread = spreadPercent === null ? [] : [`${twoDigits(spreadPercent)}%`];
  const [first, ...more] = metrics;
  const fields = [
    ...before,
    status === 'counted' ? countText(row, false) : statusText(row),
    event.count.unit ?? '',
    printable(event.count.name),
    ...cgroup,
    ...spread,
    String(Math.round(row.runningNs)),
    runningShare(row),
    ...(first === undefined ? ['', ''] : [digitsOf(first.text), first.unit]),
  ];
  const blank = [...before, ...Array.from({ length: fields.length - before.length - 2 }, () => '')];
  const set = context.withSets ? [quoted(printable(event.set), separator)] : [];
  return [fields, ...more.map(({ text, unit }) => [...blank, digitsOf(text), unit])].map((line) =>
    [...line, ...set].join(separator),
  );
}

/**
 * The name of a set is ours, and may be a list of events: as in RFC 4180 where the separator stands in it.
 */
function quoted(text: string, separator: string): string {
  return text.includes(separator) || text.includes('"') ? `"${text.replaceAll('"', '""')}"` : text;
}

function digitsOf(text: string): string {
  return /-?[\d.]+/.exec(text)?.[0] ?? '';
}

function statusText({ status }: StatRow): string {
  return status === 'not-counted' ? '<not counted>' : '<not supported>';
}

function runningShare({ enabledNs, runningNs }: StatRow): string {
  return twoDigits(enabledNs === 0 ? 100 : (100 * runningNs) / enabledNs);
}

/**
 * perf's `-j`: an object in each line, with perf's keys alone, but for `set` beside
 * `--set`. Reasons are in `--json`.
 */
export function jsonLines(row: StatRow, context: FieldsContext): string[] {
  const { place, event, status, metrics, spreadPercent } = row;
  const before: string[] = [];
  const { sinceStartNs } = context;
  if (sinceStartNs !== null) before.push(`"interval" : ${intervalTime(sinceStartNs).trim()}`);
  if (place !== null)
    before.push(
      `"${place.by}" : ${printableJson(place.by === 'cpu' ? String(place.ids[0]) : placeName(place))}`,
    );
  if (place !== null && HAS_MEMBERS.has(place.by)) before.push(`"aggregate-number" : ${place.members}`);
  const count = status === 'counted' ? row.value.toFixed(6) : statusText(row);
  const [first, ...more] = metrics;
  const fields = [
    ...before,
    `"counter-value" : "${count}"`,
    `"unit" : ${printableJson(event.count.unit ?? '')}`,
    `"event" : ${printableJson(event.count.name)}`,
    ...(event.cgroup === null ? [] : [`"cgroup" : ${printableJson(event.cgroup)}`]),
    ...(context.withSets ? [`"set" : ${printableJson(event.set)}`] : []),
    ...(spreadPercent === null ? [] : [`"variance" : ${twoDigits(spreadPercent)}`]),
    `"event-runtime" : ${Math.round(row.runningNs)}`,
    `"pcnt-running" : ${runningShare(row)}`,
    ...metricFields(first?.value ?? 0, first?.unit ?? ''),
  ];
  return [fields, ...more.map(({ value, unit }) => [...before, ...metricFields(value, unit)])].map(
    (line) => `{${line.join(', ')}}`,
  );
}

function metricFields(value: number, unit: string): string[] {
  return [`"metric-value" : ${value.toFixed(6)}`, `"metric-unit" : ${printableJson(unit)}`];
}
