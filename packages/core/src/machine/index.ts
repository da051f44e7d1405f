export type { Mapping } from './address-space.ts';
export { AddressSpace } from './address-space.ts';
export { Machine, Process, SIDEBAND_TYPES, Thread } from './machine.ts';
export { type MappingKind, mappingKind } from './mapping-kind.ts';
