import type { LossLedger } from '@counterpoint/core/loss';
import { SampleLayout } from '@counterpoint/core/records';
import type { StoppedHistory } from '@counterpoint/core/ring';
import type { SampledEvent } from '../../kernel/perf-events/index.ts';
import { JavascriptFrames } from '../record/index.ts';
import { stoppedRecords, type TimedRecord } from './stopped-records.ts';

const CHUNK_BYTES = 1 << 16;
/** Functions are looked up in memory as it is now: of a sample that is older they may be others by now. */
const LATEST_READ_NS = 250e6;
/** For the rate. */
const RECENT_NS = 5e9;
const LEAST_NS = 1e9;
const NS_PER_SECOND = 1e9;

/** Samples one after the other, as they came. */
interface Chunk {
  bytes: Uint8Array<ArrayBuffer>;
  used: number;
  oldestNs: number;
  newestNs: number;
}

export interface FrameHistoryParts {
  frames: Pick<JavascriptFrames, 'begin' | 'rewrite'>;
  /** As they were opened: all of the recorder. */
  events: readonly SampledEvent[];
  nowNs: () => number;
  /** Of all samples; the oldest go first. */
  memoryBytes: number;
}

/**
 * Samples of Node programs that write no names: functions which V8 interprets are known only while they
 * run. So these samples do not wait in a ring that overwrites. They are read all the time, are small once
 * their stacks have become names, and are kept as long as the history goes back:
 *
 *   ring of processes and maps, samples with stacks ──reader──> names ──> [ chunk ][ chunk ][ chunk ]
 */
export class FrameHistory {
  /** The events as files have them. */
  readonly written: readonly SampledEvent[];
  readonly #parts: FrameHistoryParts;
  /** Of samples that were read too late. */
  readonly #nameless = new JavascriptFrames(new Map());
  readonly #timeFromStart: number;
  #chunks: Chunk[] = [];
  #droppedToNs: number | null = null;

  constructor(parts: FrameHistoryParts) {
    this.#parts = parts;
    this.written = parts.frames.begin(parts.events);
    this.#nameless.begin(parts.events);
    this.#timeFromStart = new SampleLayout(parts.events[0]!.attr).timeFromStart;
  }

  /** Its samples come through the ring of processes and maps. */
  static has(event: Pick<SampledEvent, 'attr'>): boolean {
    return JavascriptFrames.has(event);
  }

  get sizeBytes(): number {
    return this.#chunks.reduce((sum, { bytes }) => sum + bytes.length, 0);
  }

  /** Of samples as they are kept, over the last seconds. */
  bytesPerSecond(nowNs: number): number {
    const recent = this.#chunks.filter(({ newestNs }) => newestNs >= nowNs - RECENT_NS);
    if (recent.length === 0) return 0;
    const used = recent.reduce((sum, one) => sum + one.used, 0);
    return (used / Math.max(nowNs - recent[0]!.oldestNs, LEAST_NS)) * NS_PER_SECOND;
  }

  /** Where the oldest samples had to go for the memory: the history begins here. */
  get droppedToNs(): number | null {
    return this.#droppedToNs;
  }

  /** A sample in a ring, which is copied. False: it was read too late for names. */
  add(view: DataView<ArrayBuffer>, offset: number, size: number): boolean {
    const timeNs = Number(view.getBigUint64(offset + this.#timeFromStart, true));
    const isLate = this.#parts.nowNs() - timeNs > LATEST_READ_NS;
    const frames = isLate ? this.#nameless : this.#parts.frames;
    const sample = frames.rewrite([new Uint8Array(view.buffer, view.byteOffset + offset, size)], size);
    const chunk = this.#chunkFor(sample.length);
    chunk.bytes.set(sample, chunk.used);
    chunk.used += sample.length;
    chunk.oldestNs = Math.min(chunk.oldestNs, timeNs);
    chunk.newestNs = Math.max(chunk.newestNs, timeNs);
    return !isLate;
  }

  #chunkFor(sizeBytes: number): Chunk {
    const last = this.#chunks.at(-1);
    if (last !== undefined && last.used + sizeBytes <= last.bytes.length) return last;
    const bytes = new Uint8Array(Math.max(CHUNK_BYTES, sizeBytes));
    const chunk = { bytes, used: 0, oldestNs: Number.POSITIVE_INFINITY, newestNs: Number.NEGATIVE_INFINITY };
    this.#chunks.push(chunk);
    while (this.sizeBytes > this.#parts.memoryBytes && this.#chunks.length > 1)
      this.#droppedToNs = Math.max(this.#droppedToNs ?? 0, this.#chunks.shift()!.newestNs);
    return chunk;
  }

  /** What was sampled before this is not wanted any more. */
  forget(beforeNs: number): void {
    const kept = this.#chunks.findIndex(({ newestNs }) => newestNs >= beforeNs);
    this.#chunks.splice(0, kept < 0 ? this.#chunks.length : kept);
  }

  addLossesTo(ledger: LossLedger, fromNs: number): void {
    const dropped = this.#droppedToNs;
    if (dropped === null || dropped <= fromNs) return;
    const [from, to] = [BigInt(Math.round(fromNs)), BigInt(Math.round(dropped))];
    ledger.add({ kind: 'history-overwritten', fromNs: from, toNs: to, count: to - from });
  }

  /** All samples from `fromNs` on, in order of time. */
  samplesSince(fromNs: number): StoppedHistory {
    const samples: TimedRecord[] = [];
    for (const { bytes, used } of this.#chunks) {
      const view = new DataView(bytes.buffer);
      for (let at = 0; at < used; at += view.getUint16(at + 6, true)) {
        const timeNs = Number(view.getBigUint64(at + this.#timeFromStart, true));
        if (timeNs >= fromNs)
          samples.push({ timeNs, bytes: bytes.subarray(at, at + view.getUint16(at + 6, true)) });
      }
    }
    return stoppedRecords(samples.sort((one, other) => one.timeNs - other.timeNs));
  }
}
