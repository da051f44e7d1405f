/**
 * A scan of a recording in which its hardware trace is decoded: samples of what was executed come between the
 * recorded ones, in order of time.
 *
 *   reader ── records ──> waiting ──> for each, in order: 1. the trace up to its time ── samples ──┐
 *                                                         2. what it says of processes             ├──> sink
 *   file ──── AUX data ──────────────────────────────────────────┘                3. itself ───────┘
 */

import { PERF_RECORD_EXIT, PERF_RECORD_SAMPLE, PERF_RECORD_USER_TYPE_START } from '@counterpoint/core/abi';
import { asByteSource, type ByteSource, checkArgument, FormatError, TWO_32 } from '@counterpoint/core/base';
import {
  mayHoldTrace,
  openPerfData,
  type PerfDataReader,
  type RecordSink,
  type RecordSource,
  type SourceScanOptions,
} from '@counterpoint/core/perfdata';
import { AUXTRACE_INTEL_PT, readPtInfo } from '../../pt/index.ts';
import { AuxIndex } from '../auxtrace/index.ts';
import { PtDecoding } from './pt-decoding.ts';
import { SampledTrace } from './sampled-trace.ts';
import type { TraceOutcome } from './trace-outcome.ts';
import type { FoundTrace, ReadyRequest, TraceRequest } from './trace-request.ts';

/**
 * A recording with samples of its hardware trace among its records: where it holds one of Intel PT, a sample
 * for each instruction, branch or period that `request.options` asks for. Give it wherever a reader is taken:
 *
 *     const source = withTrace(await openPerfData(file), { bytes: file, files, options: parseItrace('i1us') });
 *     const { profile, diagnostics } = await ingestPerfData(source, { symbols: files });
 *
 * Code that is missing is told in `diagnostics`: without code there are no samples.
 */
export function withTrace(reader: PerfDataReader, request: TraceRequest): TraceSource {
  const isReader = { scan: 'function', events: 'object' };
  checkArgument(isReader, 'withTrace()', 'the recording', reader, 'the answer of openPerfData()');
  const isRequest = { options: 'object' };
  checkArgument(isRequest, 'withTrace()', 'the request', request, '{ bytes, files, options }');
  const ready = { ...request, bytes: asByteSource(request.bytes, 'the recording') };
  return { reader, scan: (sink, scan = {}) => scanWithTrace(reader, ready, sink, scan) };
}

/** A `RecordSource`; null is its answer where the recording holds no trace that is decoded here. */
export interface TraceSource extends RecordSource {
  /**
   * Drive recorded and made samples through `sink`, in order of time. Decoding waits for `files`.
   * A recording without a trace is scanned as it is, and the answer is null. Once only, as a reader's.
   */
  scan(sink: RecordSink, options?: SourceScanOptions): Promise<TraceOutcome | null>;
}

async function scanWithTrace(
  reader: PerfDataReader,
  request: ReadyRequest,
  sink: RecordSink,
  scan: SourceScanOptions,
): Promise<TraceOutcome | null> {
  const found = await findTrace(reader, request.bytes);
  if (found === null) return reader.scan(sink, scan);
  const decoding = new PtDecoding(reader, sink, request, found, scan);
  const waiting = new WaitingRecords(reader, decoding, sink);
  const drain = async (): Promise<void> => {
    await waiting.drain();
    await scan.onChunk?.();
  };
  try {
    await reader.scan(waiting, { ...scan, onChunk: drain });
    await waiting.drain();
    await decoding.finish();
    await scan.onChunk?.();
    return decoding.outcome();
  } finally {
    await decoding.close();
  }
}

/**
 * The index of all trace data, from a first pass over the file: it may stand behind
 * the records that it belongs to.
 */
async function findTrace(reader: PerfDataReader, bytes: ByteSource): Promise<FoundTrace | null> {
  if (!mayHoldTrace(reader)) return null;
  const first = await openPerfData(bytes);
  const index = new AuxIndex(first.littleEndian);
  const sampled = new SampledTrace(index, first.events, first.littleEndian);
  await first.scan(sampled, { unordered: true });
  if (index.info === null || index.info.auxtraceType !== AUXTRACE_INTEL_PT || index.pieces.length === 0)
    return null;
  try {
    const info = readPtInfo(index.info.data, first.littleEndian);
    sampled.assign(info.isPerCpu);
    // Pieces of samples overlap, or leave gaps, as pictures of a ring do.
    const attrs = first.events.events.map(({ attr }) => attr).filter(({ type }) => type === info.pmuType);
    return { info: sampled.isFound ? { ...info, isSnapshot: true } : info, index, attrs };
  } catch (error) {
    if (error instanceof FormatError) return null;
    throw error;
  }
}

const FIRST_BYTES = 1 << 20;

/** Records of the kernel, until their turn comes: decoding in between has to wait for files. */
class WaitingRecords implements RecordSink {
  readonly #reader: PerfDataReader;
  readonly #decoding: PtDecoding;
  readonly #sink: RecordSink;
  #bytes = new Uint8Array(FIRST_BYTES);
  #view = new DataView(this.#bytes.buffer);
  #used = 0;
  #starts: number[] = [];
  #fileOffsets: number[] = [];

  constructor(reader: PerfDataReader, decoding: PtDecoding, sink: RecordSink) {
    this.#reader = reader;
    this.#decoding = decoding;
    this.#sink = sink;
  }

  record(view: DataView, start: number, end: number, _type: number, fileOffset: number): void {
    const size = end - start;
    if (this.#used + size > this.#bytes.length) {
      const bytes = new Uint8Array(Math.max(this.#bytes.length * 2, this.#used + size));
      bytes.set(this.#bytes.subarray(0, this.#used));
      this.#bytes = bytes;
      this.#view = new DataView(bytes.buffer);
    }
    this.#bytes.set(new Uint8Array(view.buffer, view.byteOffset + start, size), this.#used);
    this.#starts.push(this.#used);
    this.#fileOffsets.push(fileOffset);
    this.#used += size;
  }

  async drain(): Promise<void> {
    const decoding = this.#decoding;
    const sink = this.#sink;
    const view = this.#view;
    const starts = this.#starts;
    const fileOffsets = this.#fileOffsets;
    const { events, littleEndian: le } = this.#reader;
    for (let n = 0; n < starts.length; n++) {
      const start = starts[n]!;
      const end = starts[n + 1] ?? this.#used;
      const type = view.getUint32(start, le);
      if (type < PERF_RECORD_USER_TYPE_START) {
        decoding.addEvents();
        const at = events.timeOffset(view, start, end, type, le);
        if (at >= 0) {
          const lo = view.getUint32(at + (le ? 0 : 4), le);
          const hi = view.getUint32(at + (le ? 4 : 0), le);
          // 0 is what synthesised records carry, all ones what perf takes for "none".
          if ((lo !== 0 || hi !== 0) && (lo & hi) >>> 0 !== 0xffff_ffff)
            await decoding.advance(hi * TWO_32 + lo);
        }
        if (type === PERF_RECORD_EXIT) await decoding.beforeExit(view, start, end);
        decoding.observe(view, start, end, type);
      }
      const completed = type === PERF_RECORD_SAMPLE ? decoding.completeSample(view, start, end) : null;
      if (completed === null) sink.record(view, start, end, type, fileOffsets[n]!);
      else {
        const other = new DataView(completed.buffer, completed.byteOffset, completed.byteLength);
        sink.record(other, 0, completed.length, type, fileOffsets[n]!);
      }
    }
    this.#starts = [];
    this.#fileOffsets = [];
    this.#used = 0;
  }
}
