import { type ByteSource, type Damage, DamageLog, memorySource } from '../../base/index.ts';
import { eventNameFromAttr } from '../../events/names/index.ts';
import { decodeRecord, type PerfRecord } from '../../format/records/index.ts';
import { EventTable, type PerfDataReader, type RecordedEvent } from '../perfdata/index.ts';
import { checksumOf } from './checksum.ts';
import { decodeEventAttrs } from './event-attrs.ts';
import { findSlots, readSlotHead, type SlotHead } from './find-slots.ts';
import { emptySideband, readSideband } from './history-sideband.ts';
import {
  AT_CHECKSUM,
  arePlausible,
  decodeFooter,
  decodeHeader,
  FOOTER_BYTES,
  type FooterPlaces,
  HISTORY_PAGE_BYTES,
  type HistoryHeader,
  type HistoryPlaces,
  historyError,
  INDEX_HEAD_BYTES,
  INDEX_MARKER,
  INDEX_STEP,
  MOST_ATTRS_BYTES,
} from './layout.ts';
import { hasChecksum, slotChecksum } from './slot-checksum.ts';

/** One record of a history. */
export interface HistoryRecord {
  /** Its place in the stream, over all files of it. */
  sequence: number;
  /** On the recording's clock; 0 where its event records none. */
  timeNs: bigint;
  /** Null where its event is not known. */
  event: RecordedEvent | null;
  /** The record, in the types of perf.data. */
  record: PerfRecord;
  /** As the kernel wrote it. */
  bytes: Uint8Array<ArrayBuffer>;
}

/** Damage of single records. */
export const RECORD_DAMAGE: readonly string[] = ['bad-slot', 'bad-checksum', 'bad-record'];
/** Read at a time where records are read one after the other. */
const PIECE_BYTES = 1 << 18;

/**
 * A history of fixed-size records. Every record can be had alone:
 *
 *   const history = await openHistory(source);
 *   const { timeNs, record } = await history.at(history.count - 1);
 */
export class HistoryFile {
  /** Records that there are slots for. */
  readonly count: number;
  /** Sequence number of the first record. */
  readonly firstSequence: number;
  /** Bytes from one record to the next. */
  readonly strideBytes: number;
  /** Names are those of the sideband; without it, those of their attrs. */
  readonly events: readonly RecordedEvent[];
  /** Byte order of its records. */
  readonly littleEndian: boolean;
  readonly #source: ByteSource;
  readonly #header: HistoryHeader;
  readonly #table: EventTable;
  readonly #damage: DamageLog;
  /** The time of each `#step`th record. */
  #times: readonly bigint[] | null;
  readonly #step: number;

  /** @internal */
  constructor(parts: HistoryParts) {
    const { header, table } = parts;
    this.#source = parts.source;
    this.#header = header;
    this.#table = table;
    this.#damage = parts.damage;
    this.#times = parts.index?.times ?? null;
    this.#step = parts.index?.step ?? INDEX_STEP;
    this.count = header.recordCount;
    this.missingRecords = parts.missingRecords;
    this.firstSequence = header.firstSequence;
    this.strideBytes = header.strideBytes;
    this.events = table.events;
    this.littleEndian = header.littleEndian;
  }

  /** @internal Records that the file had before it was cut off. */
  readonly missingRecords: number;

