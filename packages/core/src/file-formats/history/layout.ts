/**
 * A history of fixed-size records: one record is one seek away. All numbers are little-endian.
 *
 *   page 0            records                              sideband      index         footer
 *   | header | attrs | slot 0 | slot 1 | ... | slot n-1 | | perf.data | | times     | | 96 bytes |
 *                    recordsOffset                        sidebandOffset indexOffset   at the end
 *
 *   slot   | marker | bytes | sequence | timeNs | checksum | 0 |  the record as the kernel wrote it  | zeros |
 *          0        4       8          16       24         28  headBytes                             strideBytes
 *
 * - Every slot begins with a marker, its sequence number and its time, so the stream is found without page 0.
 * - The header, the head of a slot and the index say their own size. A reader takes what it knows of a larger
 *   one, and zeros for what a smaller one lacks.
 * - What is no sample (who ran, which files were mapped, features) is apart: a perf.data file without samples.
 * - The footer says again where everything is.
 * - Header, attrs, sideband, index, footer and each slot have a checksum. Earlier writers had shorter headers
 *   and footers, and checksums of slots only, of which 0 was none.
 */
import { CounterpointError } from '../../base/index.ts';
import { checksumAround } from './checksum.ts';

export const HISTORY_MAGIC = 'CPTHIST1';
export const FOOTER_MAGIC = 'CPTHEND2';
/** Of 64 bytes, without what follows the places. */
const EARLIER_FOOTER_MAGIC = 'CPTHEND1';
/** 'CPR' and a byte that no text has. */
export const SLOT_MARKER = 0x1a52_5043;
/** 'CPI' and the same byte. */
export const INDEX_MARKER = 0x1a49_5043;

export const HISTORY_PAGE_BYTES = 4096;
/** Of this version; others may be longer or shorter. */
export const HEADER_BYTES = 160;
export const LEAST_HEADER_BYTES = 48;
export const FOOTER_BYTES = 96;
const EARLIER_FOOTER_BYTES = 64;
export const SLOT_HEAD_BYTES = 32;
/** Early writers had no checksum. */
export const LEAST_SLOT_HEAD_BYTES = 24;
export const AT_CHECKSUM = 24;
/** `marker, step, count`. */
export const INDEX_HEAD_BYTES = 16;
/** The index has one time for this many records. */
export const INDEX_STEP = 256;
/** A record takes 64 KiB at most, its head a little more. */
export const MOST_STRIDE_BYTES = 1 << 17;
/** Of attrs and their ids. */
export const MOST_ATTRS_BYTES = 1 << 24;
const RECORD_HEADER_BYTES = 8;

/** Where things are, from page 0 or from the footer. */
export interface HistoryPlaces {
  strideBytes: number;
  headBytes: number;
  recordsOffset: number;
  recordCount: number;
  sidebandOffset: number;
  sidebandBytes: number;
  indexOffset: number;
  indexBytes: number;
  /** False for earlier writers, where checksums of parts are 0, and those of slots may be. */
  hasChecksums: boolean;
  sidebandChecksum: number;
  indexChecksum: number;
}

export interface HistoryHeader extends HistoryPlaces {
  firstSequence: number;
  /** Of the records: that of the machine that recorded them. */
  littleEndian: boolean;
  attrsOffset: number;
  attrsBytes: number;
  attrCount: number;
  attrsChecksum: number;
}

/** `firstSequence` is 0 without checksums. */
export type FooterPlaces = HistoryPlaces & Pick<HistoryHeader, 'firstSequence'>;

type NumberOf<Parts> = { [Name in keyof Parts]: Parts[Name] extends number ? Name : never }[keyof Parts];
type Field = [name: NumberOf<HistoryHeader>, offset: number, bytes: 4 | 8];

const HEADER_FIELDS: readonly Field[] = [
  ['strideBytes', 12, 4],
  ['headBytes', 16, 4],
  ['recordsOffset', 24, 8],
  ['recordCount', 32, 8],
  ['firstSequence', 40, 8],
  ['sidebandOffset', 48, 8],
  ['sidebandBytes', 56, 8],
  ['indexOffset', 64, 8],
  ['indexBytes', 72, 8],
  ['attrsOffset', 80, 8],
  ['attrsBytes', 88, 8],
  ['attrCount', 96, 4],
  ['attrsChecksum', 100, 4],
  ['sidebandChecksum', 104, 4],
  ['indexChecksum', 108, 4],
];
const AT_HEADER_BYTES = 8;
/** 1: the records are big-endian. */
const AT_BYTE_ORDER = 20;
/** Of all other bytes of the header. */
export const AT_HEADER_CHECKSUM = 112;

const FOOTER_FIELDS: readonly Field[] = [
  ['strideBytes', 8, 4],
  ['headBytes', 12, 4],
  ['recordsOffset', 16, 8],
  ['recordCount', 24, 8],
  ['sidebandOffset', 32, 8],
  ['sidebandBytes', 40, 8],
  ['indexOffset', 48, 8],
  ['indexBytes', 56, 8],
  ['sidebandChecksum', 64, 4],
  ['indexChecksum', 68, 4],
  ['firstSequence', 72, 8],
];
/** Of all other bytes of the footer. */
const AT_FOOTER_CHECKSUM = 92;

function putMagic(view: DataView, magic: string): void {
  for (let at = 0; at < 8; at++) view.setUint8(at, magic.charCodeAt(at));
}

