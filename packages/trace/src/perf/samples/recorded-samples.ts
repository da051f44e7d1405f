/**
 * Call chains and last branches of the trace for samples that were recorded without (`G`, `L`). The event's
 * layout gets a place for them, and each of its samples is written anew:
 *
 *   recorded   | ip | tid | time | ...               |
 *   given on   | ip | tid | time | chain | branches | ... |
 *
 * Where a sample is, its own address says; the trace has gone on since, to where the kernel wrote it down,
 * and that is left out (perf's thread_stack__sample_late and thread_stack__br_sample_late).
 */
import { PERF_SAMPLE_BRANCH_STACK, PERF_SAMPLE_CALLCHAIN } from '@counterpoint/core/abi';
import { hiOf, loOf, toBigInt } from '@counterpoint/core/base';
import type { EventTable, RecordedEvent } from '@counterpoint/core/perfdata';
import {
  BodyWriter,
  decodeSample,
  encodeSample,
  makeAttr,
  type Sample,
  SampleLayout,
} from '@counterpoint/core/records';
import { walkLateChain } from './call-chain.ts';
import type { ItraceOptions } from './itrace-options.ts';
import type { TracedThread } from './traced-threads.ts';

const MOST_RECORD_BYTES = 0xffff;

export class RecordedSamples {
  readonly #options: ItraceOptions;
  /** As their samples stand in the file. */
  readonly #layouts = new Map<RecordedEvent, SampleLayout>();
  readonly #writer: BodyWriter;

  constructor(options: ItraceOptions, littleEndian: boolean) {
    this.#options = options;
    this.#writer = new BodyWriter(littleEndian);
  }

  /** Make room in the layouts of the events that are known by now. */
  addEvents({ events }: EventTable): void {
    const { recordedCallChain, recordedLastBranches } = this.#options;
    const wanted =
      (recordedCallChain > 0 ? PERF_SAMPLE_CALLCHAIN : 0) |
      (recordedLastBranches > 0 ? PERF_SAMPLE_BRANCH_STACK : 0);
    for (const event of events) {
      if (this.#layouts.has(event)) continue;
      const missing = wanted & ~event.layout.sampleType;
      if (missing === 0) continue;
      this.#layouts.set(event, event.layout);
      event.attr = makeAttr({ ...event.attr, sampleType: event.attr.sampleType | BigInt(missing) });
      event.layout = new SampleLayout(event.attr);
    }
  }

  has(event: RecordedEvent): boolean {
    return this.#layouts.has(event);
  }

  /** A sample with what it lacked, as a record of its own (borrowed until the next). */
  rewrite(
    view: DataView,
    start: number,
    end: number,
    event: RecordedEvent,
    threadOf: (sample: Sample) => TracedThread,
  ): Uint8Array<ArrayBuffer> {
    const writer = this.#writer;
    const options = this.#options;
    const le = writer.littleEndian;
    const layout = this.#layouts.get(event)!;
    const type = view.getUint32(start, le);
    const misc = view.getUint16(start + 4, le);
    const sample = decodeSample(view, start, end, layout, le);
    writer.length = 0;
    writer.beginRecord(type, misc);
    if (sample !== null) {
      const missing = event.layout.sampleType & ~layout.sampleType;
      const thread = threadOf(sample);
      const ip = sample.ip ?? 0n;
      if ((missing & PERF_SAMPLE_CALLCHAIN) !== 0)
        sample.callchain = lateChain(thread, ip, options.recordedCallChain);
      if ((missing & PERF_SAMPLE_BRANCH_STACK) !== 0)
        sample.branches =
          thread.branches?.lateEntries(loOf(ip), hiOf(ip), options.recordedLastBranches) ?? [];
      encodeSample(writer, sample, event.layout);
      if (writer.length > MOST_RECORD_BYTES) {
        // The trace that a sample carries is decoded by now; without it there is room.
        writer.length = 0;
        writer.beginRecord(type, misc);
        encodeSample(writer, { ...sample, aux: new Uint8Array() }, event.layout);
      }
      // One that is too long even so, or was too short, is a header only: who reads it counts it as damaged.
      if (writer.length > MOST_RECORD_BYTES) {
        writer.length = 0;
        writer.beginRecord(type, misc);
      }
    }
    writer.endRecord();
    return writer.view8();
  }
}

function lateChain({ calls }: TracedThread, ip: bigint, frames: number): bigint[] {
  const chain: bigint[] = [];
  const put = (lo: number, hi: number): unknown => chain.push(toBigInt(lo >>> 0, hi >>> 0));
  walkLateChain(calls, loOf(ip) | 0, hiOf(ip) | 0, frames + 1, put);
  return chain;
}
