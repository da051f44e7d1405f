import {
  FEATURE_BITS,
  FILE_HEADER_SIZE,
  featureName,
  MAGIC_HI,
  MAGIC_LO,
  PERF_ATTR_SIZE_VER0,
  PIPE_HEADER_SIZE,
} from '../../abi/index.ts';
import { type ByteSource, type DamageLog, FormatError, TWO_32 } from '../../base/index.ts';
import { type PerfEventAttr, readAttr } from '../../records/index.ts';
import { MAX_IDS } from './event-table.ts';
import { type Section, withoutOverlaps } from './sections.ts';

/** "PERFFILE", the first version: same header in host byte order. */
const OLD_MAGIC_LO = 0x46524550;
const OLD_MAGIC_HI = 0x454c4946;
const ATTR_ENTRY_MAX = 4096;
/** In either byte order, and as perf before 2.6.33 wrote it. */
const MAGIC_TEXTS = ['PERFILE2', '2ELIFREP', 'PERFFILE', 'ELIFFREP'];
const NOT_PERF_DATA =
  'This is not a perf.data file. Record one with `counterpoint record -- COMMAND` or `perf record`.';
const CUT_OFF = 'The file is cut off before its data: copy it again from its machine, or record again.';
/** Events that are read; a recording of thousands of CPUs has some thousands. */
const MAX_ATTRS = 1 << 16;

/** The first bytes of a file, before anything is believed. */
/** A raw Intel PT trace begins with this pair eight times, its PSB packet. */
const PSB = [0x02, 0x82] as const;

export interface Magic {
  littleEndian: boolean;
  isPipe: boolean;
}

/**
 * What kind of perf.data begins with these bytes. Throws FormatError where none does.
 * Header: magic u64, size u64 (16 in pipe mode).
 */
