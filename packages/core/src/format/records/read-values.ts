import { bigIntAt } from '../../base/index.ts';
import {
  PERF_FORMAT_GROUP,
  PERF_FORMAT_ID,
  PERF_FORMAT_LOST,
  PERF_FORMAT_TOTAL_TIME_ENABLED,
  PERF_FORMAT_TOTAL_TIME_RUNNING,
} from '../abi/index.ts';
import type { BodyWriter } from './body-writer.ts';
import { readValuesSize } from './decode-sample.ts';

/** The count of one event, as it was read: not scaled. */
export interface CounterValue {
  /** The count; of clocks, nanoseconds. */
  value: bigint;
  /** The kernel's id of the event. With PERF_FORMAT_ID. */
  id?: bigint;
  /**
   * How many records of the event did not fit into the ring. Most of them are samples. With PERF_FORMAT_LOST
   * (Linux 6.0).
   */
  lost?: bigint;
}

/**
 * What read() of an event, PERF_RECORD_READ and PERF_SAMPLE_READ give: one value, or with
 * PERF_FORMAT_GROUP one for each member.
 */
export interface ReadValues {
  /** How long the event was enabled, in nanoseconds. With PERF_FORMAT_TOTAL_TIME_ENABLED. */
  timeEnabled?: bigint;
  /**
   * How long it had a counter, in nanoseconds. If this is less than `timeEnabled`, events shared the
   * counters, and the count covers only this part of the time. With PERF_FORMAT_TOTAL_TIME_RUNNING.
   */
  timeRunning?: bigint;
  /** The leader first, then the members in the order in which they were opened. */
  values: CounterValue[];
}

/** Decode at `at`. Null if the bytes end too early. See perf_event_open(2), "Reading results". */
export function decodeReadValues(
  view: DataView,
  at: number,
  end: number,
  readFormat: number,
  le: boolean,
): ReadValues | null {
  if (readValuesSize(view, at, end, readFormat, le) < 0) return null;
  let pos = at;
  const next = () => {
    const value = bigIntAt(view, pos, le);
    pos += 8;
    return value;
  };
  const isGroup = (readFormat & PERF_FORMAT_GROUP) !== 0;
  const out: ReadValues = { values: [] };
  const readTimes = () => {
    if ((readFormat & PERF_FORMAT_TOTAL_TIME_ENABLED) !== 0) out.timeEnabled = next();
    if ((readFormat & PERF_FORMAT_TOTAL_TIME_RUNNING) !== 0) out.timeRunning = next();
  };
  const readRest = (counter: CounterValue) => {
    if ((readFormat & PERF_FORMAT_ID) !== 0) counter.id = next();
    if ((readFormat & PERF_FORMAT_LOST) !== 0) counter.lost = next();
    out.values.push(counter);
  };
  if (isGroup) {
    const count = Number(next());
    readTimes();
    for (let i = 0; i < count; i++) readRest({ value: next() });
  } else {
    const value = next();
    readTimes();
    readRest({ value });
  }
  return out;
}

/**
 * Appends the values in the given read format. What `read` lacks is written as 0. Mirrors `decodeReadValues`.
 */
export function encodeReadValues(writer: BodyWriter, read: ReadValues, readFormat: number): void {
  const writeTimes = () => {
    if ((readFormat & PERF_FORMAT_TOTAL_TIME_ENABLED) !== 0) writer.u64(read.timeEnabled ?? 0n);
    if ((readFormat & PERF_FORMAT_TOTAL_TIME_RUNNING) !== 0) writer.u64(read.timeRunning ?? 0n);
  };
  const isGroup = (readFormat & PERF_FORMAT_GROUP) !== 0;
  const values = isGroup ? read.values : [read.values[0] ?? { value: 0n }];
  if (isGroup) {
    writer.u64(BigInt(values.length));
    writeTimes();
  }
  for (const counter of values) {
    writer.u64(counter.value);
    if (!isGroup) writeTimes();
    if ((readFormat & PERF_FORMAT_ID) !== 0) writer.u64(counter.id ?? 0n);
    if ((readFormat & PERF_FORMAT_LOST) !== 0) writer.u64(counter.lost ?? 0n);
  }
}
