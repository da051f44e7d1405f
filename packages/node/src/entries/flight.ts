/// <reference types="node" preserve="true" />
/** The flight recorder: keep what happened last in memory, and write it to a file when it is wanted. */

export type {
  HistoryFile,
  HistoryRecord,
} from '@counterpoint/core/history';
/** Histories of fixed-size records, as `fixedSize` writes them. */
export {
  type Converted,
  type ConvertOptions,
  convertRecording,
  openHistory,
} from '../host/history-files/index.ts';
export {
  type FlightDump,
  type FlightEnd,
  type FlightOptions,
  FlightRecorder,
  type FlightStatus,
  flight,
} from '../linux/sample/flight/index.ts';
