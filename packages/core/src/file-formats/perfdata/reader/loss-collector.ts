import { toBigInt } from '../../../base/index.ts';
import {
  FEATURE_FLIGHT,
  PERF_FORMAT_LOST,
  PERF_RECORD_AUX,
  PERF_RECORD_LOST,
  PERF_RECORD_LOST_SAMPLES,
  PERF_RECORD_MISC_LOST_SAMPLES_BPF,
  PERF_RECORD_MISC_LOST_SAMPLES_ENTRY,
  PERF_RECORD_MISC_LOST_SAMPLES_UNWRITTEN,
  PERF_RECORD_THROTTLE,
  PERF_RECORD_UNTHROTTLE,
} from '../../../format/abi/index.ts';
import {
  auxLosses,
  decodeLossEntry,
  type LossFacts,
  type LossKind,
  LossLedger,
} from '../../../format/loss/index.ts';
import {
  type AuxRecord,
  type BodyReader,
  decodeRecordAs,
  type LostRecord,
  type LostSamplesRecord,
  type RecordBase,
  readAux,
  readLost,
  readLostSamples,
  readThrottle,
  readUnthrottle,
  type SampleFields,
  type ThrottleRecord,
  type UnthrottleRecord,
} from '../../../format/records/index.ts';
import { CounterTimes } from './counter-times.ts';
import { CutChains } from './cut-chains.ts';
import { hasRawUserStacks, type RecordedEvent } from './event-table.ts';
import type { PerfDataReader } from './reader.ts';
import { relativeNs } from './sample-stream.ts';

const MAX_CPUS = 8192;
const MAX_TIME_NS = 0xffff_ffff_ffff_ffffn;

interface Throttled {
  event: RecordedEvent | null;
  cpu: number | null;
  tid: number | null;
  fromNs: bigint;
}

const WORD_BYTES = 8;

/** Samples of an event that are there, without all of their callers. */
interface ShortStacks {
  samples: number;
  firstNs: number;
  lastNs: number;
}

/** An event's count of lost samples, as a record at the end of a recording tells it. */
interface CountAtEnd {
  event: RecordedEvent;
  lost: bigint;
  /** 0 where the recorder (perf) gives none. */
  timeNs: bigint;
  /** What the record is if samples follow it: the kernel's own word on samples that the hardware dropped. */
  entry: LossFacts;
}

type RecordReader<R> = (reader: BodyReader, misc: number) => R;

/** Where it was lost: null where the record does not say. */
function placeOf({ sampleId }: RecordBase): { cpu: number | null; tid: number | null } {
  const { cpu, tid } = sampleId ?? {};
  return { cpu: cpu ?? null, tid: tid !== undefined && tid > 0 ? tid : null };
}

/** Place of a CPU's time: 0 where the CPU is not recorded, or is no CPU there can be. */
function slotOf(cpu: number): number {
  return cpu >= 0 && cpu < MAX_CPUS ? cpu + 1 : 0;
}

/**
 * Turns the records that speak of loss into ledger entries. Fed with every record of a scan, in order.
 *
 * Where the kernel keeps a count of lost samples (PERF_FORMAT_LOST, since Linux 6.0), recorders read it
 * at the end and write it down as LOST_SAMPLES. It counts again what the LOST records told on the way,
 * so it is no entry of its own:
 *
 *     LOST 20   LOST 17   (lost 3, and no record after them to tell)   LOST_SAMPLES 40
 *     entry 20  entry 17                                               entry 3: what the records did not tell
 */
