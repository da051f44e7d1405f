/** Who runs what where, at any moment of a recording. */
export {
  AddressSpace,
  Machine,
  type Mapping,
  Process,
  Thread,
} from '../code/machine/index.ts';

// For the packages of this repository alone: no promise, and not in the published types.

/** @internal */
export {
  isJitDump,
  mappedJitDump,
  mappingKind,
  SIDEBAND_TYPES,
} from '../code/machine/index.ts';
