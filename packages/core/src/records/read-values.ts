import {
  PERF_FORMAT_GROUP,
  PERF_FORMAT_ID,
  PERF_FORMAT_LOST,
  PERF_FORMAT_TOTAL_TIME_ENABLED,
  PERF_FORMAT_TOTAL_TIME_RUNNING,
} from '../abi/index.ts';
import { bigIntAt } from '../base/index.ts';
import type { BodyWriter } from './body-writer.ts';
import { readValuesSize } from './decode-sample.ts';

export interface CounterValue {
  value: bigint;
  id?: bigint;
  lost?: bigint;
}

/**
 * What read() on an event, PERF_RECORD_READ and PERF_SAMPLE_READ give. One value,
 * or with GROUP one per member.
 */
export interface ReadValues {
  timeEnabled?: bigint;
  timeRunning?: bigint;
  values: CounterValue[];
}

/** Decode at `at`, or null where the bytes end too early. See perf_event_open(2), "Reading results". */
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
