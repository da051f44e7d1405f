import {
  asByteInput,
  type ByteInput,
  type ByteSource,
  type ByteStream,
  type CancelSignal,
  CounterpointError,
  DamageLog,
  floatAt,
  type ProgressListener,
  textUpToNul,
} from '../../../base/index.ts';
import { eventNameFromAttr } from '../../../events/names/index.ts';
import {
  FEATURE_BITS,
  FEATURE_EVENT_DESC,
  FEATURE_TRACING_DATA,
  PERF_RECORD_EVENT_UPDATE,
  PERF_RECORD_HEADER_ATTR,
  PERF_RECORD_HEADER_BUILD_ID,
  PERF_RECORD_HEADER_EVENT_TYPE,
  PERF_RECORD_HEADER_FEATURE,
  PERF_TYPE_TRACEPOINT,
  PIPE_HEADER_SIZE,
} from '../../../format/abi/index.ts';
import { readAttr } from '../../../format/records/index.ts';
import {
  decodeBuildIdRecord,
  decodeFeature,
  emptyFeatures,
  type PerfDataFeatures,
} from '../features/index.ts';
import { tracepointNames } from '../tracing-data/index.ts';
import {
  type Chunk,
  ChunkPool,
  type ChunkSource,
  fileChunks,
  fileOffsetOf,
  streamChunks,
} from './chunk-source.ts';
import type { DirectorySource } from './directory-source.ts';
import { EventTable, type RecordedEvent } from './event-table.ts';
import { readFeatureSections } from './feature-sections.ts';
import { type FileAttr, readFileHeader, readMagic } from './file-header.ts';
import type { MissingFiles, MissingRing } from './missing-files.ts';
import { checkNames, noRecording } from './no-recording.ts';
import { OrderQueue } from './order-queue.ts';
import { SplitPart, splitParts } from './split-parts.ts';
import { Splitter } from './splitter.ts';
import { isStreamCut } from './stream-end.ts';
import { TimeBase } from './time-base.ts';
import type { ZstdFactory } from './zstd.ts';

/** Receives every record in order. The view and offsets are borrowed until the call returns. */
export interface RecordSink {
  /**
   * `view` holds the record at `[start, end)`; `type` is its type. `fileOffset` is where it stands in the
   * file (of the compressed record that held it, for compressed ones).
   */
  record(view: DataView, start: number, end: number, type: number, fileOffset: number): void;
}

/** Options of `openPerfData()`. */
export interface OpenOptions {
  /** A faster Zstandard decompressor than the built-in one. */
  zstd?: ZstdFactory;
  /** How much memory records may hold while they wait for their turn in time order. Default 256 MiB. */
  orderLimitBytes?: number;
}

/** Options of reading all records. */
export interface ScanOptions {
  /** Ends it: it throws the signal's reason. */
  signal?: CancelSignal;
  /** Called now and then with how much is read. */
  onProgress?: ProgressListener;
  /** Deliver in file order instead of time order. */
  unordered?: boolean;
  /**
   * Awaited between chunks: what was delivered so far can be dealt with before more comes (back-pressure).
   */
  onChunk?: () => Promise<void> | void;
}

const EVENT_UPDATE_NAME = 2;
const DEFAULT_ORDER_LIMIT = 256 << 20;
/** Record types that are told apart; there are some ninety. A damaged file must not make millions of them. */
const MAX_RECORD_TYPES = 4096;

/**
 * A recording that can be read once from front to back. In file mode events and features are known after
 * opening; in pipe mode they arrive among the records.
 */
export class PerfDataReader {
  /** Whether the recording is a stream, in the form of `perf record -o -`. */
  readonly isPipe: boolean;
  /** Byte order of the recording. */
  readonly littleEndian: boolean;
  /** The events of the recording, and which record is of which. */
  readonly events = new EventTable();
  /** What its feature sections say of the machine. Of a stream more of it arrives while it is read. */
  readonly features: PerfDataFeatures = emptyFeatures();
  /** What was wrong in it, as far as it is read. */
  readonly damage: DamageLog;
  /** Where its records stand in the file; null in a stream. */
  dataSection: { offset: number; size: number } | null = null;
  /** Records by type, as they were delivered. */
  readonly recordCounts = new Map<number, number>();
  /** The recorder never finished the file: it was killed, or ran out of disk. */
  isUnfinished = false;
  /** Bytes of data that the header tells of, and that the file ends before. */
  missingBytes = 0;
  /** Bytes of a last record that is not all there. */
  cutBytes = 0;
  /**
   * The data ends inside a record, or before what belongs to one; or a stream before its recorder ended it.
   */
  isCut = false;
  /** Of a directory: rings whose files are not there, known after the scan. */
  missingRings: readonly MissingRing[] = [];
  /** Of a file or stream, or of each file of a directory. */
  readonly #chunks: readonly ChunkSource[];
  readonly #missing: MissingFiles | null;
  readonly #options: OpenOptions;
  readonly #base = new TimeBase();
  #splitters: Splitter[] | null = null;
  /** Events that HEADER_EVENT_TYPE records may still name, by config. */
  readonly #nameless = new Map<number, RecordedEvent[]>();

