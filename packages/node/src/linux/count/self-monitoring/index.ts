export {
  Counters,
  type CountersEvent,
  type CountersReading,
  type CountersSource,
  type CountersValue,
} from './counters.ts';
export { type MeasuredEvent, type Measurement, measure } from './measure.ts';
export type { SelfMonitoringNote } from './notes.ts';
export { type CountersOptions, counters } from './open-counters.ts';
