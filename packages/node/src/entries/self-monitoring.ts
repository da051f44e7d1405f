/// <reference types="node" preserve="true" />
/** Counters of the own thread, read in user space. */
export {
  Counters,
  type CountersEvent,
  type CountersOptions,
  type CountersReading,
  type CountersSource,
  type CountersValue,
  counters,
  type MeasuredEvent,
  type Measurement,
  measure,
  type SelfMonitoringNote,
} from '../linux/count/self-monitoring/index.ts';