  /** @internal */
  constructor(
    isPipe: boolean,
    littleEndian: boolean,
    damage: DamageLog,
    chunks: readonly ChunkSource[],
    options: OpenOptions,
    directory: DirectorySource | null = null,
  ) {
    if (!Array.isArray(chunks)) throw noRecording('PerfDataReader');
    this.isPipe = isPipe;
    this.littleEndian = littleEndian;
    this.damage = damage;
    this.#chunks = chunks;
    this.#options = options;
    this.#missing = directory?.missingFiles() ?? null;
  }

  /** A reader is the `RecordSource` of what was recorded. */
  get reader(): PerfDataReader {
    return this;
  }

  /** Clock value of relative time 0 (the first time seen), as halves. */
  get baseTime(): { lo: number; hi: number } {
    return { lo: this.#base.lo, hi: this.#base.hi };
  }

  /**
   * Bytes of hardware trace (AUX data) in what was scanned; samples made out of it are not among the records.
   */
  get auxTraceBytes(): number {
    return (this.#splitters ?? []).reduce((sum, { auxTraceBytes }) => sum + auxTraceBytes, 0);
  }

  /**
   * Drive every record through `sink`, kernel records in order of time. Can be called once. Adds none: null.
   */
  async scan(sink: RecordSink, options: ScanOptions = {}): Promise<null> {
    if (this.#splitters !== null) {
      throw new CounterpointError(
        'ERR_READ_ONCE',
        'a reader scans its recording once',
        'Open the recording again for the next question, or keep what the first scan gave.',
      );
    }
    const counts = new Float64Array(256);
    const le = this.littleEndian;
    const deliver = (chunk: Chunk, start: number) => {
      const { view } = chunk;
      const type = view.getUint32(start, le);
      const fileOffset = fileOffsetOf(chunk, start);
      if (type < 256) counts[type]!++;
      else this.#countStrangeType(type, fileOffset);
      sink.record(view, start, start + view.getUint16(start + 6, le), type, fileOffset);
    };
    const { pool } = this.#chunks[0]!;
    const limit = this.#options.orderLimitBytes ?? DEFAULT_ORDER_LIMIT;
    const queue = new OrderQueue(deliver, pool, this.damage, limit);
    const hooks = {
      userRecord: (chunk: Chunk, start: number, end: number, type: number) => {
        this.#takeMetadata(chunk.view, start, end, type, fileOffsetOf(chunk, start));
        deliver(chunk, start);
      },
      untimedRecord: deliver,
      tracingData: (bytes: Uint8Array, fileOffset: number) =>
        this.#takeTracingData(bytes.slice(), fileOffset),
    };
    const parts = this.#chunks.map((chunks) => {
      const zstd = this.#options.zstd ?? null;
      const splitter = new Splitter(le, this.damage, this.events, queue, hooks, this.#base, pool, zstd);
      splitter.isUnordered = options.unordered === true;
      splitter.hasRounds = this.#chunks.length === 1;
      return new SplitPart(chunks, splitter, le);
    });
    this.#splitters = parts.map(({ splitter }) => splitter);
    const sumOf = (key: 'position' | 'total') => this.#chunks.reduce((sum, chunks) => sum + chunks[key], 0);
    try {
      await splitParts(parts, queue, () => {
        options.signal?.throwIfAborted();
        options.onProgress?.({ phase: 'read', done: sumOf('position'), total: sumOf('total') });
        return options.onChunk?.();
      });
      queue.finish();
      const ends = parts.map((part) => part.finish());
      this.cutBytes = ends.reduce((sum, { cutBytes }) => sum + cutBytes, 0);
      this.isCut = ends.some(({ isCut }) => isCut);
      this.missingRings = this.#missing?.list(this.features.dirFormat !== undefined, this.damage) ?? [];
    } finally {
      await this.close();
    }
    counts.forEach((count, type) => {
      if (count > 0) this.recordCounts.set(type, count);
    });
    if (this.isPipe) this.isCut ||= isStreamCut(parts[0]!.splitter.end, this.recordCounts);
    return null;
  }

  /** Let go of a stream that nobody will scan, or not to its end. Files are closed by who opened them. */
  async close(): Promise<void> {
    for (const chunks of this.#chunks) await chunks.close();
  }

  #countStrangeType(type: number, fileOffset: number): void {
    const count = this.recordCounts.get(type);
    if (count === undefined && this.recordCounts.size >= MAX_RECORD_TYPES)
      this.damage.add('too-many-record-types', fileOffset);
    else this.recordCounts.set(type, (count ?? 0) + 1);
  }

  /** What the header of a file says, a pipe says in records. */
  #takeMetadata(view: DataView, start: number, end: number, type: number, fileOffset: number): void {
    const le = this.littleEndian;
    const bytes = (from: number) => new Uint8Array(view.buffer, view.byteOffset + from, end - from);
    this.#missing?.idIndex(view, start, end, type, le);
    if (type === PERF_RECORD_HEADER_ATTR && this.isPipe) this.#takeAttr(view, start, end, fileOffset);
    else if (type === PERF_RECORD_HEADER_FEATURE && end - start >= 16) {
      const bit = floatAt(view, start + 8, le);
      if (bit < FEATURE_BITS) this.takeFeature(bit, bytes(start + 16).slice(), fileOffset);
      else this.damage.add('bad-feature', fileOffset);
    } else if (type === PERF_RECORD_HEADER_BUILD_ID) {
      decodeBuildIdRecord(bytes(start).slice(), le, this.features, this.damage, fileOffset);
    } else if (type === PERF_RECORD_EVENT_UPDATE && end - start >= 24) {
      const isName = floatAt(view, start + 8, le) === EVENT_UPDATE_NAME;
      const event = this.events.findId(floatAt(view, start + 16, le));
      if (isName && event !== null) event.name = textUpToNul(bytes(start + 24)) || event.name;
    } else if (type === PERF_RECORD_HEADER_EVENT_TYPE && end - start >= 16) {
      this.#takeEventType(floatAt(view, start + 8, le), textUpToNul(bytes(start + 16)));
    }
  }

