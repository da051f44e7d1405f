import type { StoppedHistory } from '@counterpoint/core/ring';

/** One record, wherever it came from. */
export interface TimedRecord {
  timeNs: number;
  bytes: Uint8Array<ArrayBuffer>;
}

/** Records in order of time, in the form in which histories are merged. */
export function stoppedRecords(sorted: readonly TimedRecord[]): StoppedHistory {
  const count = sorted.length;
  const sizeBytes = sorted.reduce((sum, { bytes }) => sum + bytes.length, 0);
  const data = new Uint8Array(2 ** Math.ceil(Math.log2(Math.max(8, sizeBytes))));
  const offsets = new Uint32Array(count);
  const times = new Float64Array(count);
  let at = 0;
  sorted.forEach(({ timeNs, bytes }, index) => {
    data.set(bytes, at);
    // The newest come first there.
    offsets[count - 1 - index] = at;
    times[count - 1 - index] = timeNs;
    at += bytes.length;
  });
  return {
    memory: { data, writtenBytes: () => at },
    records: { count, sizeBytes, offsets, times, reachesBack: true },
  };
}