  /** @internal How many of the records that were asked for could not be had. */
  get damagedRecords(): number {
    return RECORD_DAMAGE.reduce((sum, code) => sum + this.#damage.count(code), 0);
  }

  /** What was wrong in all that was read so far, with offsets in the file. */
  get damage(): Damage[] {
    return this.#damage.list();
  }

  /**
   * The record number `index`, from 0: one read. Null where its slot is damaged;
   * `damage` tells it from then on.
   *
   * Rejects with `ERR_HISTORY` where there is no such number.
   */
  async at(index: number): Promise<HistoryRecord | null> {
    if (!Number.isInteger(index) || index < 0 || index >= this.count)
      throw historyError(
        `there is no record ${index}`,
        `The history has ${this.count} records, from 0 to ${this.count - 1}.`,
      );
    const slot = await this.#source.read(this.#offsetOf(index), this.strideBytes);
    return this.#recordIn(slot, 0, index);
  }

  /** All records, or those of a range `[from, to)`; damaged ones are left out, and counted in `damage`. */
  async *records(from = 0, to = this.count): AsyncGenerator<HistoryRecord, void, undefined> {
    const many = Math.max(1, Math.floor(PIECE_BYTES / this.strideBytes));
    const end = Math.min(to, this.count);
    for (let first = Math.max(0, from); first < end; first += many) {
      const slots = Math.min(many, end - first);
      const piece = await this.#source.read(this.#offsetOf(first), slots * this.strideBytes);
      for (let slot = 0; slot < slots; slot++) {
        const record = this.#recordIn(piece, slot * this.strideBytes, first + slot);
        if (record !== null) yield record;
      }
    }
  }

  /** The number of the first record at or after a time; `count` if there is none. */
  async find(timeNs: bigint): Promise<number> {
    const times = await this.#index();
    let row = times.findLastIndex((time) => time < timeNs);
    if (row < 0) row = 0;
    const end = Math.min(this.count, (row + 1) * this.#step + 1);
    for await (const record of this.records(row * this.#step, end))
      if (record.timeNs >= timeNs) return record.sequence - this.firstSequence;
    return end;
  }

  /**
   * All that is no sample, as a recording: who ran, which files were mapped, features. Where it is cut off or
   * damaged, this is what is left of it, and the events; `damage` has `bad-sideband` then.
   *
   * Rejects with `ERR_HISTORY` where nothing says any more what the events are.
   */
  async sideband(): Promise<PerfDataReader> {
    const found = (await readSideband(this.#source, this.#header))?.reader ?? null;
    // One that was cut in its own header knows less than page 0.
    if (found !== null && found.events.events.length >= this.events.length) return found;
    if (this.events.length > 0) return await emptySideband(this.events, this.littleEndian);
    throw historyError(
      'the history lacks its beginning and its last part: both say what its events are, without which its records are no samples',
      'Copy the file again. The bytes and times of its records can still be read one by one: openHistory(path) of counterpoint/flight, then records().',
    );
  }

  /** Lets go of its source, where that is a file that was opened for it. */
  async close(): Promise<void> {
    const { close } = this.#source as ByteSource & { close?: () => Promise<void> };
    await close?.call(this.#source);
  }

  #offsetOf(index: number): number {
    return this.#header.recordsOffset + index * this.strideBytes;
  }

  #recordIn(piece: Uint8Array<ArrayBuffer>, at: number, index: number): HistoryRecord | null {
    const head = this.#headIn(piece, at, index);
    if (head === null) return null;
    const { headBytes } = this.#header;
    const bytes = piece.slice(at + headBytes, at + headBytes + head.bytes);
    const view = new DataView(bytes.buffer);
    const le = this.littleEndian;
    if (view.getUint16(6, le) !== bytes.length) {
      this.#damage.add('bad-record', this.#offsetOf(index));
      return null;
    }
    const event = this.#table.eventOf(view, 0, bytes.length, view.getUint32(0, le), le);
    const record = decodeRecord(view, 0, bytes.length, event?.layout ?? null, le);
    return { sequence: head.sequence, timeNs: head.timeNs, event, record, bytes };
  }

  #headIn(piece: Uint8Array, at: number, index: number): SlotHead | null {
    const view = new DataView(piece.buffer, piece.byteOffset, piece.length);
    const head = readSlotHead(view, at, this.#header);
    const isThere = head !== null && head.sequence === this.firstSequence + index;
    if (isThere && isIntact(view, at, this.#header, head.bytes)) return head;
    this.#damage.add(isThere ? 'bad-checksum' : 'bad-slot', this.#offsetOf(index));
    return null;
  }

  /** Made anew where the file's own is damaged. */
  async #index(): Promise<readonly bigint[]> {
    if (this.#times !== null) return this.#times;
    const times: bigint[] = [];
    let latest = 0n;
    for (let index = 0; index < this.count; index += this.#step) {
      const head = await this.#source.read(this.#offsetOf(index), this.strideBytes);
      const found = this.#headIn(head, 0, index)?.timeNs ?? latest;
      latest = found > latest ? found : latest;
      times.push(latest);
    }
    this.#times = times;
    return times;
  }
}

interface HistoryParts {
  source: ByteSource;
  header: HistoryHeader;
  missingRecords: number;
  table: EventTable;
  damage: DamageLog;
  /** Null where it has to be made anew. */
  index: { times: bigint[]; step: number } | null;
}

/**
 * Open a history. What page 0 lacks is taken from the footer, or from the slots themselves; what was damaged
 * is in `damage`.
 *
 * Rejects with `ERR_HISTORY` where the bytes are none.
 */
export async function openHistory(input: ByteSource | Uint8Array<ArrayBuffer>): Promise<HistoryFile> {
  const source = input instanceof Uint8Array ? memorySource(input) : input;
  const damage = new DamageLog();
  // A place that an earlier writer's damaged header names may be anywhere.
  const tell: Tell = (code, offset) => damage.add(code, Math.min(offset, source.size));
  const { header, missingRecords } = await findHeader(source, tell);
  const table = new EventTable();
  if (!(await readAttrs(source, header, table))) tell('bad-attrs', header.attrsOffset);
  await nameEvents(source, header, table, tell);
  const index = await timesOf(source, header);
  if (index === null) tell('bad-index', header.indexOffset);
  return new HistoryFile({ source, header, missingRecords, table, damage, index });
}

type Tell = (code: string, offset: number) => void;

/** From page 0, or what can be had in its place. */
async function findHeader(
  source: ByteSource,
  tell: Tell,
): Promise<{ header: HistoryHeader; missingRecords: number }> {
  const { size } = source;
  const own = decodeHeader(await source.read(0, HISTORY_PAGE_BYTES));
  const footer = decodeFooter(await source.read(Math.max(0, size - FOOTER_BYTES), FOOTER_BYTES));
  const isUsable = own !== null && arePlausible(own.header, size);
  // A header that lost its checksum looks like an earlier writer's: the footer knows better.
  const isEarlier = own?.header.hasChecksums === false && footer?.hasChecksums === true;
  if (isUsable && !own.isDamaged && !isEarlier) {
    const { header } = own;
    if (footer === null) tell('no-footer', footerOffset(header, size));
    const most = mostSlots(header, size);
    if (header.recordCount <= most) return { header, missingRecords: 0 };
    tell('cut-off', size);
    const missingRecords = Math.min(header.recordCount - most, Number.MAX_SAFE_INTEGER);
    return { header: { ...header, recordCount: most }, missingRecords };
  }
  tell('bad-header', 0);
  const found = footer !== null && arePlausible(footer, size) ? footer : await findSlots(source);
  if (found !== null) return { header: await headerAround(source, found), missingRecords: 0 };
  // Without two slots there are no markers to go by.
  if (isUsable) {
    const recordCount = Math.min(own.header.recordCount, mostSlots(own.header, size));
    return { header: { ...own.header, recordCount }, missingRecords: 0 };
  }
  throw historyError(
    'these bytes are no history of fixed-size records',
    'A perf.data file is made into one by: counterpoint convert perf.data',
  );
}

function mostSlots({ recordsOffset, strideBytes }: HistoryPlaces, sizeBytes: number): number {
  return Math.floor((sizeBytes - recordsOffset) / strideBytes);
}

/** Where a footer that cannot be read begins; the end where the file was cut off before it. */
function footerOffset({ indexOffset, indexBytes }: HistoryPlaces, sizeBytes: number): number {
  return Math.min(indexOffset + indexBytes, sizeBytes);
}

/** The rest of a header, where only places are known. */
async function headerAround(source: ByteSource, places: FooterPlaces): Promise<HistoryHeader> {
  const { recordsOffset, strideBytes, headBytes, recordCount, hasChecksums } = places;
  const slot = await source.read(recordsOffset, strideBytes);
  const view = new DataView(slot.buffer, slot.byteOffset, slot.length);
  const head = readSlotHead(view, 0, places);
  return {
    ...places,
    recordCount: Math.min(recordCount, mostSlots(places, source.size)),
    firstSequence: hasChecksums ? places.firstSequence : (head?.sequence ?? 0),
    // The record's own size stands there in the byte order of its machine.
    littleEndian: head === null || view.getUint16(headBytes + 6, true) === head.bytes,
    attrsOffset: 0,
    attrsBytes: 0,
    attrCount: 0,
    attrsChecksum: 0,
  };
}

async function readAttrs(source: ByteSource, header: HistoryHeader, table: EventTable): Promise<boolean> {
  const { attrsOffset, attrsBytes, attrCount, littleEndian, recordsOffset } = header;
  if (attrsBytes > MOST_ATTRS_BYTES || attrsOffset + attrsBytes > recordsOffset) return false;
  const bytes = await source.read(attrsOffset, attrsBytes);
  if (header.hasChecksums && checksumOf(bytes) !== header.attrsChecksum) return false;
  return attrCount > 0 && decodeEventAttrs(bytes, attrCount, littleEndian, table);
}

/** The sideband has the names of events, and their attrs where page 0 has lost them. */
async function nameEvents(
  source: ByteSource,
  header: HistoryHeader,
  table: EventTable,
  tell: Tell,
): Promise<void> {
  const sideband = await readSideband(source, header);
  if (sideband?.isWhole !== true) tell('bad-sideband', header.sidebandOffset);
  const written = sideband?.reader.events.events ?? [];
  if (table.events.length === 0) for (const { attr, ids, name } of written) table.add(attr, ids, name);
  else {
    // What may have become another name is none.
    const named = sideband?.isChanged === true ? [] : written;
    table.events.forEach((event, index) => {
      event.name = named[index]?.name ?? eventNameFromAttr(event.attr);
    });
  }
}

/** Null unless it is whole, has the right number of records, and grows. */
async function timesOf(
  source: ByteSource,
  { indexOffset, indexBytes, recordCount, hasChecksums, indexChecksum }: HistoryHeader,
): Promise<{ times: bigint[]; step: number } | null> {
  // A time for each record at the most.
  if (indexBytes < INDEX_HEAD_BYTES || indexBytes > INDEX_HEAD_BYTES + recordCount * 8) return null;
  const bytes = await source.read(indexOffset, indexBytes);
  if (bytes.length < indexBytes || (hasChecksums && checksumOf(bytes) !== indexChecksum)) return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const step = view.getUint32(4, true);
  if (view.getUint32(0, true) !== INDEX_MARKER || step === 0) return null;
  const count = Math.ceil(recordCount / step);
  if (view.getBigUint64(8, true) !== BigInt(count) || indexBytes < INDEX_HEAD_BYTES + count * 8) return null;
  const times = Array.from({ length: count }, (_, row) =>
    view.getBigUint64(INDEX_HEAD_BYTES + row * 8, true),
  );
  return times.every((time, row) => row === 0 || time >= times[row - 1]!) ? { times, step } : null;
}

/** What earlier writers left without a checksum is taken as it is. */
function isIntact(view: DataView, at: number, places: HistoryPlaces, recordBytes: number): boolean {
  const { headBytes, hasChecksums } = places;
  if (!hasChecksum(headBytes)) return true;
  const written = view.getUint32(at + AT_CHECKSUM, true);
  if (written === 0 && !hasChecksums) return true;
  return written === slotChecksum(view, at, headBytes, recordBytes);
}
