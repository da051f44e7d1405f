import { CounterpointError } from '../../base/index.ts';
import {
  PERF_RECORD_CPU_MAP,
  PERF_RECORD_EVENT_UPDATE,
  PERF_RECORD_STAT,
  PERF_RECORD_STAT_CONFIG,
  PERF_RECORD_STAT_ROUND,
  PERF_RECORD_THREAD_MAP,
} from '../../format/abi/index.ts';
import { BodyWriter, type PerfRecord } from '../../format/records/index.ts';
import { numberOfCountsBy } from './aggregation.ts';
import {
  ANY_CPU,
  CONFIG_AGGREGATION,
  CONFIG_INTERVAL,
  CONFIG_SCALE,
  CPU_MAP_LIST,
  ROUND_FINAL,
  ROUND_INTERVAL,
  THREAD_SIZE_BYTES,
  UPDATE_SCALE,
  UPDATE_UNIT,
} from './format.ts';
import type { CountsConfig, CountsThread } from './recorded-counts.ts';

const TAIL = new Uint8Array();
const BASE = { misc: 0, tail: TAIL };
const MOST_THREADS = Math.floor((0xffff - 16) / THREAD_SIZE_BYTES);

/** An event that was opened, by its first id. */
export interface MeasuredEvent {
  /** The id of its first counter. */
  id: bigint;
  /** The unit of the count times `scale`; null: a plain count. */
  unit: string | null;
  /** The count times this is in `unit`. */
  scale: number;
}

/** What is known when a recording of counts begins. */
export interface CountsStart extends CountsConfig {
  /** The events, in the order in which they were opened. */
  events: readonly MeasuredEvent[];
  /** The threads; one with tid -1 where CPUs are counted. */
  threads: readonly CountsThread[];
  /** Empty: wherever the threads run. */
  cpus: readonly number[];
}

/** A count, with the id of its event at its place. */
export interface MeasuredCount {
  /** The id that the kernel gave the counter (PERF_EVENT_IOC_ID). */
  id: bigint;
  /** The CPU; -1 is wherever the thread ran. */
  cpu: number;
  /** Index of the thread. */
  thread: number;
  /** The count as it was read, not scaled to `enabledNs`. */
  value: bigint;
  /** How long the event was wanted, in nanoseconds. */
  enabledNs: bigint;
  /** How long it had a counter, in nanoseconds. */
  runningNs: bigint;
}

/** The records before the first count. Little-endian, as all machines that record are. */
export function startOfCounts(start: CountsStart): PerfRecord[] {
  const { events, threads, cpus, by, intervalMs, isScaled } = start;
  if (threads.length > MOST_THREADS)
    throw new CounterpointError(
      'ERR_TOO_MANY_THREADS',
      `a recording of counts has room for ${MOST_THREADS} threads, but there are ${threads.length}`,
      'Count fewer threads (-p, -t), or whole CPUs without --per-thread.',
    );
  return [
    ...events.flatMap(unitRecords),
    {
      ...BASE,
      type: PERF_RECORD_THREAD_MAP,
      entries: threads.map(({ tid, name }) => ({ pid: BigInt.asUintN(64, BigInt(tid)), comm: name })),
    },
    { ...BASE, type: PERF_RECORD_CPU_MAP, mapType: CPU_MAP_LIST, data: cpuList(cpus) },
    {
      ...BASE,
      type: PERF_RECORD_STAT_CONFIG,
      entries: [
        { tag: CONFIG_AGGREGATION, value: numberOfCountsBy(by) },
        { tag: CONFIG_INTERVAL, value: BigInt(intervalMs) },
        { tag: CONFIG_SCALE, value: isScaled ? 1n : 0n },
      ],
    },
  ];
}

/** The records of a round. */
export function roundOfCounts(
  counts: readonly MeasuredCount[],
  round: { isFinal: boolean; timeNs: bigint },
): PerfRecord[] {
  const records = counts.map(
    ({ id, cpu, thread, value, enabledNs, runningNs }): PerfRecord => ({
      ...BASE,
      type: PERF_RECORD_STAT,
      id,
      cpu: cpu >>> 0,
      thread,
      value,
      timeEnabled: enabledNs,
      timeRunning: runningNs,
    }),
  );
  const roundType = round.isFinal ? ROUND_FINAL : ROUND_INTERVAL;
  return [...records, { ...BASE, type: PERF_RECORD_STAT_ROUND, roundType, time: round.timeNs }];
}

function unitRecords({ id, unit, scale }: MeasuredEvent): PerfRecord[] {
  const records: PerfRecord[] = [];
  const update = (updateType: bigint, data: Uint8Array) =>
    records.push({ ...BASE, type: PERF_RECORD_EVENT_UPDATE, updateType, id, data });
  if (unit !== null) {
    const writer = new BodyWriter(true);
    writer.text(unit);
    update(UPDATE_UNIT, writer.take());
  }
  if (scale !== 1) {
    const data = new Uint8Array(8);
    new DataView(data.buffer).setFloat64(0, scale, true);
    update(UPDATE_SCALE, data);
  }
  return records;
}

function cpuList(cpus: readonly number[]): Uint8Array {
  const list = cpus.length === 0 ? [ANY_CPU] : cpus;
  // Type, number and numbers stand in units of 2 bytes behind a header of 8; records are multiples of 8.
  const data = new Uint8Array(Math.ceil((4 + 2 * list.length) / 8) * 8 - 2);
  const view = new DataView(data.buffer);
  view.setUint16(0, list.length, true);
  for (const [index, cpu] of list.entries()) view.setUint16(2 + 2 * index, cpu, true);
  return data;
}
