import { type CancelSignal, textUpToNul } from '../../base/index.ts';
import {
  PERF_RECORD_EVENT_UPDATE,
  PERF_RECORD_STAT,
  PERF_RECORD_STAT_CONFIG,
  PERF_RECORD_STAT_ROUND,
  PERF_RECORD_THREAD_MAP,
} from '../../format/abi/index.ts';
import {
  decodeRecord,
  type EventUpdateRecord,
  type StatConfigRecord,
  type StatRecord,
  type StatRoundRecord,
  type ThreadMapRecord,
} from '../../format/records/index.ts';
import type { PerfDataReader, RecordSink } from '../perfdata/index.ts';
import { countsByOf } from './aggregation.ts';
import {
  CONFIG_AGGREGATION,
  CONFIG_INTERVAL,
  CONFIG_SCALE,
  ROUND_FINAL,
  STAT_SIZE_BYTES,
  UPDATE_SCALE,
  UPDATE_UNIT,
} from './format.ts';
import type {
  CountsEvent,
  CountsRound,
  CountsThread,
  RecordedCount,
  RecordedCounts,
} from './recorded-counts.ts';

const KINDS: ReadonlySet<number> = new Set([
  PERF_RECORD_THREAD_MAP,
  PERF_RECORD_STAT_CONFIG,
  PERF_RECORD_STAT,
  PERF_RECORD_STAT_ROUND,
  PERF_RECORD_EVENT_UPDATE,
]);

/** Who counted where no map of threads comes before the first count: one, without a name. */
const NO_THREADS: readonly CountsThread[] = [{ tid: -1, name: '' }];

/**
 * All counts of a recording, by a scan of `reader`, which is then used up. Null where it has none: a
 * recording of samples. Damage is counted in `reader.damage`.
 */
export async function readCounts(
  reader: PerfDataReader,
  options: { signal?: CancelSignal } = {},
): Promise<RecordedCounts | null> {
  const sink = new CountsSink(reader);
  await reader.scan(sink, { ...options, unordered: true });
  return sink.finish();
}

class CountsSink implements RecordSink {
  readonly #reader: PerfDataReader;
  readonly #units = new Map<bigint, string>();
  readonly #scales = new Map<bigint, number>();
  readonly #rounds: CountsRound[] = [];
  #threads: readonly CountsThread[] | null = null;
  #config: StatConfigRecord | null = null;
  #counts: RecordedCount[] = [];
  #lastOffset = 0;

  constructor(reader: PerfDataReader) {
    this.#reader = reader;
  }

  record(view: DataView, start: number, end: number, type: number, fileOffset: number): void {
    if (!KINDS.has(type)) return;
    const record = decodeRecord(view, start, end - start, null, this.#reader.littleEndian);
    switch (record.type) {
      case PERF_RECORD_THREAD_MAP:
        this.#threadMap(record as ThreadMapRecord);
        break;
      case PERF_RECORD_STAT_CONFIG:
        this.#config ??= record as StatConfigRecord;
        break;
      case PERF_RECORD_EVENT_UPDATE:
        this.#update(record as EventUpdateRecord);
        break;
      case PERF_RECORD_STAT_ROUND:
        this.#round(record as StatRoundRecord);
        break;
      case PERF_RECORD_STAT:
        this.#lastOffset = fileOffset;
        if (end - start < STAT_SIZE_BYTES) this.#reader.damage.add('short-count', fileOffset);
        else this.#stat(record as StatRecord, fileOffset);
    }
  }

  /** As perf, the first one counts; one after the first count is too late for the count's check. */
  #threadMap({ entries }: ThreadMapRecord): void {
    this.#threads ??= entries.map(({ pid, comm }) => ({ tid: Number(BigInt.asIntN(32, pid)), name: comm }));
  }

  #update({ updateType, id, data }: EventUpdateRecord): void {
    if (updateType === UPDATE_UNIT) {
      this.#units.set(id, textUpToNul(data));
    } else if (updateType === UPDATE_SCALE && data.length >= 8) {
      const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
      const scale = view.getFloat64(0, this.#reader.littleEndian);
      if (Number.isFinite(scale) && scale !== 0) this.#scales.set(id, scale);
    }
  }

  #stat(record: StatRecord, fileOffset: number): void {
    const { damage, events } = this.#reader;
    const event = events.findId(Number(record.id));
    if (event === null) {
      damage.add('unknown-event-id', fileOffset);
      return;
    }
    this.#threads ??= NO_THREADS;
    if (record.thread >= this.#threads.length) {
      damage.add('unknown-thread', fileOffset);
      return;
    }
    this.#counts.push({
      event: event.index,
      cpu: record.cpu | 0,
      thread: record.thread,
      value: record.value,
      enabledNs: record.timeEnabled,
      runningNs: record.timeRunning,
    });
  }

  #round({ roundType, time }: StatRoundRecord): void {
    this.#rounds.push({ isFinal: roundType === ROUND_FINAL, timeNs: time, counts: this.#counts });
    this.#counts = [];
  }

  finish(): RecordedCounts | null {
    if (this.#config === null && this.#rounds.length === 0 && this.#counts.length === 0) return null;
    const { events, features } = this.#reader;
    const terms = new Map(this.#config?.entries.map(({ tag, value }) => [tag, value]));
    const intervalMs = Number(BigInt.asUintN(32, terms.get(CONFIG_INTERVAL) ?? 0n));
    // It was cut short: what belongs to no round has no time. With intervals perf reads once more at
    // the end, without a round.
    const isWholeRead = intervalMs > 0 && this.#counts.length === this.#rounds.at(-1)?.counts.length;
    if (this.#counts.length > 0 && !isWholeRead) this.#reader.damage.add('no-round', this.#lastOffset);
    return {
      by: countsByOf(terms.get(CONFIG_AGGREGATION) ?? 1n, features.version),
      intervalMs,
      isScaled: terms.get(CONFIG_SCALE) !== 0n,
      events: events.events.map(({ attr, name, ids }): CountsEvent => {
        const updated = ids.map(BigInt);
        return {
          name,
          attr,
          isOpen: ids.length > 0,
          unit: updated.map((id) => this.#units.get(id)).find((unit) => unit !== undefined) ?? null,
          scale: updated.map((id) => this.#scales.get(id)).find((scale) => scale !== undefined) ?? 1,
        };
      }),
      threads: [...(this.#threads ?? NO_THREADS)],
      rounds: this.#rounds,
    };
  }
}