  /** A HEADER_ATTR record: the attr, then ids up to the record's end. */
  #takeAttr(view: DataView, start: number, end: number, fileOffset: number): void {
    const le = this.littleEndian;
    const at = start + 8;
    if (at + 64 > end) {
      this.damage.add('attr-cut', fileOffset);
      return;
    }
    const stated = view.getUint32(at + 4, le);
    const size = Math.min(stated === 0 ? 64 : stated, end - at);
    const attr = readAttr(view, at, size, le);
    const ids: number[] = [];
    // perf up to 6.2 fills attrs of older recordings to its own size, and their
    // stated size stays: no id is 0.
    for (let pos = at + size; pos + 8 <= end; pos += 8) ids.push(floatAt(view, pos, le));
    this.addEvent({ attr, ids: ids.filter((id) => id !== 0), fileOffset });
  }

  /** @internal */
  addEvent({ attr, ids, fileOffset }: FileAttr): void {
    const event = this.events.add(attr, ids, eventNameFromAttr(attr));
    if (event.ids.length < ids.length) this.damage.add('too-many-ids', fileOffset);
    if (attr.type < PERF_TYPE_TRACEPOINT) return;
    const config = Number(attr.config);
    const others = this.#nameless.get(config);
    if (others === undefined) this.#nameless.set(config, [event]);
    else others.push(event);
  }

  /** Names of tracepoints and raw events in files of perf before 3.x: event id (config) and name. */
  #takeEventType(config: number, name: string): void {
    if (name === '') return;
    for (const event of this.#nameless.get(config) ?? []) event.name = name;
    // Each event is named once, however many records there are.
    this.#nameless.delete(config);
  }

  /**
   * One feature, from a section of a file or a record of a pipe.
   *
   * @internal
   */
  takeFeature(bit: number, bytes: Uint8Array, fileOffset: number): void {
    if (bit === FEATURE_TRACING_DATA) this.#takeTracingData(bytes, fileOffset);
    else decodeFeature(bit, bytes, this.littleEndian, this.features, this.damage, fileOffset);
    // The attrs that it describes stand before it.
    if (bit === FEATURE_EVENT_DESC) this.#applyDescriptions(fileOffset);
  }

  /** Names of tracepoint events come from the trace metadata where nothing else named them. */
  #takeTracingData(bytes: Uint8Array, fileOffset: number): void {
    if (this.features.raw.has(FEATURE_TRACING_DATA)) {
      this.damage.add('repeated-tracing-data', fileOffset);
      return;
    }
    this.features.raw.set(FEATURE_TRACING_DATA, bytes);
    const { names, isWhole } = tracepointNames(bytes);
    if (!isWhole) this.damage.add('bad-tracing-data', fileOffset);
    for (const event of this.events.events) {
      const known =
        event.attr.type === PERF_TYPE_TRACEPOINT ? names.get(Number(event.attr.config)) : undefined;
      if (known !== undefined && event.name === eventNameFromAttr(event.attr)) event.name = known;
    }
  }

  /** EVENT_DESC gives each event its name; matched by id, else by place. */
  #applyDescriptions(fileOffset: number): void {
    this.features.eventDescriptions?.forEach((description, place) => {
      const byId = description.ids.length > 0 ? this.events.findId(Number(description.ids[0])) : null;
      const event = byId ?? (description.ids.length === 0 ? this.events.events[place] : undefined);
      if (event === undefined || event === null) return;
      if (description.name !== '') event.name = description.name;
      for (const id of description.ids) {
        if (!this.events.addId(event, Number(id))) this.damage.add('too-many-ids', fileOffset);
      }
    });
  }
}