export class LossCollector {
  readonly ledger = new LossLedger();
  readonly #reader: PerfDataReader;
  /** What LOST records tell of: a ring that overwrites is never full, but stands still while it is read. */
  readonly #kindOfLost: 'ring-full' | 'history-paused';
  readonly #lostByEvent = new Map<RecordedEvent, bigint>();
  readonly #lostSamplesByEvent = new Map<RecordedEvent, bigint>();
  /** Of entries that the recorder wrote: samples that were never in a ring. */
  readonly #writtenByEvent = new Map<RecordedEvent, bigint>();
  /** Time of the last sample per CPU (index 0: CPU not recorded), relative; a loss lies after it. */
  readonly #lastSampleNs = new Float64Array(MAX_CPUS + 1).fill(Number.NaN);
  readonly #throttled = new Map<string, Throttled>();
  #throttleWithoutTime = 0;
  readonly #countsAtEnd: CountAtEnd[] = [];
  /** Sum of what LOST records told. */
  #lostRecords = 0n;
  #newestSampleNs = -Infinity;
  readonly #cutChains: CutChains;
  readonly #rawStacks = new Map<RecordedEvent, ShortStacks>();
  readonly #times = new CounterTimes();

  constructor(reader: PerfDataReader) {
    this.#reader = reader;
    this.#cutChains = new CutChains(reader.features);
    const isHistory = reader.features.raw.has(FEATURE_FLIGHT);
    this.#kindOfLost = isHistory ? 'history-paused' : 'ring-full';
  }

  /** A sample was seen; cheap, called for each. */
  sample(cpu: number, timeNs: number): void {
    this.#lastSampleNs[slotOf(cpu)] = timeNs;
    if (timeNs > this.#newestSampleNs) this.#newestSampleNs = timeNs;
  }

  /** The parts of a sample record: what its stacks lack. Called once for each. */
  parts(view: DataView, event: RecordedEvent, fields: SampleFields, littleEndian: boolean): void {
    this.#times.sample(view, event, fields, littleEndian);
    const hasTime = event.layout.timeFromStart >= 0;
    const timeNs = hasTime ? relativeNs(fields.timeLo, fields.timeHi, this.#reader.baseTime) : Number.NaN;
    // Whoever unwinds a stack leaves its innermost word.
    if (fields.userStackDynamicSize > WORD_BYTES) this.#addRawStack(event, timeNs);
    // A chain beside a copy is short; without one, where copies are usual, only the
    // event's own limit is sure.
    const isBesideCopy =
      hasRawUserStacks(event) && (fields.userStackDynamicSize > 0 || event.attr.sampleMaxStack === 0);
    if (!isBesideCopy) this.#cutChains.sample(view, event, fields, littleEndian, timeNs);
  }

  #addRawStack(event: RecordedEvent, timeNs: number): void {
    const sum = this.#rawStacks.get(event);
    if (sum === undefined) this.#rawStacks.set(event, { samples: 1, firstNs: timeNs, lastNs: timeNs });
    else {
      sum.samples++;
      sum.lastNs = timeNs;
    }
  }

  #addShort(kind: LossKind, event: RecordedEvent, stacks: ShortStacks, exact = true): void {
    const { samples, firstNs, lastNs } = stacks;
    const [fromNs, toNs] = [firstNs, lastNs].map((ns) => (Number.isNaN(ns) ? null : this.#absoluteNs(ns)));
    this.ledger.add({ kind, event: event.name, count: samples, fromNs: fromNs!, toNs: toNs!, exact });
  }

  /** Any other record; those that do not speak of loss are ignored. */
  record(view: DataView, start: number, end: number, type: number): void {
    const { events, littleEndian } = this.#reader;
    const eventOf = () => events.eventOf(view, start, end, type, littleEndian);
    const decode = <R extends RecordBase>(read: RecordReader<R>, event: RecordedEvent | null): R =>
      decodeRecordAs(read, view, start, end - start, event?.layout ?? null, littleEndian);
    switch (type) {
      case PERF_RECORD_LOST: {
        const event = eventOf();
        this.#lost(decode(readLost, event), event);
        break;
      }
      case PERF_RECORD_LOST_SAMPLES: {
        const event = eventOf();
        this.#lostSamples(decode(readLostSamples, event), event);
        break;
      }
      case PERF_RECORD_AUX: {
        const event = eventOf();
        this.#aux(decode(readAux, event), event);
        break;
      }
      case PERF_RECORD_THROTTLE:
        this.#beginThrottle(decode(readThrottle, eventOf()));
        break;
      case PERF_RECORD_UNTHROTTLE:
        this.#endThrottle(decode(readUnthrottle, eventOf()));
    }
  }

  #lost(record: LostRecord, event: RecordedEvent | null): void {
    const { id, lost, sampleId } = record;
    const owner = this.#reader.events.findId(Number(id)) ?? event;
    this.#addLost(this.#lostByEvent, owner, lost);
    this.#lostRecords += lost;
    this.ledger.add({
      kind: this.#kindOfLost,
      event: owner?.name ?? null,
      ...placeOf(record),
      ...this.#rangeUpTo(sampleId?.cpu, sampleId?.time),
      count: lost,
    });
  }

  #lostSamples(record: LostSamplesRecord, event: RecordedEvent | null): void {
    const { misc, lost, sampleId } = record;
    // What a filter of the user's own let fall was not lost.
    if ((misc & PERF_RECORD_MISC_LOST_SAMPLES_BPF) !== 0) return;
    if ((misc & PERF_RECORD_MISC_LOST_SAMPLES_ENTRY) !== 0) {
      this.#writtenEntry(record, event);
      return;
    }
    if ((misc & PERF_RECORD_MISC_LOST_SAMPLES_UNWRITTEN) !== 0) {
      // One count for all events, in the name of the first.
      this.ledger.add({
        kind: 'recorder-stopped',
        event: this.#reader.events.events.length === 1 ? (event?.name ?? null) : null,
        fromNs: sampleId?.time ?? null,
        count: lost,
      });
      return;
    }
    this.#addLost(this.#lostSamplesByEvent, event, lost);
    const entry = {
      kind: 'lost-samples',
      event: event?.name ?? null,
      ...placeOf(record),
      ...this.#rangeUpTo(sampleId?.cpu, sampleId?.time),
      count: lost,
    } as const;
    if (event === null || (event.layout.readFormat & PERF_FORMAT_LOST) === 0) this.ledger.add(entry);
    else this.#countsAtEnd.push({ event, lost, timeNs: sampleId?.time ?? 0n, entry });
  }

