import { printable } from '@counterpoint/core/base';
import type { ControlRequest } from '../../../linux/count/counting/index.ts';
import type { AggregatePlace, Aggregation, StatRow } from '../../../linux/count/stat/index.ts';
import { twoDigits } from '../../common/human.ts';

/** perf's table (util/stat-display.c): the same columns at the same places. */

const COUNT_WIDTH = 18;
const NAME_WIDTH = 32;
const METRIC_WIDTH = 35;
/** An event without a count: seen where a control group stands behind its name. */
const NO_COUNT_NAME_WIDTH = 25;
const LEAST_UNIT_WIDTH = 'unit'.length;

export interface TextOptions {
  bigNumbers: boolean;
  /** Name the event set of each row: there are several. */
  withSets: boolean;
}

const LONGEST_SET_NAME = 40;

/**
 *   [time] [place] count unit name [cgroup] [set] # metric   ( +- spread )  (share)
 */
export function rowLines(row: StatRow, unitWidth: number, prefix: string, options: TextOptions): string[] {
  const { event, status, metrics } = row;
  const place = placeText(row.place);
  const counted = status === 'counted';
  const count = counted
    ? countText(row, options.bigNumbers)
    : status === 'not-counted'
      ? '<not counted>'
      : '<not supported>';
  const unit = (event.count.unit ?? '').padEnd(unitWidth);
  const name = printable(event.count.requestedName).padEnd(counted ? NAME_WIDTH : NO_COUNT_NAME_WIDTH);
  const cgroup = event.cgroup === null ? '' : ` ${printable(event.cgroup)}`;
  const set = options.withSets ? ` [${printable(shortened(event.set))}]` : '';
  const head = `${prefix}${place}${count.padStart(COUNT_WIDTH)} ${unit} ${name}${cgroup}${set}`;
  if (!counted) return [head + ' '.repeat(METRIC_WIDTH)];
  const [first, ...more] = metrics;
  const tail = `${spreadText(row)}${shareText(row)}`;
  const beside = first === undefined ? ' '.repeat(METRIC_WIDTH) : metricText(first.text, first.unit);
  const indent = ' '.repeat(COUNT_WIDTH + unitWidth + NAME_WIDTH + 2);
  const others = more.map(({ text, unit: what }) => `${prefix}${place}${indent}${metricText(text, what)}`);
  const lines = [head + beside, ...others];
  // perf adds these to the last line of an event.
  lines.push(lines.pop()! + tail);
  return lines;
}

function shortened(name: string): string {
  return name.length <= LONGEST_SET_NAME ? name : `${name.slice(0, LONGEST_SET_NAME - 1)}…`;
}

/** perf has no event sets: where there is one, rows are as perf prints them. */
export function hasSeveralSets(control: ControlRequest | null): boolean {
  return (control?.sets?.length ?? 0) + (control?.events === undefined ? 0 : 1) > 1;
}

export function unitWidthOf(rows: readonly StatRow[]): number {
  return Math.max(LEAST_UNIT_WIDTH, ...rows.map(({ event }) => (event.count.unit ?? '').length));
}

function metricText(text: string, unit: string): string {
  const left = ` # ${text}`;
  return `${left} ${unit.padEnd(METRIC_WIDTH - left.length - 1)}`;
}

export function spreadText({ spreadPercent }: StatRow): string {
  return spreadPercent === null || spreadPercent === 0
    ? ''
    : `  ( +-${twoDigits(spreadPercent).padStart(6)}% )`;
}

function shareText({ enabledNs, runningNs }: StatRow): string {
  return runningNs === enabledNs ? '' : `  (${twoDigits((100 * runningNs) / enabledNs)}%)`;
}

/**
 * Means of several runs below this show their fraction: beside a rate that was
 * made of 0.25, `0` would be wrong.
 */
const LEAST_ROUNDED_MEAN = 100;

/** Two decimals where the unit takes a fraction of a count, and where a small mean has one. */
export function countText({ value, scaled, event }: StatRow, bigNumbers: boolean): string {
  const { scale } = event.count;
  const isSmallMean = scaled === null && value < LEAST_ROUNDED_MEAN && !Number.isInteger(value);
  const isWhole = Number.isInteger(scale) && !isSmallMean;
  const text =
    isWhole && scaled !== null ? (scaled * BigInt(scale)).toString() : value.toFixed(isWhole ? 0 : 2);
  return bigNumbers ? withCommas(text) : text;
}

function withCommas(text: string): string {
  const [whole, fraction] = text.split('.');
  const grouped = whole!.replace(/\B(?=(\d{3})+$)/g, ',');
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}

/** The columns of a place, up to the count. */
function placeText(place: AggregatePlace | null): string {
  if (place === null) return '';
  const [first = 0, second = 0, third = 0] = place.ids;
  const members = `${String(place.members).padStart(4)} `;
  switch (place.by) {
    case 'cpu':
      return `CPU${String(first).padEnd(7)} `;
    case 'thread':
      return `${printable(place.name ?? '').padStart(16)}-${String(first).padEnd(8)} `;
    case 'core':
      return `S${first}-D${second}-C${String(third).padEnd(8)} ${members}`;
    case 'die':
      return `S${first}-D${String(second).padEnd(8)} ${members}`;
    case 'socket':
      return `S${String(first).padEnd(5)} ${members}`;
    case 'node':
      return `N${String(first).padEnd(5)} ${members}`;
  }
}

/** As perf's fields call a place. */
export function placeName({ by, ids, name }: AggregatePlace): string {
  const [first = 0, second = 0, third = 0] = ids;
  switch (by) {
    case 'cpu':
      return `CPU${first}`;
    case 'thread':
      return `${name}-${first}`;
    case 'core':
      return `S${first}-D${second}-C${third}`;
    case 'die':
      return `S${first}-D${second}`;
    case 'socket':
      return `S${first}`;
    case 'node':
      return `N${first}`;
  }
}

/** `     0.100124492`: seconds since the start. */
export function intervalTime(sinceStartNs: bigint): string {
  const seconds = sinceStartNs / 1_000_000_000n;
  const rest = sinceStartNs % 1_000_000_000n;
  return `${seconds.toString().padStart(6)}.${rest.toString().padStart(9, '0')}`;
}

const INTERVAL_HEADS: Readonly<Record<Aggregation, string>> = {
  all: '#           time             counts',
  cpu: '#           time CPU                    counts',
  core: '#           time core            cpus             counts',
  die: '#           time die          cpus             counts',
  socket: '#           time socket cpus             counts',
  node: '#           time node   cpus             counts',
  thread: '#           time             comm-pid                  counts',
};

export function intervalHead(by: Aggregation, unitWidth: number): string {
  return `${INTERVAL_HEADS[by]} ${'unit'.padEnd(unitWidth)} events`;
}

/**
 * Why counts are missing, or are not quite what was asked for: one line for all
 * events that have the same reason.
 */
export function reasonLines(rows: readonly StatRow[]): string[] {
  const names = new Map<string, Set<string>>();
  const add = (reason: string, name: string) => names.set(reason, (names.get(reason) ?? new Set()).add(name));
  for (const { status, reason, event } of rows) {
    const { name, requestedName } = event.count;
    if (status === 'counted') for (const why of event.changes) add(`counted otherwise: ${why}`, name);
    else if (reason !== null)
      add(`${status === 'not-supported' ? 'not supported' : 'not counted'}: ${reason}`, requestedName);
  }
  return [...names].map(([reason, events]) => `  ${reason} (${[...events].map(printable).join(', ')})`);
}
