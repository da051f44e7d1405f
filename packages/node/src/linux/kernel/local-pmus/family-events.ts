import type { PmuEvent } from '@counterpoint/core/events';
import { type CpuIdentity, describePmu } from '@counterpoint/core/pmus';
import { readCpuIdentities } from './cpu-identity.ts';

let cpus: readonly CpuIdentity[] | null = null;

/** The kinds of core of this machine, read once. */
export function machineCpus(): readonly CpuIdentity[] {
  cpus ??= readCpuIdentities();
  return cpus;
}

let byPmu: ReadonlyMap<string, ReadonlyMap<string, PmuEvent>> | null = null;

/** What the family of this machine's CPU says that its core PMU can count, by name; empty for another PMU. */
export function familyEvents(pmu: string): ReadonlyMap<string, PmuEvent> {
  byPmu ??= new Map(
    machineCpus().map((identity) => {
      const events = describePmu(identity)?.events ?? [];
      return [
        identity.pmu,
        new Map(events.map(({ name, terms, description }) => [name, { terms, description }])),
      ];
    }),
  );
  return byPmu.get(pmu) ?? new Map();
}
