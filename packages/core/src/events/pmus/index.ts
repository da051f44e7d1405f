export {
  assignCounters,
  type CounterPlan,
  counterAtPageIndex,
  type EventPlacement,
  type PlannedEvent,
  type PlannedGroup,
} from './assign.ts';
export { type CpuInfo, parseCpuInfo, parseKernelLog } from './cpu-text.ts';
export { withVendorEvents } from './extend.ts';
export { describePmu, PMU_FAMILIES } from './families.ts';
export { type Match, matchCounters } from './match.ts';
export { type CountedAttr, type Need, needOf } from './requirement.ts';
export {
  type ConfigWord,
  type ConfigWords,
  encodeTerms,
  formatText,
  readTerm,
  type TermValue,
  termsText,
} from './term-layout.ts';
export {
  type CounterDescription,
  type CounterKind,
  type CpuIdentity,
  type CpuidRegisters,
  cpuidKey,
  type EventConstraint,
  type EventDescription,
  type EventRequirement,
  type EventWords,
  type KernelCounterReport,
  type PmuFamily,
  type PmuModel,
  type TermLayout,
} from './types.ts';
export { parseVendorEvents } from './vendor-json.ts';
export { cpuNames, type MapRow, matchMapFile, parseMapFile, type VendorMap } from './vendor-map.ts';
export {
  ProblemList,
  type VendorEvent,
  type VendorEvents,
  type VendorProblem,
  type VendorProduct,
  type VendorSchema,
} from './vendor-types.ts';
