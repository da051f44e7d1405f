import { readTask } from '../../kernel/target/index.ts';
import {
  type CountingSession,
  type CountStatus,
  type EventCount,
  type PlaceCount,
  scaledValue,
} from '../counting/index.ts';
import type { EventSum, Measurement } from './measurement.ts';
import { type DerivedMetric, deriveMetrics, type MetricInput, metricPeers, perSecond } from './metrics.ts';
import type { NamedMetric } from './named-metrics.ts';
import { checkRowOptions } from './option-tables.ts';
import type { Aggregation, RowOptions } from './row-options.ts';
import { spreadOf, spreadPercent } from './spread.ts';
import { cpuPlace } from './topology.ts';

/** One of the things that counts were added up over. */
export interface AggregatePlace {
  /** What kind of place it is. */
  by: Exclude<Aggregation, 'all'>;
  /** Numbers from the outside in: socket, die, core. For a thread its tid. */
  ids: readonly number[];
  /** Name of a thread. */
  name: string | null;
  /** How many CPUs or threads it has. */
  members: number;
}

/** One line of the result. */
export interface StatRow {
  /** Where it was counted; null: all places together. */
  place: AggregatePlace | null;
  /** The event, with its count of the last run. */
  event: EventSum;
  /** Whether there is a count, and why not. */
  status: CountStatus;
  /** Why it is not counted or not supported; null where it is counted. */
  reason: string | null;
  /** Scaled to all of the time, in the event's unit; the mean of the runs. */
  value: number;
  /** The same before it is put into the unit, where there was one run. */
  scaled: bigint | null;
  /** Standard error of the mean of several runs, in percent of it; null for one run. */
  spreadPercent: number | null;
  /** How long the event was wanted, in nanoseconds: the mean of the runs. */
  enabledNs: number;
  /** How long it had a counter, in nanoseconds: the mean of the runs. */
  runningNs: number;
  /** What follows from this count and others, such as instructions per cycle. */
  metrics: DerivedMetric[];
}

interface Cell {
  place: AggregatePlace | null;
  event: EventSum;
  status: CountStatus;
  reason: string | null;
  scaled: bigint;
  enabledNs: bigint;
  runningNs: bigint;
}

/**
 * The rows of one run or of several runs, in perf's order. A value of several runs is the
 * mean of the runs that have it.
 */
export function rowsOf(runs: readonly Measurement[], options: RowOptions): StatRow[] {
  checkRowOptions(runs, options);
  const { by, named = [], unscaled = false, hideIdle = false } = options;
  const facts = { cpuPlace: options.cpuPlace ?? cpuPlace, threadName: options.threadName ?? threadName };
  const cells = runs.map(({ events }) => cellsOf(events, by, unscaled, facts));
  const rows = sameInRuns(cells).map(rowOf);
  const elapsedNs = spreadOf(runs.map((run) => Number(run.elapsedNs))).mean;
  // The name of a set may be the text of all of its events.
  const setNumbers = new Map<string, number>();
  for (const { event } of rows) if (!setNumbers.has(event.set)) setNumbers.set(event.set, setNumbers.size);
  const keyOf = ({ event, place }: StatRow) =>
    `${event.cgroup} ${setNumbers.get(event.set)} ${placeKey(place)}`;
  for (const group of groupRows(rows, keyOf)) {
    const inputs = group.map(metricInput);
    const peers = metricPeers(inputs);
    group.forEach((row, at) => {
      row.metrics = deriveMetrics(inputs[at]!, peers, elapsedNs);
    });
    // Metrics stand on the first set.
    if (group[0]!.event.set !== rows[0]!.event.set) continue;
    const isNamed = new Set<StatRow>();
    for (const { metric, events } of named) {
      const rows = events.map((index) => group.find((row) => row.event.index === index));
      const result = namedMetric(rows, metric, elapsedNs);
      if (result === null) continue;
      // They take the place of what is shown unasked.
      const first = rows[0]!;
      if (!isNamed.has(first)) first.metrics = [];
      first.metrics.push(result);
      isNamed.add(first);
    }
  }
  const isShown = ({ place, value }: StatRow) => !hideIdle || place === null || value !== 0;
  return ordered(rows.filter(isShown), by);
}