/**
 * Open a perf.data file (any offset can be read) or stream (pipe mode). Throws
 * FormatError where it is not one.
 */
export async function openPerfData(input: ByteInput, options: OpenOptions = {}): Promise<PerfDataReader> {
  const bytes = asByteInput(input);
  checkNames('openPerfData()', options, ['zstd', 'orderLimitBytes']);
  return Symbol.asyncIterator in bytes ? openStream(bytes, options) : openFile(bytes, options);
}

async function openFile(whole: ByteSource, options: OpenOptions): Promise<PerfDataReader> {
  const directory = 'missingFiles' in whole ? (whole as DirectorySource) : null;
  const source = directory?.header ?? whole;
  const damage = new DamageLog(directory?.parts);
  const magic = readMagic(await source.read(0, PIPE_HEADER_SIZE));
  const { littleEndian } = magic;
  if (magic.isPipe) {
    const chunks = fileChunks(source, PIPE_HEADER_SIZE, source.size);
    return new PerfDataReader(true, littleEndian, damage, [chunks], options);
  }
  const header = await readFileHeader(source, littleEndian, damage);
  const { data } = header;
  const rings = directory?.parts.slice(1) ?? [];
  const chunkOptions = { pool: new ChunkPool(), sideBySide: Math.max(1, rings.length) };
  const chunks = [
    fileChunks(source, data.offset, data.offset + data.size, chunkOptions),
    ...rings.map(({ start, size }) => fileChunks(whole, start, start + size, chunkOptions)),
  ];
  const reader = new PerfDataReader(false, littleEndian, damage, chunks, options, directory);
  reader.dataSection = { offset: data.offset, size: data.size };
  reader.isUnfinished = header.isUnfinished;
  reader.missingBytes = header.missingBytes;
  for (const attr of header.attrs) reader.addEvent(attr);
  await readFeatureSections(source, header.features, damage, (bit, bytes, fileOffset) =>
    reader.takeFeature(bit, bytes, fileOffset),
  );
  return reader;
}

async function openStream(stream: ByteStream, options: OpenOptions): Promise<PerfDataReader> {
  const iterator = stream[Symbol.asyncIterator]();
  try {
    return await openIterator(iterator, options);
  } catch (error) {
    // As `for await` does when it is left: a file or socket behind the stream is closed.
    await iterator.return?.().catch(() => {});
    throw error;
  }
}

async function openIterator(
  iterator: AsyncIterator<Uint8Array<ArrayBufferLike>>,
  options: OpenOptions,
): Promise<PerfDataReader> {
  let first: Uint8Array<ArrayBufferLike> = new Uint8Array();
  while (first.length < PIPE_HEADER_SIZE) {
    const { value, done } = await iterator.next();
    if (done === true) break;
    const joined = new Uint8Array(first.length + value.length);
    joined.set(first);
    joined.set(value, first.length);
    first = joined;
  }
  const magic = readMagic(first);
  const damage = new DamageLog();
  if (!magic.isPipe) {
    throw new CounterpointError(
      'ERR_NOT_SEEKABLE',
      'this is a perf.data file in file mode, but it came through a pipe',
      'Read it as a file; for a pipe, record in pipe mode (record -o -).',
    );
  }
  const chunks = streamChunks(iterator, first.subarray(PIPE_HEADER_SIZE), PIPE_HEADER_SIZE);
  return new PerfDataReader(true, magic.littleEndian, damage, [chunks], options);
}
