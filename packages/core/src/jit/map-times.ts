import { FormatError } from '../base/index.ts';
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

/** Ascending. Throws FormatError where the bytes do not hold together. */
export function decodeMapTimes(bytes: Uint8Array): MapTime[] {
  const reader = new VarintReader(bytes);
  const version = reader.read();
  if (version !== VERSION)
    throw new FormatError('ERR_MAP_TIMES', 0, `times of a map of version ${VERSION}`, `${version}`);
  let timeUs = 0;
  let sizeBytes = 0;
  return Array.from({ length: reader.count() }, () => {
    timeUs += reader.read();
    sizeBytes += reader.read();
    return { timeUs, sizeBytes };
  });
}
