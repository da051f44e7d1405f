import {
  type ByteSource,
  bigIntAt,
  type CancelSignal,
  type Damage,
  type ProgressListener,
} from '../../base/index.ts';
import {
  PERF_RECORD_COMPRESSED,
  PERF_RECORD_COMPRESSED2,
  PERF_RECORD_EVENT_UPDATE,
  PERF_RECORD_FINISHED_ROUND,
  PERF_RECORD_HEADER_ATTR,
  PERF_RECORD_HEADER_BUILD_ID,
  PERF_RECORD_HEADER_EVENT_TYPE,
  PERF_RECORD_HEADER_FEATURE,
  PERF_RECORD_HEADER_TRACING_DATA,
  PERF_RECORD_SAMPLE,
} from '../../format/abi/index.ts';
import { type LossEntry, LossLedger } from '../../format/loss/index.ts';
import {
  lossAtEnd,
  lossEntryRecord,
  openPerfData,
  type PerfDataReader,
  type WrittenEvent,
  writePerfData,
} from '../perfdata/index.ts';
import { checksumOf } from './checksum.ts';
import { encodeEventAttrs } from './event-attrs.ts';
import {
  AT_CHECKSUM,
  encodeFooter,
  encodeHeader,
  HEADER_BYTES,
  HISTORY_PAGE_BYTES,
  type HistoryHeader,
  historyError,
  INDEX_HEAD_BYTES,
  INDEX_MARKER,
  INDEX_STEP,
  SLOT_HEAD_BYTES,
  SLOT_MARKER,
} from './layout.ts';
import { slotChecksum } from './slot-checksum.ts';

/** Options of `writeHistory()`. */
export interface WriteHistoryOptions {
  /** Sequence number of the first record; default 0. */
  firstSequence?: number;
  /** Ends it: it throws the signal's reason. */
  signal?: CancelSignal;
  /** Called now and then with how much of the recording is read. */
  onProgress?: ProgressListener;
}

/** Takes pieces one after the other; a promise holds the rest back. */
export type PieceWriter = (piece: Uint8Array<ArrayBuffer>) => void | Promise<void>;

/** What the writing of a history gave. */
export interface WrittenHistory {
  /** How many records it has. */
  records: number;
  /** Size of each record. */
  strideBytes: number;
  /** Size of the file. */
  bytes: number;
  /** What the recording lacks at its end: the history says so, too. */
  loss: LossEntry[];
  /** What was wrong in the recording. */
  damage: Damage[];
}

/** Slots are handed over in pieces of about this size. */
const PIECE_BYTES = 1 << 18;
/** What the header of a file says, and a stream in records. */
/** Marks of rounds, and what only held others. */
const OF_FILES: ReadonlySet<number> = new Set([
  PERF_RECORD_FINISHED_ROUND,
  PERF_RECORD_COMPRESSED,
  PERF_RECORD_COMPRESSED2,
]);
const OF_STREAMS: ReadonlySet<number> = new Set([
  PERF_RECORD_HEADER_ATTR,
  PERF_RECORD_HEADER_EVENT_TYPE,
  PERF_RECORD_HEADER_TRACING_DATA,
  PERF_RECORD_HEADER_BUILD_ID,
  PERF_RECORD_HEADER_FEATURE,
  PERF_RECORD_EVENT_UPDATE,
]);

/**
 * A recording as a history of fixed-size records: its samples in order of time, each in a slot as large as
 * the largest needs; all else as it is. Reads the recording twice.
 *
 * Throws `ERR_HISTORY` for a recording with hardware traces, which are no records.
 */
export async function writeHistory(
  source: ByteSource,
  write: PieceWriter,
  options: WriteHistoryOptions = {},
): Promise<WrittenHistory> {
  const { signal, onProgress, firstSequence = 0 } = options;
  const scan = { ...(signal && { signal }), ...(onProgress && { onProgress }) };
  const found = await measure(await openPerfData(source), scan);
  const header = plan(found, firstSequence);
  await write(firstPage(header, found.attrs));
  await writeSlots(await openPerfData(source), header, write, scan);
  const slotsEnd = header.recordsOffset + header.recordCount * header.strideBytes;
  await write(padding(header.sidebandOffset - slotsEnd));
  await write(found.sideband);
  await write(padding(header.indexOffset - header.sidebandOffset - header.sidebandBytes));
  await write(found.index);
  const footer = encodeFooter(header);
  await write(footer);
  return {
    records: header.recordCount,
    strideBytes: header.strideBytes,
    bytes: header.indexOffset + header.indexBytes + footer.length,
    loss: found.loss,
    damage: found.damage,
  };
}

type ScanOptions = Pick<WriteHistoryOptions, 'signal' | 'onProgress'>;

interface Measured {
  records: number;
  largestBytes: number;
  littleEndian: boolean;
  attrs: Uint8Array<ArrayBuffer>;
  attrCount: number;
  /** A recording without samples. */
  sideband: Uint8Array<ArrayBuffer>;
  index: Uint8Array<ArrayBuffer>;
  loss: LossEntry[];
  damage: Damage[];
}

