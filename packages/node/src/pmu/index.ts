export { type Availability, eventAvailability } from './availability.ts';
export { type CpuIdentityPlaces, readCpuIdentities } from './cpu-identity.ts';
export { systemPfmLibrary } from './libpfm-lookup.ts';
export { type SystemEventLookup, systemEventLookup } from './lookup.ts';
export { SysfsPmu } from './sysfs-pmu.ts';
