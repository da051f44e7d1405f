import { type Damage, TWO_32, toDecimal } from '../../base/index.ts';
import {
  checkRecordSource,
  checkScanOptions,
  LossCollector,
  type RecordSource,
  relativeNs,
  SampleStream,
  type ScanOptions,
} from '../../file-formats/perfdata/index.ts';
import {
  PERF_RECORD_SAMPLE,
  PERF_SAMPLE_CPU,
  PERF_SAMPLE_TIME,
  recordTypeName,
} from '../../format/abi/index.ts';
import type { LossEntry } from '../../format/loss/index.ts';

/** What is in a recording. */
export interface StatsAnswer {
  /** Tells this answer from others. */
  type: 'stats';
  /** Version of the form of this answer. */
  version: 1;
  /** Samples as `perf script` prints them (one per counter that moved, for samples that carry counters). */
  samples: number;
  /** Sum of the periods of all samples, decimal. */
  sumPeriod: string;
  /** Each event with its samples. */
  events: StatsEvent[];
  /** Records by type name. */
  records: Record<string, number>;
  /** Distinct threads that have samples. */
  threads: number;
  /** Time of the first sample, decimal nanoseconds; null without samples that have a time. */
  firstTimeNs: string | null;
  /** Time of the last sample, decimal nanoseconds; null without samples that have a time. */
  lastTimeNs: string | null;
  /** What the recording does not contain. */
  loss: LossEntry[];
  /** What was wrong in the recording. */
  damage: Damage[];
}

/** One event of `StatsAnswer`. */
export interface StatsEvent {
  /** The name of the event. */
  name: string;
  /** How many samples it has. */
  samples: number;
  /** Sum of their periods, decimal. */
  sumPeriod: string;
  /**
   * What the kernel counted as lost for this event: its samples, and where it also tells of mappings, forks
   * and exits, those records too. The kernel keeps one count for all of them. Decimal.
   */
  lost: string;
}

/** Distinct thread ids that are kept; a file that names more is counted up to here. */
const MAX_TIDS = 8_000_000;

/** Read a recording once, counting. Memory does not depend on its length. */
export async function collectStats(source: RecordSource, options: ScanOptions = {}): Promise<StatsAnswer> {
  checkRecordSource('collectStats()', source);
  checkScanOptions('collectStats()', options);
  const { reader } = source;
  const losses = new LossCollector(reader);
  const sums: { samples: number; period: bigint; lo: number; hi: number }[] = [];
  const tids = new Set<number>();
  let lastTid = Number.NaN;
  const times = new TimeRange();
  const samples = new SampleStream(
    reader.events,
    reader.damage,
    reader.littleEndian,
    (event, fields, lo, hi) => {
      const sum = (sums[event.index] ??= { samples: 0, period: 0n, lo: 0, hi: 0 });
      sum.samples++;
      sum.lo += lo;
      sum.hi += hi;
      if (sum.lo > 2 ** 52) {
        sum.period += BigInt(sum.lo) + BigInt(sum.hi) * BigInt(TWO_32);
        sum.lo = 0;
        sum.hi = 0;
      }
      if (fields.tid !== lastTid && tids.size < MAX_TIDS) {
        lastTid = fields.tid;
        tids.add(fields.tid);
      }
      const bits = event.layout.sampleType;
      const hasTime = (bits & PERF_SAMPLE_TIME) !== 0;
      if (hasTime) times.add(fields.timeLo, fields.timeHi);
      const time = hasTime ? relativeNs(fields.timeLo, fields.timeHi, reader.baseTime) : Number.NaN;
      losses.sample((bits & PERF_SAMPLE_CPU) !== 0 ? fields.cpu : -1, time);
    },
    (view, event, fields, le) => losses.parts(view, event, fields, le),
  );
  const added = await source.scan(
    {
      record(view, start, end, type, fileOffset) {
        if (type === PERF_RECORD_SAMPLE) samples.sample(view, start, end, type, fileOffset);
        else losses.record(view, start, end, type);
      },
    },
    options,
  );
  losses.finish();
  for (const loss of added?.losses ?? []) losses.ledger.add(loss);

  const events = reader.events.events.map((event) => {
    const sum = sums[event.index];
    const period = sum === undefined ? 0n : sum.period + BigInt(sum.lo) + BigInt(sum.hi) * BigInt(TWO_32);
    return {
      name: event.name,
      samples: sum?.samples ?? 0,
      sumPeriod: period,
      lost: losses.lostOf(event).toString(),
    };
  });
  return {
    type: 'stats',
    version: 1,
    samples: events.reduce((sum, event) => sum + event.samples, 0),
    sumPeriod: events.reduce((sum, event) => sum + event.sumPeriod, 0n).toString(),
    events: events.map((event) => ({ ...event, sumPeriod: event.sumPeriod.toString() })),
    records: Object.fromEntries(
      [...reader.recordCounts]
        .sort(([a], [b]) => a - b)
        .map(([type, count]) => [recordTypeName(type), count]),
    ),
    threads: tids.size,
    firstTimeNs: times.first,
    lastTimeNs: times.last,
    loss: losses.ledger.list(),
    damage: reader.damage.list(),
  };
}

/** The first and the last of some times, exact in all of their 64 bits. */
class TimeRange {
  #isEmpty = true;
  #firstLo = 0;
  #firstHi = 0;
  #lastLo = 0;
  #lastHi = 0;

  add(lo: number, hi: number): void {
    if (this.#isEmpty || hi < this.#firstHi || (hi === this.#firstHi && lo < this.#firstLo)) {
      this.#firstLo = lo;
      this.#firstHi = hi;
    }
    if (this.#isEmpty || hi > this.#lastHi || (hi === this.#lastHi && lo > this.#lastLo)) {
      this.#lastLo = lo;
      this.#lastHi = hi;
    }
    this.#isEmpty = false;
  }

  get first(): string | null {
    return this.#isEmpty ? null : toDecimal(this.#firstLo, this.#firstHi);
  }

  get last(): string | null {
    return this.#isEmpty ? null : toDecimal(this.#lastLo, this.#lastHi);
  }
}
