export { type Availability, eventAvailability } from './availability.ts';
export { type CpuIdentityPlaces, readCpuIdentities } from './cpu-identity.ts';
export type { EventTables } from './event-tables.ts';
export { machineCpus } from './family-events.ts';
export { systemPfmLibrary } from './libpfm-lookup.ts';
export { type SystemEventLookup, systemEventLookup } from './lookup.ts';
export { SysfsPmu } from './sysfs-pmu.ts';
export type { EventTable, TableCore } from './table-cpu.ts';
export { eventTables, useEventTables } from './use-event-tables.ts';