export function readMagic(bytes: Uint8Array): Magic {
  if (bytes.length === 0) {
    throw new FormatError(
      'ERR_NOT_PERF_DATA',
      0,
      'a perf.data header',
      'an empty file',
      'Was the recording stopped before it began?',
    );
  }
  if (bytes.length < PIPE_HEADER_SIZE) {
    throw new FormatError(
      'ERR_NOT_PERF_DATA',
      0,
      `a perf.data header of ${PIPE_HEADER_SIZE} bytes or more`,
      `${bytes.length} bytes`,
      isBeginning(bytes) ? CUT_OFF : NOT_PERF_DATA,
    );
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  for (const littleEndian of [true, false]) {
    const lo = view.getUint32(littleEndian ? 0 : 4, littleEndian);
    const hi = view.getUint32(littleEndian ? 4 : 0, littleEndian);
    const isNew = lo === MAGIC_LO && hi === MAGIC_HI;
    const isOld = lo === OLD_MAGIC_LO && hi === OLD_MAGIC_HI;
    if (!isNew && !isOld) continue;
    const size = readU64(view, 8, littleEndian);
    return { littleEndian, isPipe: size === PIPE_HEADER_SIZE };
  }
  const isTrace = bytes.subarray(0, PIPE_HEADER_SIZE).every((byte, at) => byte === PSB[at & 1]);
  throw new FormatError(
    'ERR_NOT_PERF_DATA',
    0,
    'the magic PERFILE2',
    printable(bytes.subarray(0, 8)),
    isTrace
      ? 'This is a raw Intel PT trace: counterpoint pt dump shows its packets, pt profile what ran.'
      : NOT_PERF_DATA,
  );
}

/** Of the magic, as far as the bytes go. */
function isBeginning(bytes: Uint8Array): boolean {
  const text = String.fromCharCode(...bytes.subarray(0, 8));
  return MAGIC_TEXTS.some((magic) => magic.startsWith(text));
}

/** A u64 as float64; beyond 2^53 it is not exact, which is past the end of any file anyway. */
export function readU64(view: DataView, at: number, littleEndian: boolean): number {
  const first = view.getUint32(at, littleEndian);
  const second = view.getUint32(at + 4, littleEndian);
  return littleEndian ? second * TWO_32 + first : first * TWO_32 + second;
}

function printable(bytes: Uint8Array): string {
  return JSON.stringify(String.fromCharCode(...bytes));
}

export interface FileAttr {
  attr: PerfEventAttr;
  ids: number[];
  /** Where the attr stands in the file, or the record that brought it. */
  fileOffset: number;
}

/** Where the table says that a feature's section is. */
export interface FeatureSection extends Section {
  bit: number;
  /** Where its entry of the table stands. */
  entryOffset: number;
}

export interface FileHeader {
  attrs: FileAttr[];
  data: Section;
  eventTypes: Section;
  /** As in the table, inside the file; in order of bits. */
  features: FeatureSection[];
  /** The recorder was killed: it never wrote the size. Data then runs to the end of the file. */
  isUnfinished: boolean;
  /** Bytes of data that the header tells of, and that are beyond the end of the file. */
  missingBytes: number;
}

/**
 * Read the header, attrs, ids and the table of features of a file in file mode:
 *
 *   magic 8 | header size 8 | attr entry size 8 | attrs 16 | data 16 | event types 16 | feature bits 32
 */
export async function readFileHeader(
  source: ByteSource,
  littleEndian: boolean,
  damage: DamageLog,
): Promise<FileHeader> {
  const bytes = await source.read(0, FILE_HEADER_SIZE);
  if (bytes.length < FILE_HEADER_SIZE) {
    throw new FormatError(
      'ERR_TRUNCATED_HEADER',
      bytes.length,
      `a header of ${FILE_HEADER_SIZE} bytes`,
      `${bytes.length} bytes`,
      CUT_OFF,
    );
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const attrEntrySize = readU64(view, 16, littleEndian);
  const section = (at: number): Section => ({
    offset: readU64(view, at, littleEndian),
    size: readU64(view, at + 8, littleEndian),
  });
  const attrSection = section(24);
  const data = section(40);
  const eventTypes = section(56);

  if (attrEntrySize < PERF_ATTR_SIZE_VER0 + 16 || attrEntrySize > ATTR_ENTRY_MAX) {
    throw new FormatError(
      'ERR_BAD_ATTR_SIZE',
      16,
      `an attr entry of 80 to ${ATTR_ENTRY_MAX} bytes`,
      `${attrEntrySize}`,
    );
  }
  if (data.offset < FILE_HEADER_SIZE - 32 || data.offset > source.size) {
    throw new FormatError(
      'ERR_BAD_DATA_OFFSET',
      40,
      'a data section inside the file',
      `offset ${data.offset} of ${source.size}`,
      data.offset > source.size ? CUT_OFF : undefined,
    );
  }
  const isUnfinished = data.size === 0 && data.offset < source.size;
  const missingBytes = Math.max(0, data.offset + data.size - source.size);
  if (isUnfinished) data.size = source.size - data.offset;
  else if (missingBytes > 0) {
    damage.add('data-past-end', 48);
    data.size = source.size - data.offset;
  }
  const attrs = await readAttrs(source, attrSection, attrEntrySize, littleEndian, damage);
  const features = isUnfinished ? [] : await readFeatureTable(source, view, data, littleEndian, damage);
  return { attrs, data, eventTypes, features, isUnfinished, missingBytes };
}

async function readAttrs(
  source: ByteSource,
  section: Section,
  entrySize: number,
  littleEndian: boolean,
  damage: DamageLog,
): Promise<FileAttr[]> {
  if (section.offset + section.size > source.size) damage.add('attrs-past-end', 24);
  const size = Math.min(
    section.size,
    Math.max(0, source.size - section.offset),
    entrySize * MAX_ATTRS,
    ATTR_ENTRY_MAX * 4096,
  );
  if (size < section.size && section.offset + section.size <= source.size) damage.add('too-many-attrs', 24);
  const bytes = await source.read(section.offset, size);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const attrs: FileAttr[] = [];
  const idSections: IdSection[] = [];
  for (let at = 0; at + entrySize <= bytes.length; at += entrySize) {
    const stated = view.getUint32(at + 4, littleEndian);
    const attrSize = Math.min(stated === 0 ? PERF_ATTR_SIZE_VER0 : stated, entrySize - 16);
    const attr: FileAttr = {
      attr: readAttr(view, at, attrSize, littleEndian),
      ids: [],
      fileOffset: section.offset + at,
    };
    attrs.push(attr);
    idSections.push({
      attr,
      offset: readU64(view, at + entrySize - 16, littleEndian),
      size: readU64(view, at + entrySize - 8, littleEndian),
    });
  }
  // Each byte of the file is an id of one event at most, so there are never more ids
  // than bytes to make them of.
  for (const ids of withoutOverlaps(idSections, ({ offset }) => damage.add('ids-overlap', offset)))
    ids.attr.ids = await readIds(source, ids, littleEndian, damage);
  return attrs;
}

interface IdSection extends Section {
  attr: FileAttr;
}

async function readIds(
  source: ByteSource,
  section: Section,
  littleEndian: boolean,
  damage: DamageLog,
): Promise<number[]> {
  if (section.size === 0) return [];
  if (section.offset + section.size > source.size) {
    damage.add('ids-past-end', section.offset);
    return [];
  }
  const count = Math.floor(section.size / 8);
  if (count > MAX_IDS) {
    damage.add('too-many-ids', section.offset);
    return [];
  }
  const bytes = await source.read(section.offset, count * 8);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  return Array.from({ length: Math.floor(bytes.length / 8) }, (_, i) => readU64(view, i * 8, littleEndian));
}

/** The table of feature sections follows the data: one {offset, size} for each set bit, in order of bits. */
async function readFeatureTable(
  source: ByteSource,
  header: DataView,
  data: Section,
  littleEndian: boolean,
  damage: DamageLog,
): Promise<FeatureSection[]> {
  const bits = featureBits(header, littleEndian);
  const tableOffset = data.offset + data.size;
  const bytes = await source.read(tableOffset, bits.length * 16);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const features: FeatureSection[] = [];
  bits.forEach((bit, i) => {
    if (i * 16 + 16 > bytes.length) {
      damage.add('feature-table-cut', tableOffset);
      return;
    }
    const section = {
      bit,
      entryOffset: tableOffset + i * 16,
      offset: readU64(view, i * 16, littleEndian),
      size: readU64(view, i * 16 + 8, littleEndian),
    };
    if (section.offset + section.size > source.size)
      damage.add(`feature-past-end:${featureName(bit)}`, section.entryOffset);
    else features.push(section);
  });
  return features;
}

/** The set bits of the feature bitmap at offset 72, an array of u64. */
function featureBits(header: DataView, littleEndian: boolean): number[] {
  const bits: number[] = [];
  for (let bit = 0; bit < FEATURE_BITS; bit++) {
    const word = 72 + (bit >>> 6) * 8;
    const half = (bit & 32) === 0 ? 0 : 1;
    const at = word + (littleEndian ? half : 1 - half) * 4;
    if ((header.getUint32(at, littleEndian) & (1 << (bit & 31))) !== 0) bits.push(bit);
  }
  return bits;
}
