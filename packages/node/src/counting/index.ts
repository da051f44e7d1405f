export {
  type CountingRequest,
  type EventList,
  type NamedSet,
  openCounting,
  parseList,
  planCounting,
} from './open-counting.ts';
export { scaledValue } from './reading.ts';
export { CountingSession } from './session.ts';
export { studentT95 } from './slices.ts';
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
