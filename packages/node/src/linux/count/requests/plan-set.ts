import {
  PERF_FORMAT_GROUP,
  PERF_FORMAT_ID,
  PERF_FORMAT_TOTAL_TIME_ENABLED,
  PERF_FORMAT_TOTAL_TIME_RUNNING,
  PERF_SAMPLE_IDENTIFIER,
} from '@counterpoint/core/abi';
import { CounterpointError } from '@counterpoint/core/base';
import type { ParsedEvent } from '@counterpoint/core/events';
import { beyondAttr } from '../../kernel/perf-events/index.ts';
import { onlineCpus, parseCpuList } from '../../kernel/target/index.ts';
import { requestOverflows, setOverflowAttr } from './overflow-control.ts';
import { type Places, placesOf } from './places.ts';
import type { CountedEvent, CountingRow, CountingTarget, OverflowRequest, PlannedSet } from './types.ts';

export interface CountingOptions {
  /** Count threads and children that the target starts, too. */
  inherit: boolean;
  levels: 'all' | 'user' | 'kernel';
  /** The exec of the held command starts the counters; else `start` does. */
  enableOnExec: boolean;
  /** Every group must be on the PMU at all times, or fail. */
  pinned?: boolean;
  /** No other events on the PMU at the same time. */
  exclusive?: boolean;
  overflows?: readonly OverflowRequest[];
}

/** Attrs and rows as `perf stat` has them for the same request (perf 6.1, seen with strace). */
export function planSet(
  name: string,
  parsed: readonly ParsedEvent[],
  target: CountingTarget,
  options: CountingOptions,
): PlannedSet {
  const events = plannedEvents(parsed);
  requestOverflows(events, options.overflows ?? []);
  const leaders = new Set(events.map(({ leader }) => leader));
  for (const [index, event] of events.entries())
    setCountingAttr(event, event.leader !== null || leaders.has(index), options);
  return { name, events, rows: planRows(events, placesOf(target), options) };
}

function plannedEvents(parsed: readonly ParsedEvent[]): CountedEvent[] {
  const leaders = new Map<number, number>();
  return parsed.map((event, index): CountedEvent => {
    refuseSampling(event);
    if (event.group !== null && event.isLeader) leaders.set(event.group, index);
    return {
      requestedName: event.name,
      name: event.name,
      attr: { ...event.attr, flags: { ...event.attr.flags } },
      leader: event.group === null || event.isLeader ? null : (leaders.get(event.group) ?? null),
      cpus: event.cpus === undefined ? null : parseCpuList(event.cpus),
      mostPrecise: event.options.mostPrecise ?? false,
      tracepoint: event.tracepoint ?? null,
      ...beyondAttr(event),
      changes: [],
      isSideband: false,
      unit: event.unit ?? null,
      scale: event.scale ?? 1,
      tool: event.tool ?? null,
      weakGroup: event.options.weakGroup ?? false,
      overflow: null,
    };
  });
}

function refuseSampling({ name, options }: ParsedEvent): void {
  if (options.bpfCounter !== true) return;
  throw new CounterpointError(
    'ERR_EVENT_OPTION',
    `${name} requests counting by a BPF program (modifier b), which is not supported`,
    'Leave out the modifier b: the kernel counts the event itself.',
  );
}

/** Fill in the attr of one event. In a group are its members and the leader that they name. */
export function setCountingAttr(event: CountedEvent, isInGroup: boolean, options: CountingOptions): void {
  const { attr } = event;
  const isLeader = event.leader === null;
  attr.sampleType = BigInt(PERF_SAMPLE_IDENTIFIER);
  attr.readFormat = BigInt(PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING);
  if (isInGroup) attr.readFormat |= BigInt(PERF_FORMAT_GROUP | PERF_FORMAT_ID);
  const { flags } = attr;
  attr.samplePeriodOrFreq = 0n;
  flags.freq = 0;
  flags.inherit = options.inherit ? 1 : 0;
  // Members follow their leader.
  flags.disabled = isLeader ? 1 : 0;
  flags.enableOnExec = isLeader && options.enableOnExec ? 1 : 0;
  if (options.levels === 'user') Object.assign(flags, { excludeKernel: 1, excludeUser: 0 });
  if (options.levels === 'kernel') Object.assign(flags, { excludeKernel: 0, excludeUser: 1 });
  if (isLeader && options.pinned === true) flags.pinned = 1;
  if (isLeader && options.exclusive === true) flags.exclusive = 1;
  if (event.overflow !== null) setOverflowAttr(attr, event.overflow, event.requestedName);
}

/**
 * CPU by CPU, on each event by event, for each thread by thread: perf's order. An event that follows children
 * may only have a ring where it is bound to a CPU, so with such overflows the whole set is opened per CPU.
 */
function planRows(
  events: readonly CountedEvent[],
  { tasks, cpus }: Places,
  { inherit }: CountingOptions,
): CountingRow[] {
  const rows: CountingRow[] = [];
  const needsCpus = inherit && events.some(({ overflow }) => overflow !== null && overflow.signal === null);
  for (const cpu of needsCpus && cpus[0] === -1 ? onlineCpus() : cpus) {
    // Where the rows of each event begin on this CPU: there is one for each task, in the order of the tasks.
    const firstRows: (number | null)[] = [];
    for (const [event, { tool, leader, cpus: only }] of events.entries()) {
      const isElsewhere = tool !== null || (only !== null && cpu >= 0 && !only.includes(cpu));
      firstRows.push(isElsewhere ? null : rows.length);
      if (isElsewhere) continue;
      const leaderRow = leader === null ? null : firstRows[leader]!;
      for (const [at, task] of tasks.entries())
        rows.push({ event, task, cpu, leader: leaderRow === null ? null : leaderRow + at });
    }
  }
  return rows;
}
