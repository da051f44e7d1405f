export { AuxArea } from './aux-areas.ts';
export type { AuxRequest } from './aux-request.ts';
export { openForProcesses } from './beginning-threads.ts';
export { DEAD_BREAKPOINTS, noteDeadBreakpoints } from './dead-breakpoints.ts';
export { raiseDescriptorLimit } from './descriptor-limit.ts';
export { COUNTING_FALLBACKS, fallBack } from './fallback.ts';
export { FamilySwitch } from './families.ts';
export { holdProbes } from './held-probes.ts';
export { KEEPER } from './kept-context.ts';
export { addNote, type Note } from './notes.ts';
export { OFFLINE_LOOK_MS, OfflineCpus } from './offline-cpus.ts';
export { explainMmapError, explainOpenError, type RefusedOpen } from './open-error.ts';
export { beyondAttr, descriptorsOf, isInherited, openedSampleType, openPlannedEvent } from './open-event.ts';
export type { OpenPlan, OpenRow, OpenTarget } from './open-plan.ts';
export { planOpen, ringCount } from './open-plan.ts';
export { needsKeptContext, probeAsTracepoint } from './open-probe.ts';
export { type OpenOptions, openSampledEvents } from './open-sampled-events.ts';
export { PermissionError } from './permission-error.ts';
export {
  DEFAULT_STACK_BYTES,
  defaultEvent,
  MOST_STACK_BYTES,
  planEvents,
  type SamplingOptions,
} from './plan-events.ts';
export type { EventChange, PlannedEvent } from './planned-event.ts';
export { PROBE_FILES, removeLeftovers } from './probe-definitions.ts';
export {
  ALL_REGISTERS,
  REGISTER_NAMES,
  type RecordedParts,
  registerMask,
  SAMPLE_PARTS,
  type SamplePart,
  SIDEBAND_PARTS,
  type SidebandPart,
} from './sample-parts.ts';
export {
  type EventInstance,
  type EventRing,
  type EventTotals,
  lostOf,
  type SampledEvent,
  SampledEvents,
} from './sampled-events.ts';
export { TAKEN_TYPES, TakenEvents, type TakenProcess, takenLoss } from './taken-events.ts';
export { takenNote, takenNotes } from './taken-note.ts';
