/** The last records of a recording: what is missing from it, as far as only the recorder knows. */
import { PERF_RECORD_LOST_SAMPLES, PERF_RECORD_MISC_LOST_SAMPLES_UNWRITTEN } from '@counterpoint/core/abi';
import { lossEntryRecord } from '@counterpoint/core/perfdata';
import { BodyWriter, encodeRecord, SampleLayout } from '@counterpoint/core/records';
import type { EventTotals, SampledEvent } from '../../kernel/perf-events/index.ts';
import type { FormatLosses } from './format-recording.ts';

export interface Unrecorded {
  /** The kernel's own counts of lost samples: as records, as perf writes them. */
  readonly lost: readonly EventTotals[];
  /** What sampling formats lost. */
  readonly formatLosses: readonly FormatLosses[];
  /** Samples that the output did not take. */
  readonly unwritten: number;
}

export function closingRecords(
  events: readonly SampledEvent[],
  { lost, formatLosses, unwritten }: Unrecorded,
  time: bigint,
): Uint8Array<ArrayBuffer> {
  const writer = new BodyWriter();
  const base = { type: PERF_RECORD_LOST_SAMPLES, misc: 0, tail: new Uint8Array(0) } as const;
  for (const { event, byInstance } of lost) {
    const layout = new SampleLayout(event.attr);
    for (const { instance, lostSamples } of byInstance) {
      if (lostSamples === 0n) continue;
      const { id, cpu, task } = instance;
      const sampleId = { id, cpu, pid: task, tid: task, time };
      encodeRecord(writer, { ...base, lost: lostSamples, sampleId }, layout);
    }
  }
  const [first] = events as [SampledEvent];
  /** In the name of an event's instance on that CPU, or of its first. */
  const place = ({ attr, instances }: SampledEvent, onCpu: number | null) => {
    const { id, cpu } = instances.find((one) => one.cpu === onCpu) ?? instances[0]!;
    return { layout: new SampleLayout(attr), sampleId: { id, cpu, pid: -1, tid: -1, time } };
  };
  for (const { events: own, entries } of formatLosses)
    for (const entry of entries) {
      const event = own.find(({ name }) => name === entry.event) ?? own[0] ?? first;
      const { layout, sampleId } = place(event, entry.cpu);
      encodeRecord(writer, lossEntryRecord(entry, sampleId), layout);
    }
  if (unwritten > 0) {
    const { layout, sampleId } = place(first, null);
    const misc = PERF_RECORD_MISC_LOST_SAMPLES_UNWRITTEN;
    encodeRecord(writer, { ...base, misc, lost: BigInt(unwritten), sampleId }, layout);
  }
  return writer.take();
}
