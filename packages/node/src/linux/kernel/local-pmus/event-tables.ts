import { PERF_TYPE_RAW } from '@counterpoint/core/abi';
import { isPmuMeant, type PmuDescription, type PmuEvent } from '@counterpoint/core/events';
import type { ProblemList, VendorEvent, VendorProblem } from '@counterpoint/core/pmus';
import type { EventTable, TableCore } from './table-cpu.ts';
import { vendorPmuEvent } from './vendor-event.ts';

/** What the tables that the user named say, put where it belongs on this machine. */
export interface EventTables {
  /** The tables that were read. */
  readonly tables: readonly EventTable[];
  /** Places and reasons of what could not be read: the first hundred, and how many there are. */
  readonly problems: readonly VendorProblem[];
  /** How many places could not be read, also beyond those in `problems`. */
  readonly problemCount: number;
  /** Events for PMUs of this machine, by PMU and name. */
  readonly events: ReadonlyMap<string, ReadonlyMap<string, PmuEvent>>;
  /** The same as they stand in the tables, for `withVendorEvents`. */
  readonly vendorEvents: ReadonlyMap<string, readonly VendorEvent[]>;
  /** PMUs that this machine does not have, with their events. */
  readonly absentPmus: readonly PmuDescription[];
}

export const NO_TABLES: EventTables = {
  tables: [],
  problems: [],
  problemCount: 0,
  events: new Map(),
  vendorEvents: new Map(),
  absentPmus: [],
};

/** An event of a table, and one PMU that it is for. */
interface Placed {
  readonly table: EventTable;
  readonly event: VendorEvent;
  readonly pmu: string;
  /** The CPU or PMU that is not here; `null`: it can be opened. */
  readonly foreign: string | null;
  readonly formats: ReadonlyMap<string, string>;
}

/** `pmuNames`: the PMUs that the kernel of this machine shows. */
export function placeTables(
  tables: readonly EventTable[],
  pmuNames: readonly string[],
  problems: ProblemList,
): EventTables {
  const events = new Map<string, Map<string, PmuEvent>>();
  const vendorEvents = new Map<string, VendorEvent[]>();
  const absent = new Map<string, PmuDescription & { events: Map<string, PmuEvent> }>();
  /** By PMU and name, without case: what the grammar does not tell apart. */
  const known = new Map<string, VendorEvent>();
  for (const placed of placements(tables, pmuNames)) {
    const { event, pmu, foreign } = placed;
    const key = `${foreign ?? ''}\0${pmu}\0${event.name.toLowerCase()}`;
    const before = known.get(key);
    if (before !== undefined) {
      if (before.terms !== event.terms)
        problems.add(
          event.place,
          `${event.name} of ${pmu} is already ${before.terms} (${before.place}): this one is left out`,
        );
      continue;
    }
    known.set(key, event);
    if (foreign === null) {
      entry(events, pmu, () => new Map()).set(event.name, vendorPmuEvent(event));
      entry(vendorEvents, pmu, () => []).push({ ...event, pmu });
    } else {
      const { formats } = placed;
      const description = () => ({ name: pmu, type: PERF_TYPE_RAW, formats, events: new Map(), foreign });
      entry(absent, `${foreign}\0${pmu}`, description).events.set(event.name, vendorPmuEvent(event));
    }
  }
  return {
    tables,
    problems: problems.kept,
    problemCount: problems.total,
    events,
    vendorEvents,
    absentPmus: [...absent.values()],
  };
}

function entry<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  let value = map.get(key);
  if (value === undefined) {
    value = make();
    map.set(key, value);
  }
  return value;
}

function* placements(tables: readonly EventTable[], pmuNames: readonly string[]): Generator<Placed> {
  const instances = new Map<string, readonly string[]>();
  for (const table of tables) {
    for (const event of table.events) {
      const { pmu } = event;
      if (pmu === null || isCoreName(pmu)) {
        for (const core of coresOf(table, pmu)) yield inCore(table, event, core);
        continue;
      }
      const found = entry(instances, pmu, () =>
        pmuNames.filter((name) => name === pmu || isPmuMeant(name, pmu)),
      );
      const formats: Placed['formats'] = new Map();
      if (table.foreign !== null || found.length === 0)
        yield { table, event, pmu, foreign: table.foreign ?? `the PMU ${pmu}`, formats };
      else for (const name of found) yield { table, event, pmu: name, foreign: null, formats };
    }
  }
}

function isCoreName(pmu: string): boolean {
  return pmu.startsWith('cpu_');
}

/** A kind of core that a table names (`cpu_atom`); where it names none, all that the table is for. */
function coresOf({ cores }: EventTable, pmu: string | null): readonly TableCore[] {
  if (pmu === null) return cores;
  const named = cores.filter((core) => core.pmu === pmu);
  if (named.length > 0) return named;
  return [{ pmu, isHere: false, formats: cores[0]?.formats ?? new Map() }];
}

function inCore(table: EventTable, event: VendorEvent, { pmu, isHere, formats }: TableCore): Placed {
  const foreign = table.foreign ?? (isHere ? null : `the PMU ${pmu}`);
  return { table, event, pmu, foreign, formats };
}
