import { floatAt, TWO_32 } from '../../../base/index.ts';
import {
  PERF_FORMAT_TOTAL_TIME_ENABLED,
  PERF_FORMAT_TOTAL_TIME_RUNNING,
  PERF_SAMPLE_READ,
} from '../../../format/abi/index.ts';
import type { SampleFields } from '../../../format/records/index.ts';
import type { RecordedEvent } from './event-table.ts';

const BOTH_TIMES = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
/** Instances of events, one per CPU or thread, that are followed. */
const MAX_INSTANCES = 1 << 16;

/**
 * How long counters that samples read had been wanted, and how long they counted, at the last sample of each.
 */
export class CounterTimes {
  readonly #idleNs = new Map<RecordedEvent, Map<string, number>>();
  #instances = 0;

  sample(view: DataView, event: RecordedEvent, fields: SampleFields, littleEndian: boolean): void {
    const { sampleType, readFormat } = event.layout;
    if ((sampleType & PERF_SAMPLE_READ) === 0 || (readFormat & BOTH_TIMES) !== BOTH_TIMES) return;
    // After the value, or after the number of values of a group.
    const enabled = floatAt(view, fields.readOffset + 8, littleEndian);
    const running = floatAt(view, fields.readOffset + 16, littleEndian);
    if (enabled > Number.MAX_SAFE_INTEGER || running > enabled) return;
    let ofEvent = this.#idleNs.get(event);
    if (ofEvent === undefined) this.#idleNs.set(event, (ofEvent = new Map()));
    // Inherited counters that are read count per thread.
    const tid = event.attr.flags.inherit !== 0 ? fields.tid : 0;
    const key = `${fields.idHi * TWO_32 + fields.idLo} ${tid}`;
    if (!ofEvent.has(key) && ++this.#instances > MAX_INSTANCES) return;
    ofEvent.set(key, enabled - running);
  }

  /** Nanoseconds without a counter, of events that had any. */
  *list(): Generator<{ event: RecordedEvent; idleNs: number }> {
    for (const [event, instances] of this.#idleNs) {
      let idleNs = 0;
      for (const ns of instances.values()) idleNs += ns;
      if (idleNs > 0) yield { event, idleNs };
    }
  }
}
