import assert from 'node:assert/strict';
import { PERF_RECORD_SAMPLE } from '@counterpoint/core/abi';
import type { SampleRecord } from '@counterpoint/core/records';
import { openRecording } from '../host/open/index.ts';

/** The samples of a file, in the order of the file. */
export async function samplesOf(path: string): Promise<SampleRecord[]> {
  await using recording = await openRecording(path);
  const found: SampleRecord[] = [];
  for await (const { record } of recording.records())
    if (record.type === PERF_RECORD_SAMPLE) found.push(record as SampleRecord);
  return found;
}

/**
 * All but the time, and what the tracepoint says of the moment: common_flags has whether another task is due.
 */
export function factsOf({ sample }: SampleRecord): string {
  const raw = Buffer.from(sample.raw ?? []);
  if (raw.length > 2) raw[2] = 0;
  const chain = (sample.callchain ?? []).map((address) => address.toString(16)).join(' ');
  return `${sample.ip} ${sample.tid} ${sample.period} ${raw.toString('hex')} ${chain}`;
}

export const timeOf = ({ sample }: SampleRecord) => sample.time!;
export const byTime = (one: SampleRecord, other: SampleRecord) => Number(timeOf(one) - timeOf(other));

/**
 * Both have the same hits: each has the same facts, and the times of both take turns, because the kernel
 * makes the records of one hit one after the other.
 */
export function assertSameHits(all: readonly SampleRecord[], held: readonly SampleRecord[]): void {
  const end = all.slice(-held.length);
  assert.deepEqual(held.map(factsOf), end.map(factsOf));
  const isFirst = timeOf(held[0]!) < timeOf(end[0]!);
  const [before, after] = isFirst ? [held, end] : [end, held];
  const untimely = before.findIndex((one, at) => {
    const next = before[at + 1];
    return timeOf(one) > timeOf(after[at]!) || (next !== undefined && timeOf(after[at]!) > timeOf(next));
  });
  assert.equal(untimely, -1, `hit ${untimely} of ${held.length} is another one`);
}
