import {
  MMAP_PAGE_INDEX,
  PERF_TYPE_BREAKPOINT,
  PERF_TYPE_SOFTWARE,
  PERF_TYPE_TRACEPOINT,
} from '@counterpoint/core/abi';
import {
  assignCounters,
  counterAtPageIndex,
  describePmu,
  type PmuModel,
  withVendorEvents,
} from '@counterpoint/core/pmus';
import { checkOptions, listOf, OBJECT, required } from '../../../host/options/index.ts';
import { type EventTables, eventTables, machineCpus } from '../../kernel/local-pmus/index.ts';
import { type Sys, SysError } from '../../kernel/sys/index.ts';
import type { CountedEvent } from '../requests/types.ts';
import type { OpenSet } from './counter-set.ts';

/** Where an event is expected to be counted. */
export interface PlannedCounter {
  /** The event, by the name with which it was requested. */
  event: string;
  /**
   * `software`: by the kernel itself; `elsewhere`: on a PMU that is not a core's; `unknown`: the search was
   * given up, or no PMU is described.
   */
  kind: 'counter' | 'software' | 'elsewhere' | 'unschedulable' | 'unknown';
  /** Counters of the core's PMU, in the first turn that its group has. */
  counters: string[];
  /** Share of the time with a counter, while nobody else uses the PMU; null where that is not known. */
  share: number | null;
  /** Why it has no counter, or why that is not known; null where it has one. */
  reason: string | null;
  /** What to do to give it a counter; null where it has one. */
  remedy: string | null;
}

let models: { readonly tables: EventTables; readonly models: readonly PmuModel[] } | null = null;

/**
 * Models of this machine's core PMUs with the events of vendors' tables: none where the kernel drives none.
 */
function corePmuModels(): readonly PmuModel[] {
  const tables = eventTables();
  if (models?.tables !== tables) {
    const described = machineCpus()
      .filter(({ pmuType }) => pmuType !== null)
      .flatMap((identity) => describePmu(identity) ?? [])
      .map((model) => withVendorEvents(model, tables.vendorEvents.get(model.pmu) ?? []));
    models = { tables, models: described };
  }
  return models.models;
}

const PLANNED = { events: required(listOf(OBJECT, 'the events of a set of planCounting()')) };

/** Counted by the kernel itself on every machine, also where no PMU is described. */
const SOFTWARE_TYPES: ReadonlySet<number> = new Set([
  PERF_TYPE_SOFTWARE,
  PERF_TYPE_TRACEPOINT,
  PERF_TYPE_BREAKPOINT,
]);

/** Which counters the events of a set would have, by what is known of the PMU. */
export function planCounters(events: readonly CountedEvent[], known = corePmuModels()): PlannedCounter[] {
  checkOptions('planCounters()', { events }, PLANNED);
  const leaders = new Set(events.map(({ leader }) => leader));
  const wanted = events.map(({ requestedName, attr, leader }, index) => {
    const isInGroup = leader !== null || leaders.has(index);
    return { name: requestedName, attr, group: isInGroup ? (leader ?? index) : null };
  });
  const plans = known.map((model) => {
    const plan = assignCounters(model, wanted);
    return { model, plan, shares: plan.groups.flatMap((group) => group.events.map(() => group.share)) };
  });
  return events.map(({ requestedName, tool, attr }, index): PlannedCounter => {
    const base = { event: requestedName, counters: [], share: null, reason: null, remedy: null };
    if (tool !== null || SOFTWARE_TYPES.has(attr.type)) return { ...base, kind: 'software' };
    for (const { model, plan, shares } of plans) {
      const placement = plan.events[index]!;
      if (placement.kind === 'other-pmu') continue;
      if (placement.kind === 'software') return { ...base, kind: 'software' };
      if (placement.kind === 'undecided') return { ...base, kind: 'unknown' };
      if (placement.kind === 'unschedulable') return { ...base, ...placement };
      const counters = placement.counters.map((counter) => model.counters[counter]!.name);
      return { ...base, kind: 'counter', counters, share: shares[index] ?? null };
    }
    return { ...base, kind: plans.length === 0 ? 'unknown' : 'elsewhere' };
  });
}

/** Where a counter really is. */
export interface RealCounter {
  /** The event, by the name with which it was requested. */
  event: string;
  /** The name of its event set. */
  set: string;
  /** The thread that it counts; -1 is every thread of the CPU. */
  task: number;
  /** The CPU on which it counts; -1 is wherever the thread runs. */
  cpu: number;
  /** Index in the event's mapped page; 0 is none at this moment, or one that the kernel does not tell. */
  index: number;
  /** The counter of that index, where the PMU is described. */
  counter: string | null;
  /** Why nothing is known. */
  reason: string | null;
}

/** Ask the kernel which hardware counter each event of a set is on now, by its mapped page. */
export function realCounters(sys: Sys, set: OpenSet, known = corePmuModels()): RealCounter[] {
  return set.events.flatMap(({ requestedName, attr }, event) =>
    set.counters[event]!.map(({ fd, row }): RealCounter => {
      const base = {
        event: requestedName,
        set: set.name,
        task: row.task,
        cpu: row.cpu,
        index: 0,
        counter: null,
      };
      try {
        using page = sys.mapEventPage(fd);
        const index = new DataView(page.buffer).getUint32(MMAP_PAGE_INDEX, true);
        if (index === 0)
          return { ...base, reason: 'it has no counter at this moment, or the kernel does not say which' };
        const model = known.find(({ pmuType }) => pmuType === attr.type) ?? known[0];
        const counter = model === undefined ? null : (counterAtPageIndex(model, index)?.name ?? null);
        return { ...base, index, counter, reason: null };
      } catch (error) {
        if (!(error instanceof SysError)) throw error;
        const why = attr.flags.inherit === 1 ? 'an event that follows children has no page' : error.message;
        return { ...base, reason: why };
      }
    }),
  );
}
