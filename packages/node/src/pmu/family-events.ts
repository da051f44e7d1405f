import type { PmuEvent } from '@counterpoint/core/events';
import { describePmu } from '@counterpoint/core/pmus';
import { readCpuIdentities } from './cpu-identity.ts';

let byPmu: ReadonlyMap<string, ReadonlyMap<string, PmuEvent>> | null = null;

/** What the family of this machine's CPU says that its core PMU can count, by name; empty for another PMU. */
export function familyEvents(pmu: string): ReadonlyMap<string, PmuEvent> {
  byPmu ??= new Map(
    readCpuIdentities().map((identity) => {
      const events = describePmu(identity)?.events ?? [];
      return [
        identity.pmu,
        new Map(events.map(({ name, terms, description }) => [name, { terms, description }])),
      ];
    }),
  );
  return byPmu.get(pmu) ?? new Map();
}
