export {
  CONTROL_DATA_VERSION,
  type ControlData,
  type ControlOptions,
  controlData,
  controlRequest,
} from './control-data.ts';
export { openCounting } from './open-counting.ts';
export type { OverflowControl, OverflowRequest } from './overflow-control.ts';
export type { Overflow, OverflowLoss } from './overflow-watch.ts';
export { parseControlData } from './parse-control-data.ts';
export { scaledValue } from './reading.ts';
export {
  type ControlRequest,
  type CountingRequest,
  type EventList,
  type NamedSet,
  parseList,
  planCounting,
} from './request.ts';
export { CountingSession } from './session.ts';
export { studentT95 } from './slices.ts';
export { parseSwitchRule, type SwitchRule } from './switching.ts';
export type {
  CountedEvent,
  CountingPlan,
  CountingRow,
  CountingTarget,
  CountStatus,
  Counts,
  EventCount,
  PlaceCount,
  PlannedSet,
  Reading,
  SetCounts,
} from './types.ts';
