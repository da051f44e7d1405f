export type { Mapping } from './address-space.ts';
export { AddressSpace } from './address-space.ts';
// The whole file: what is left out of the published types cannot be named here.
export * from './jit-dump-mark.ts';
export { Machine, Process, SIDEBAND_TYPES, Thread } from './machine.ts';
export { type MappingKind, mappingKind } from './mapping-kind.ts';
