export type { Overflow, OverflowLoss } from '../overflows/overflow-watch.ts';
export { type AskOptions, type ConnectOptions, connect, RemoteSession } from '../published/connect.ts';
export { type CountsJson, countsFromJson, countsToJson, type JsonOf } from '../published/counts-json.ts';
export { Publication, type Publishable, type PublishOptions } from '../published/publish.ts';
export { listPublished, type Published } from '../published/runtime-directory.ts';
export {
  type PageSum,
  type PageSums,
  SUMS_PAGE_BYTES,
  SumsPageReader,
  type SumsState,
} from '../published/sums-page.ts';
export { CONTROL_DATA_VERSION, controlData, controlRequest } from '../requests/control-data.ts';
export type {
  ControlData,
  ControlOptions,
  ControlOverflow,
  ControlSet,
  ControlSwitch,
} from '../requests/control-data-types.ts';
export { parseControlData } from '../requests/parse-control-data.ts';
export { parseList, planCounting } from '../requests/request.ts';
export type { ControlRequest, CountingRequest, EventList, NamedSet } from '../requests/request-types.ts';
export { parseSwitchRule, type SwitchRule } from '../requests/switching.ts';
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
} from '../requests/types.ts';
export { type PlannedCounter, planCounters, type RealCounter } from '../sets/counter-plan.ts';
export { knownValues, scaledValue } from '../sets/reading.ts';
export { exclusiveHolder } from './exclusive.ts';
export { GlobalCounters, type GlobalSample, type GlobalStart } from './global-counters.ts';
export { openCounting } from './open-counting.ts';
export { CountingSession, type PreparedUpdate } from './session.ts';