async function measure(reader: PerfDataReader, scan: ScanOptions): Promise<Measured> {
  const others: Uint8Array[] = [];
  const times: bigint[] = [];
  let records = 0;
  let largestBytes = 0;
  let latest = 0n;
  await reader.scan(
    {
      record(view, start, end, type) {
        if (type === PERF_RECORD_SAMPLE) {
          latest = timeOf(reader, view, start, end);
          if (records % INDEX_STEP === 0) times.push(latest);
          records++;
          largestBytes = Math.max(largestBytes, end - start);
        } else if (!OF_FILES.has(type) && !(reader.isPipe && OF_STREAMS.has(type)))
          others.push(new Uint8Array(view.buffer, view.byteOffset + start, end - start).slice());
      },
    },
    scan,
  );
  if (reader.auxTraceBytes > 0)
    throw historyError(
      'the recording has hardware traces, which are no records of a fixed size',
      'Make samples of them first: counterpoint export, or script --itrace.',
    );
  const attrs = reader.events.events.map(({ attr, ids, name }) => ({ attr, ids: ids.map(BigInt), name }));
  const { littleEndian } = reader;
  // It is one file from here on.
  const { compressed: _, dirFormat: _files, ...features } = reader.features;
  const loss = lossOf(reader);
  return {
    records,
    largestBytes,
    littleEndian,
    attrs: encodeEventAttrs(attrs, littleEndian),
    attrCount: attrs.length,
    sideband: writePerfData({
      attrs,
      records: [...others, ...lossRecords(loss, attrs, latest)],
      features,
      littleEndian,
    }),
    index: encodeIndex(times),
    loss,
    damage: reader.damage.list(),
  };
}

/** What only the end of a file tells; all else is in its records. */
function lossOf(reader: PerfDataReader): LossEntry[] {
  const ledger = new LossLedger();
  const atEnd = lossAtEnd(reader);
  if (atEnd !== null) ledger.add(atEnd);
  return ledger.list();
}

/** Behind the last sample, in the name of the first event. */
function lossRecords(loss: readonly LossEntry[], attrs: readonly WrittenEvent[], time: bigint) {
  const id = attrs[0]?.ids[0] ?? 0n;
  if (attrs.length === 0) return [];
  return loss.map((entry) => lossEntryRecord(entry, { id, cpu: 0, pid: -1, tid: -1, time }));
}

/** 0 where a sample has none. */
function timeOf(reader: PerfDataReader, view: DataView, start: number, end: number): bigint {
  const at = reader.events.timeOffset(view, start, end, PERF_RECORD_SAMPLE, reader.littleEndian);
  return at < 0 ? 0n : bigIntAt(view, at, reader.littleEndian);
}

function plan(found: Measured, firstSequence: number): HistoryHeader {
  const { records, littleEndian, attrs, attrCount, sideband, index } = found;
  const strideBytes = upTo(SLOT_HEAD_BYTES + Math.max(8, found.largestBytes), 8);
  const recordsOffset = upTo(HEADER_BYTES + attrs.length, HISTORY_PAGE_BYTES);
  const sidebandOffset = upTo(recordsOffset + records * strideBytes, HISTORY_PAGE_BYTES);
  return {
    strideBytes,
    headBytes: SLOT_HEAD_BYTES,
    recordsOffset,
    recordCount: records,
    firstSequence,
    sidebandOffset,
    sidebandBytes: sideband.length,
    indexOffset: upTo(sidebandOffset + sideband.length, 8),
    indexBytes: index.length,
    attrsOffset: HEADER_BYTES,
    attrsBytes: attrs.length,
    attrCount,
    hasChecksums: true,
    attrsChecksum: checksumOf(attrs),
    sidebandChecksum: checksumOf(sideband),
    indexChecksum: checksumOf(index),
    littleEndian,
  };
}

function firstPage(header: HistoryHeader, attrs: Uint8Array): Uint8Array<ArrayBuffer> {
  const page = new Uint8Array(header.recordsOffset);
  page.set(encodeHeader(header));
  page.set(attrs, header.attrsOffset);
  return page;
}

async function writeSlots(
  reader: PerfDataReader,
  header: HistoryHeader,
  write: PieceWriter,
  scan: ScanOptions,
): Promise<void> {
  const { strideBytes, headBytes } = header;
  const full: Uint8Array<ArrayBuffer>[] = [];
  const room = Math.max(1, Math.floor(PIECE_BYTES / strideBytes));
  let piece = new Uint8Array(room * strideBytes);
  let view = new DataView(piece.buffer);
  let at = 0;
  let count = 0;
  await reader.scan(
    {
      record(record, start, end, type) {
        if (type !== PERF_RECORD_SAMPLE) return;
        const time = timeOf(reader, record, start, end);
        view.setUint32(at, SLOT_MARKER, true);
        view.setUint32(at + 4, end - start, true);
        view.setBigUint64(at + 8, BigInt(header.firstSequence + count), true);
        view.setBigUint64(at + 16, time, true);
        piece.set(new Uint8Array(record.buffer, record.byteOffset + start, end - start), at + headBytes);
        view.setUint32(at + AT_CHECKSUM, slotChecksum(view, at, headBytes, end - start), true);
        count++;
        at += strideBytes;
        if (at < piece.length) return;
        full.push(piece);
        piece = new Uint8Array(room * strideBytes);
        view = new DataView(piece.buffer);
        at = 0;
      },
    },
    {
      ...scan,
      onChunk: async () => {
        for (const one of full.splice(0)) await write(one);
      },
    },
  );
  for (const one of full) await write(one);
  if (at > 0) await write(piece.subarray(0, at));
}

/** `marker | step | count | times`. */
function encodeIndex(times: readonly bigint[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(INDEX_HEAD_BYTES + times.length * 8);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, INDEX_MARKER, true);
  view.setUint32(4, INDEX_STEP, true);
  view.setBigUint64(8, BigInt(times.length), true);
  times.forEach((time, row) => {
    view.setBigUint64(INDEX_HEAD_BYTES + row * 8, time, true);
  });
  return bytes;
}

const upTo = (value: number, unit: number): number => Math.ceil(value / unit) * unit;

const padding = (bytes: number): Uint8Array<ArrayBuffer> => new Uint8Array(bytes);