/**
 * What belongs together of several runs: threads come and go between them, so that one
 * may not have what another has.
 */
function sameInRuns(runs: readonly Cell[][]): Cell[][] {
  if (runs.length === 1) return runs[0]!.map((cell) => [cell]);
  const setNumbers = new Map<string, number>();
  const cells = new Map<string, Cell[]>();
  for (const cell of runs.flat()) {
    const { cgroup, set, index } = cell.event;
    if (!setNumbers.has(set)) setNumbers.set(set, setNumbers.size);
    const key = `${cgroup} ${setNumbers.get(set)} ${index} ${placeKey(cell.place)}`;
    const same = cells.get(key);
    if (same === undefined) cells.set(key, [cell]);
    else same.push(cell);
  }
  return [...cells.values()];
}

function groupRows(rows: readonly StatRow[], keyOf: (row: StatRow) => string): StatRow[][] {
  const groups = new Map<string, StatRow[]>();
  for (const row of rows) {
    const key = keyOf(row);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [row]);
    else group.push(row);
  }
  return [...groups.values()];
}

/** Event by event, and within an event place by place. */
type PlaceFacts = Required<Pick<RowOptions, 'cpuPlace' | 'threadName'>>;

function cellsOf(events: readonly EventSum[], by: Aggregation, unscaled: boolean, facts: PlaceFacts): Cell[] {
  return events.flatMap((event) => {
    if (by === 'all' || event.count.places.length === 0) return [wholeCell(event, unscaled)];
    const groups = new Map<string, { place: AggregatePlace; counts: PlaceCount[] }>();
    for (const count of event.count.places) {
      const place = placeOf(count, by, facts);
      const key = placeKey(place);
      const group = groups.get(key) ?? { place, counts: [] };
      group.counts.push(count);
      groups.set(key, group);
    }
    return [...groups.values()].map(({ place, counts }) =>
      placeCell(event, { ...place, members: counts.length }, counts, unscaled),
    );
  });
}

function wholeCell(event: EventSum, unscaled: boolean): Cell {
  const { status, reason, scaled, value, enabledNs, runningNs } = event.count;
  const sum = (unscaled ? value : scaled) ?? 0n;
  return { place: null, event, status, reason, scaled: sum, enabledNs, runningNs };
}

function placeCell(
  event: EventSum,
  place: AggregatePlace,
  counts: readonly PlaceCount[],
  unscaled: boolean,
): Cell {
  const total = wantedFactor(event.count);
  const cell: Cell = {
    place,
    event,
    status: 'counted',
    reason: null,
    scaled: 0n,
    enabledNs: 0n,
    runningNs: 0n,
  };
  for (const { value, enabledNs, runningNs } of counts) {
    const wantedNs = total === 1 ? enabledNs : BigInt(Math.round(Number(enabledNs) * total));
    cell.scaled += unscaled ? value : scaledValue({ value, enabledNs: wantedNs, runningNs });
    cell.enabledNs += wantedNs;
    cell.runningNs += runningNs;
  }
  if (cell.runningNs > 0n) return cell;
  const { status, reason } = event.count;
  const why = status === 'counted' ? 'nothing of the target ran there' : reason;
  return { ...cell, status: status === 'counted' ? 'not-counted' : status, reason: why };
}

/** Where event sets take turns, an event was wanted for longer than its places were enabled. */
function wantedFactor({ enabledNs, places }: EventCount): number {
  const own = places.reduce((sum, place) => sum + place.enabledNs, 0n);
  return own === 0n || enabledNs <= own ? 1 : Number(enabledNs) / Number(own);
}

