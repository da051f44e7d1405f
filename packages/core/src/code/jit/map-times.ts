import { FormatError } from '../../base/index.ts';
import { joinVarints, VarintReader, VarintWriter } from './varints.ts';

/** At a time a process had written so much of its perf map, and no more. */
export interface MapTime {
  /**
   * By the clock of the recording's samples, in microseconds: nanoseconds of long
   * uptimes are no exact numbers.
   */
  timeUs: number;
  /** Of the map, from its first byte. */
  sizeBytes: number;
}

const VERSION = 1;

/**
 * When how much of a map was there, as varints (LEB128): version | count, (time - the one
 * before, size - the one before) ...
 */
export function encodeMapTimes(times: readonly MapTime[]): Uint8Array<ArrayBuffer> {
  const body = new VarintWriter();
  body.add(VERSION, times.length);
  let before: MapTime = { timeUs: 0, sizeBytes: 0 };
  for (const time of times) {
    body.add(time.timeUs - before.timeUs, time.sizeBytes - before.sizeBytes);
    before = time;
  }
  return joinVarints([body]);
}

/** Times of a map as columns: hostile bytes may be millions of them. */
export interface MapTimes {
  /** Length of the columns. */
  count: number;
  /** Ascending, as `MapTime.timeUs`. */
  timeUs: Float64Array;
  /** Ascending, as `MapTime.sizeBytes`. */
  sizeBytes: Float64Array;
}

/** Two numbers of a byte each. */
const LEAST_TIME_BYTES = 2;

/** Throws FormatError where the bytes do not hold together. */
export function decodeMapTimes(bytes: Uint8Array): MapTimes {
  const reader = new VarintReader(bytes);
  const version = reader.read();
  if (version !== VERSION)
    throw new FormatError('ERR_MAP_TIMES', 0, `times of a map of version ${VERSION}`, `${version}`);
  const count = reader.count(Number.POSITIVE_INFINITY, LEAST_TIME_BYTES);
  const times = { count, timeUs: new Float64Array(count), sizeBytes: new Float64Array(count) };
  let timeUs = 0;
  let sizeBytes = 0;
  for (let row = 0; row < count; row++) {
    times.timeUs[row] = timeUs += reader.read();
    times.sizeBytes[row] = sizeBytes += reader.read();
  }
  return times;
}
