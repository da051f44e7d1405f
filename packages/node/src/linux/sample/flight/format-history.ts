import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { CounterpointError } from '@counterpoint/core/base';
import type { LossEntry, LossLedger } from '@counterpoint/core/loss';
import { SampleLayout } from '@counterpoint/core/records';
import type { StoppedHistory } from '@counterpoint/core/ring';
import type { SampledEvent, SampledEvents } from '../../kernel/perf-events/index.ts';
import type { SamplingFormat } from '../formats/index.ts';
import type { FormatRecording } from '../record/index.ts';
import { stoppedRecords, type TimedRecord } from './stopped-records.ts';

/** What formats gave at one time, compressed. */
interface Slice {
  /** When it was given: none of its samples is later. */
  toNs: number;
  packed: Uint8Array;
  sizeBytes: number;
}

/** A loss that was found between two looks. */
interface FoundLoss {
  fromNs: number;
  toNs: number;
  entry: LossEntry;
}

export interface FormatHistoryParts {
  sampled: SampledEvents;
  formats: FormatRecording;
  /** Those that formats have handlers at. */
  events: readonly SampledEvent[];
  nowNs: () => number;
  /** For all slices; the oldest go first. */
  memoryBytes: number;
}

/**
 * What sampling formats counted in the kernel, kept by slices of the interval at which they are emptied:
 *
 *   kernel: counts ──each second──> [ slice ][ slice ][ slice ]      compressed; those before the history are forgotten
 *      └──────────────a file is asked for: what is not a slice yet──────┘
 */
export class FormatHistory implements Disposable {
  readonly #parts: FormatHistoryParts;
  readonly #timeFromStart: number;
  #slices: Slice[] = [];
  #losses: FoundLoss[] = [];
  /** What each kind of loss had come to at the last look. */
  readonly #counted = new Map<string, bigint>();
  #lookedNs: number;
  /** The newest sample that had to go for the memory. */
  #droppedToNs: number | null = null;

  constructor(parts: FormatHistoryParts) {
    this.#parts = parts;
    this.#timeFromStart = new SampleLayout(parts.sampled.events[0]!.attr).timeFromStart!;
    this.#lookedNs = parts.nowNs();
  }

  /** Compressed. */
  get sizeBytes(): number {
    return this.#slices.reduce((sum, { packed }) => sum + packed.length, 0);
  }

  /** Where the oldest slices had to go: the history of formats begins here. */
  get droppedToNs(): number | null {
    return this.#droppedToNs;
  }

  /** Before the events count. `onError`: a format failed; it gives nothing any more. */
  start(onError: (error: unknown) => void): void {
    this.#parts.formats.start((bytes) => this.#add(bytes), onError);
  }

  /** The events count. */
  begin(): void {
    this.#parts.formats.begin();
  }

  #add(bytes: Uint8Array<ArrayBuffer>): void {
    const packed = deflateRawSync(bytes);
    this.#slices.push({ toNs: this.#parts.nowNs(), packed, sizeBytes: bytes.length });
    let held = this.sizeBytes;
    while (held > this.#parts.memoryBytes && this.#slices.length > 1) {
      const dropped = this.#slices.shift()!;
      held -= dropped.packed.length;
      this.#droppedToNs = dropped.toNs;
    }
  }

  /** What was counted before this is not wanted any more. */
  forget(beforeNs: number): void {
    const kept = this.#slices.findIndex(({ toNs }) => toNs >= beforeNs);
    this.#slices.splice(0, kept < 0 ? this.#slices.length : kept);
    this.#losses = this.#losses.filter(({ toNs }) => toNs >= beforeNs);
  }

  /**
   * Take what is still in the kernel. Meanwhile the events of formats stand still: for so many milliseconds.
   */
  async drain(): Promise<number> {
    const { sampled, formats, events } = this.#parts;
    const began = performance.now();
    await sampled.paused(events, async () => {
      await formats.drain();
      this.#lookForLosses();
    });
    return performance.now() - began;
  }

  #lookForLosses(): void {
    const nowNs = this.#parts.nowNs();
    for (const { entries } of this.#parts.formats.finish().losses)
      for (const entry of entries) {
        const key = `${entry.kind} ${entry.event} ${entry.cpu} ${entry.tid}`;
        const count = BigInt(entry.count) - (this.#counted.get(key) ?? 0n);
        this.#counted.set(key, BigInt(entry.count));
        if (count <= 0n) continue;
        const found = { ...entry, count: String(count) };
        this.#losses.push({ fromNs: this.#lookedNs, toNs: nowNs, entry: found });
      }
    this.#lookedNs = nowNs;
  }

  /** Losses of the history from `fromNs` on. */
  addLossesTo(ledger: LossLedger, fromNs: number, startedNs: number): void {
    const dropped = this.#droppedToNs;
    const beginNs = Math.max(fromNs, startedNs);
    const rounded = (ns: number) => String(Math.round(ns));
    ledger.addEntries(
      this.#losses.map(({ entry, ...times }) => ({
        ...entry,
        fromNs: rounded(times.fromNs),
        toNs: rounded(times.toNs),
      })),
    );
    if (dropped === null || dropped <= beginNs) return;
    ledger.add({
      kind: 'history-overwritten',
      fromNs: BigInt(rounded(beginNs)),
      toNs: BigInt(rounded(dropped)),
      count: BigInt(rounded(dropped - beginNs)),
    });
  }

  /** All samples from `fromNs` on, in order of time. */
  samplesSince(fromNs: number): StoppedHistory {
    const samples: TimedRecord[] = [];
    for (const { packed, sizeBytes } of this.#slices) {
      const bytes = new Uint8Array(sizeBytes);
      bytes.set(inflateRawSync(packed));
      const view = new DataView(bytes.buffer);
      for (let at = 0; at < sizeBytes; at += view.getUint16(at + 6, true)) {
        const timeNs = Number(view.getBigUint64(at + this.#timeFromStart, true));
        if (timeNs >= fromNs)
          samples.push({ timeNs, bytes: bytes.subarray(at, at + view.getUint16(at + 6, true)) });
      }
    }
    return stoppedRecords(samples.sort((one, other) => one.timeNs - other.timeNs));
  }

  /** Nothing is counted any more. */
  async stop(): Promise<void> {
    await this.#parts.formats.stop();
  }

  [Symbol.dispose](): void {
    this.#parts.formats.close();
  }
}

/** A format with the defaults that it has in a history. */
export function formatForHistory(format: SamplingFormat): SamplingFormat {
  const { name, history } = format;
  if (history === undefined)
    throw new CounterpointError(
      'ERR_FLIGHT_FORMAT',
      `the format ${name} gives its results at the end, so a flight recorder cannot keep a history of it`,
      'Use stacks, histogram, double-buffer or on-miss. A format of your own needs `history`.',
    );
  const options = Object.entries(format.options).map(([option, row]) => {
    const value = history[option];
    return [option, value === undefined ? row : { ...row, default: value }] as const;
  });
  return Object.create(format, { options: { value: Object.fromEntries(options), enumerable: true } });
}