function placeOf(
  { task, cpu }: PlaceCount,
  by: Exclude<Aggregation, 'all'>,
  facts: PlaceFacts,
): AggregatePlace {
  const place = { by, name: null, members: 1 };
  if (by === 'thread') return { ...place, ids: [task], name: facts.threadName(task) };
  if (by === 'cpu') return { ...place, ids: [cpu] };
  const { core, die, socket, node } = facts.cpuPlace(cpu);
  switch (by) {
    case 'core':
      return { ...place, ids: [socket, die, core] };
    case 'die':
      return { ...place, ids: [socket, die] };
    case 'socket':
      return { ...place, ids: [socket] };
    case 'node':
      return { ...place, ids: [node] };
  }
}

const threadNames = new Map<number, string>();

/** Asked for when it is first seen; a thread that has ended keeps its name. */
function threadName(tid: number): string {
  let name = threadNames.get(tid);
  if (name === undefined) {
    name = readTask(tid, tid)?.name ?? '';
    threadNames.set(tid, name);
  }
  return name;
}

/** Ask for the names now: by the end a thread may be gone. */
export function rememberThreadNames(sessions: readonly CountingSession[]): void {
  for (const { openSets } of sessions)
    for (const { counters } of openSets) for (const { row } of counters.flat()) threadName(row.task);
}

function placeKey(place: AggregatePlace | null): string {
  return place === null ? '' : place.ids.join('-');
}

function rowOf(cells: readonly Cell[]): StatRow {
  const first = cells[0]!;
  const { place, event } = first;
  const counted = cells.filter(({ status }) => status === 'counted');
  const shown = counted.length > 0 ? counted : cells;
  const spread = spreadOf(cells.map(({ scaled }) => Number(scaled) * event.count.scale));
  return {
    place,
    event,
    status: shown[0]!.status,
    reason: shown[0]!.reason,
    value: spread.mean,
    scaled: cells.length === 1 ? first.scaled : null,
    spreadPercent: cells.length === 1 ? null : spreadPercent(spread),
    enabledNs: spreadOf(cells.map(({ enabledNs }) => Number(enabledNs))).mean,
    runningNs: spreadOf(cells.map(({ runningNs }) => Number(runningNs))).mean,
    metrics: [],
  };
}

function metricInput({ event, value, status }: StatRow): MetricInput {
  return {
    attr: event.attr,
    count: value / event.count.scale,
    isCounted: status === 'counted' && event.tool === null,
  };
}

function namedMetric(
  rows: readonly (StatRow | undefined)[],
  metric: NamedMetric,
  elapsedNs: number,
): DerivedMetric | null {
  const isWhole = rows.every((row) => row !== undefined && row.status === 'counted');
  if (!isWhole) return null;
  const counts = rows.map((row) => row!.value / row!.event.count.scale);
  const value = metric.value(counts, elapsedNs);
  return Number.isFinite(value) ? namedResult(metric, value) : null;
}

function namedResult({ name, unit }: NamedMetric, value: number): DerivedMetric {
  if (unit === '/sec') {
    const rate = perSecond(value);
    return { ...rate, unit: `${rate.unit} ${name}` };
  }
  const text = unit === '%' ? `${value.toFixed(2).padStart(7)}%` : value.toFixed(3).padStart(8);
  return { value, text, unit: unit === 'GHz' ? `GHz ${name}` : name };
}

/**
 * perf's order: CPUs and threads inside each event, other places with all their
 * events; the busiest threads first.
 */
function ordered(rows: StatRow[], by: Aggregation): StatRow[] {
  if (by === 'all' || by === 'cpu') return rows;
  if (by === 'thread') {
    const byEvent = groupRows(rows, ({ event }) => `${event.cgroup} ${event.set} ${event.index}`);
    return byEvent.flatMap((group) => group.sort((a, b) => b.value - a.value));
  }
  const places = groupRows(rows, ({ place }) => placeKey(place));
  places.sort(([a], [b]) => compareIds(a!.place?.ids ?? [], b!.place?.ids ?? []));
  return places.flat();
}

function compareIds(a: readonly number[], b: readonly number[]): number {
  for (const [at, id] of a.entries()) if (id !== b[at]) return id - (b[at] ?? -1);
  return 0;
}
