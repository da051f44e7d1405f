/** What a PMU of each family has: events, counters, and what each event may be on. */
export {
  type ConfigWord,
  type CounterDescription,
  type CounterKind,
  type CpuIdentity,
  type CpuidRegisters,
  describePmu,
  type EventConstraint,
  type EventDescription,
  type EventRequirement,
  type EventWords,
  type KernelCounterReport,
  type MapRow,
  PMU_FAMILIES,
  type PmuFamily,
  type PmuModel,
  ProblemList,
  type TermLayout,
  type TermValue,
  type VendorEvent,
  type VendorEvents,
  type VendorMap,
  type VendorProblem,
  type VendorProduct,
  type VendorSchema,
} from '../events/pmus/index.ts';

// For the packages of this repository alone: no promise, and not in the published types.

/** @internal */
export {
  assignCounters,
  counterAtPageIndex,
  cpuidKey,
  formatText,
  matchMapFile,
  parseCpuInfo,
  parseKernelLog,
  parseMapFile,
  parseVendorEvents,
  withVendorEvents,
} from '../events/pmus/index.ts';