export function hasMagic(view: DataView, magic: string): boolean {
  if (view.byteLength < 8) return false;
  for (let at = 0; at < 8; at++) if (view.getUint8(at) !== magic.charCodeAt(at)) return false;
  return true;
}

function put(view: DataView, fields: readonly Field[], values: HistoryHeader): void {
  for (const [name, at, bytes] of fields)
    if (bytes === 4) view.setUint32(at, Number(values[name]), true);
    else view.setBigUint64(at, BigInt(Number(values[name])), true);
}

/** Fields behind the end are 0. */
function take(view: DataView, fields: readonly Field[], end: number): Record<string, number> {
  return Object.fromEntries(
    fields.map(([name, at, bytes]) => {
      if (at + bytes > end) return [name, 0];
      return [name, bytes === 4 ? view.getUint32(at, true) : Number(view.getBigUint64(at, true))];
    }),
  );
}

/** Page 0, up to the attrs. */
export function encodeHeader(header: HistoryHeader): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(HEADER_BYTES);
  const view = new DataView(bytes.buffer);
  putMagic(view, HISTORY_MAGIC);
  view.setUint32(AT_HEADER_BYTES, HEADER_BYTES, true);
  view.setUint32(AT_BYTE_ORDER, header.littleEndian ? 0 : 1, true);
  put(view, HEADER_FIELDS, header);
  view.setUint32(AT_HEADER_CHECKSUM, checksumAround(view, AT_HEADER_CHECKSUM), true);
  return bytes;
}

/** Null where these bytes, the first page, begin with no header. `isDamaged`: its checksum is another one. */
export function decodeHeader(page: Uint8Array): { header: HistoryHeader; isDamaged: boolean } | null {
  const view = new DataView(page.buffer, page.byteOffset, page.length);
  if (!hasMagic(view, HISTORY_MAGIC) || page.length < LEAST_HEADER_BYTES) return null;
  const sizeBytes = view.getUint32(AT_HEADER_BYTES, true);
  if (sizeBytes < LEAST_HEADER_BYTES) return null;
  const hasChecksums = sizeBytes >= HEADER_BYTES;
  // Of an earlier writer, what stands behind its header is the attrs.
  const values = take(view, HEADER_FIELDS, Math.min(sizeBytes, page.length));
  const littleEndian = view.getUint32(AT_BYTE_ORDER, true) !== 1;
  return {
    header: { ...(values as unknown as HistoryHeader), littleEndian, hasChecksums },
    isDamaged: hasChecksums && !isSealed(page, sizeBytes, AT_HEADER_CHECKSUM),
  };
}

export function encodeFooter(places: HistoryHeader): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(FOOTER_BYTES);
  const view = new DataView(bytes.buffer);
  putMagic(view, FOOTER_MAGIC);
  put(view, FOOTER_FIELDS, places);
  view.setUint32(AT_FOOTER_CHECKSUM, checksumAround(view, AT_FOOTER_CHECKSUM), true);
  return bytes;
}

/** The footer among the last bytes of a file; null where there is none, or a damaged one. */
export function decodeFooter(end: Uint8Array): FooterPlaces | null {
  const own = end.subarray(-FOOTER_BYTES);
  const view = new DataView(own.buffer, own.byteOffset, own.length);
  if (own.length === FOOTER_BYTES && hasMagic(view, FOOTER_MAGIC)) {
    if (!isSealed(own, FOOTER_BYTES, AT_FOOTER_CHECKSUM)) return null;
    return { ...(take(view, FOOTER_FIELDS, FOOTER_BYTES) as unknown as FooterPlaces), hasChecksums: true };
  }
  const earlier = end.subarray(-EARLIER_FOOTER_BYTES);
  const earlierView = new DataView(earlier.buffer, earlier.byteOffset, earlier.length);
  if (earlier.length < EARLIER_FOOTER_BYTES || !hasMagic(earlierView, EARLIER_FOOTER_MAGIC)) return null;
  const places = take(earlierView, FOOTER_FIELDS, EARLIER_FOOTER_BYTES) as unknown as FooterPlaces;
  return { ...places, hasChecksums: false };
}

/** Whether the first `sizeBytes` have the checksum that stands among them. */
function isSealed(bytes: Uint8Array, sizeBytes: number, checksumAt: number): boolean {
  if (sizeBytes > bytes.length) return false;
  const view = new DataView(bytes.buffer, bytes.byteOffset, sizeBytes);
  return view.getUint32(checksumAt, true) === checksumAround(view, checksumAt);
}

/** Whether slots can be found with these numbers in that many bytes. */
export function arePlausible(places: HistoryPlaces, sizeBytes: number): boolean {
  const { strideBytes, headBytes, recordsOffset } = places;
  return (
    strideBytes % 8 === 0 &&
    headBytes >= LEAST_SLOT_HEAD_BYTES &&
    headBytes % 8 === 0 &&
    strideBytes >= headBytes + RECORD_HEADER_BYTES &&
    strideBytes <= MOST_STRIDE_BYTES &&
    recordsOffset >= LEAST_HEADER_BYTES &&
    recordsOffset <= sizeBytes
  );
}

export function historyError(message: string, remedy: string): CounterpointError {
  return new CounterpointError('ERR_HISTORY', message, remedy);
}
