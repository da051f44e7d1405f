export { type AskOptions, type ConnectOptions, connect, RemoteSession } from './connect.ts';
export { CONTROL_DATA_VERSION, controlData, controlRequest } from './control-data.ts';
export type {
  ControlData,
  ControlOptions,
  ControlOverflow,
  ControlSet,
  ControlSwitch,
} from './control-data-types.ts';
export { type PlannedCounter, planCounters, type RealCounter } from './counter-plan.ts';
export { type CountsJson, countsFromJson, countsToJson, type JsonOf } from './counts-json.ts';
export { exclusiveHolder } from './exclusive.ts';
export { GlobalCounters, type GlobalSample, type GlobalStart } from './global-counters.ts';
export { openCounting } from './open-counting.ts';
export type { Overflow, OverflowLoss } from './overflow-watch.ts';
export { parseControlData } from './parse-control-data.ts';
export { Publication, type Publishable, type PublishOptions } from './publish.ts';
export { knownValues, scaledValue } from './reading.ts';
export { parseList, planCounting } from './request.ts';
export type { ControlRequest, CountingRequest, EventList, NamedSet } from './request-types.ts';
export { listPublished, type Published } from './runtime-directory.ts';
export { CountingSession, type PreparedUpdate } from './session.ts';
export {
  type PageSum,
  type PageSums,
  SUMS_PAGE_BYTES,
  SumsPageReader,
  type SumsState,
} from './sums-page.ts';
export { parseSwitchRule, type SwitchRule } from './switching.ts';
export type {
  CountedEvent,
  CountingPlan,
  CountingRow,
  CountingTarget,
  CountStatus,
  Counts,
  EventCount,
  OverflowControl,
  OverflowRequest,
  PlaceCount,
  PlannedSet,
  Reading,
  SetCounts,
} from './types.ts';
