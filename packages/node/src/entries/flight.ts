/// <reference types="node" preserve="true" />
/** The flight recorder: keep what happened last in memory, and write it to a file when it is wanted. */

export type { HistoryFile, HistoryRecord } from '@counterpoint/core/history';
export {
  type FlightDump,
  type FlightEnd,
  type FlightOptions,
  FlightRecorder,
  type FlightStatus,
  flight,
} from '../flight/index.ts';
/** Histories of fixed-size records, as `fixedSize` writes them. */
export { type Converted, type ConvertOptions, convertRecording, openHistory } from '../history/index.ts';