  /**
   * An entry that the recorder wrote as it is. One that is not understood is not passed over:
   * then the count is all there is.
   */
  #writtenEntry({ lost, tail }: LostSamplesRecord, event: RecordedEvent | null): void {
    const entry = decodeLossEntry(tail);
    this.ledger.add(entry ?? { kind: 'lost-samples', event: event?.name ?? null, count: lost, exact: false });
    if (entry === null || entry.event === event?.name) this.#addLost(this.#writtenByEvent, event, lost);
  }

  #addLost(sums: Map<RecordedEvent, bigint>, event: RecordedEvent | null, lost: bigint): void {
    if (event !== null) sums.set(event, (sums.get(event) ?? 0n) + lost);
  }

  /** From the last sample of that CPU up to the record that tells of the loss. */
  #rangeUpTo(
    cpu: number | undefined,
    time: bigint | undefined,
  ): { fromNs: bigint | null; toNs: bigint | null } {
    const last = this.#lastSampleNs[slotOf(cpu ?? -1)]!;
    const known = time !== undefined && time !== 0n;
    return { fromNs: Number.isNaN(last) ? null : this.#absoluteNs(last), toNs: known ? time : null };
  }

  #absoluteNs(relative: number): bigint {
    const { lo, hi } = this.#reader.baseTime;
    // Rounded where times are far apart: never beyond what a clock can say.
    const absolute = toBigInt(lo, hi) + BigInt(Math.round(relative));
    return absolute < 0n ? 0n : absolute > MAX_TIME_NS ? MAX_TIME_NS : absolute;
  }

  #aux(record: AuxRecord, event: RecordedEvent | null): void {
    const common = {
      event: event?.name ?? null,
      ...placeOf(record),
      fromNs: null,
      toNs: record.sampleId?.time ?? null,
      count: 1,
    };
    for (const kind of auxLosses(record.flags)) this.ledger.add({ kind, ...common });
  }

  /** The stream id is that of the one throttled event instance. */
  #beginThrottle(record: ThrottleRecord): void {
    this.#throttled.set(record.streamId.toString(), {
      event: this.#reader.events.findId(Number(record.id)),
      ...placeOf(record),
      fromNs: record.time,
    });
  }

  #endThrottle({ streamId, time }: UnthrottleRecord): void {
    const key = streamId.toString();
    const began = this.#throttled.get(key);
    if (began === undefined) {
      this.#throttleWithoutTime++;
      return;
    }
    this.#throttled.delete(key);
    this.#addThrottled(began, time);
  }

  #addThrottled(began: Throttled, toNs: bigint | null): void {
    const known = toNs !== null && toNs > began.fromNs;
    this.ledger.add({
      kind: 'throttled',
      event: began.event?.name ?? null,
      cpu: began.cpu,
      tid: began.tid,
      fromNs: began.fromNs,
      toNs,
      count: known ? toNs - began.fromNs : 0n,
      exact: known,
    });
  }

  /**
   * Samples lost of an event: what the kernel counted for it, else what its ring
   * reported; and what its format lost.
   */
  lostOf(event: RecordedEvent): bigint {
    const inRings = this.#lostSamplesByEvent.get(event) ?? this.#lostByEvent.get(event) ?? 0n;
    return inRings + (this.#writtenByEvent.get(event) ?? 0n);
  }

  /** Losses that only the events' own counts tell of, since no LOST record came after them. */
  #addUntold(): void {
    const newestNs = this.#newestSampleNs === -Infinity ? 0n : this.#absoluteNs(this.#newestSampleNs);
    const events = new Set<RecordedEvent>();
    let counted = 0n;
    for (const { event, lost, timeNs, entry } of this.#countsAtEnd) {
      if (timeNs !== 0n && timeNs < newestNs) this.ledger.add(entry);
      else {
        counted += lost;
        events.add(event);
      }
    }
    this.#countsAtEnd.length = 0;
    this.ledger.addUntold(
      this.#lostRecords,
      counted,
      [...events].map(({ name }) => name),
    );
  }

  /** The scan is over: what never ended, and what the file itself lacks. */
  finish(): void {
    this.#addUntold();
    for (const cut of this.#cutChains.list()) this.#addShort('call-chain-cut', cut.event, cut, cut.exact);
    for (const [event, stacks] of this.#rawStacks) this.#addShort('user-stack-not-unwound', event, stacks);
    this.#rawStacks.clear();
    for (const { event, idleNs } of this.#times.list())
      this.ledger.add({ kind: 'multiplexed', event: event.name, count: idleNs, exact: false });
    for (const began of this.#throttled.values()) this.#addThrottled(began, null);
    this.#throttled.clear();
    if (this.#throttleWithoutTime > 0) {
      this.ledger.add({ kind: 'throttled', count: 0n, exact: false });
    }
    for (const { cpu } of this.#reader.missingRings) this.ledger.add({ kind: 'file-missing', cpu, count: 1 });
    const atEnd = lossAtEnd(this.#reader);
    if (atEnd !== null) this.ledger.add(atEnd);
  }
}

/** What a recording that was scanned lacks at its end; null where it has one. */
export function lossAtEnd(reader: PerfDataReader): LossFacts | null {
  const { isUnfinished, isCut, cutBytes, missingBytes } = reader;
  if (!isUnfinished && !isCut && missingBytes === 0) return null;
  // A damaged header can say anything: what does not fit a number of bytes is not told.
  const isKnown = missingBytes > 0 && Number.isSafeInteger(cutBytes + missingBytes);
  return { kind: 'file-truncated', count: isKnown ? cutBytes + missingBytes : cutBytes, exact: isKnown };
}
