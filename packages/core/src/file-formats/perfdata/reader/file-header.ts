import { type ByteSource, type DamageLog, FormatError, floatAt } from '../../../base/index.ts';
import {
  FEATURE_BITS,
  FILE_HEADER_SIZE,
  featureName,
  PERF_ATTR_SIZE_VER0,
  PIPE_HEADER_SIZE,
} from '../../../format/abi/index.ts';
import { type PerfEventAttr, readAttr } from '../../../format/records/index.ts';
import { UNFINISHED_MARK } from '../unfinished-mark.ts';
import { MAX_IDS } from './event-table.ts';
import { type Section, withoutOverlaps } from './sections.ts';

const ATTR_ENTRY_MAX = 4096;
/** `MAGIC_LO` and `MAGIC_HI` as characters, little endian and big, and as perf before 2.6.33 wrote them. */
const MAGIC_TEXTS = ['PERFILE2', '2ELIFREP', 'PERFFILE', 'ELIFFREP'];
const MAGIC_SIZE = 8;
const NOT_PERF_DATA =
  'This is not a perf.data file. Record one with `counterpoint record -- COMMAND` or `perf record`.';
const CUT_OFF = 'The file is cut off before its data: copy it again from its machine, or record again.';
/** Events that are read; a recording of thousands of CPUs has some thousands. */
const MAX_ATTRS = 1 << 16;

/** A raw Intel PT trace begins with this pair eight times, its PSB packet. */
const PSB = [0x02, 0x82] as const;

/** The first bytes of a file, before anything is believed. */
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
  const magic = String.fromCharCode(...bytes.subarray(0, MAGIC_SIZE));
  if (bytes.length < PIPE_HEADER_SIZE) {
    throw new FormatError(
      'ERR_NOT_PERF_DATA',
      0,
      `a perf.data header of ${PIPE_HEADER_SIZE} bytes or more`,
      `${bytes.length} bytes`,
      MAGIC_TEXTS.some((known) => known.startsWith(magic)) ? CUT_OFF : NOT_PERF_DATA,
    );
  }
  const known = MAGIC_TEXTS.indexOf(magic);
  if (known >= 0) {
    const littleEndian = known % 2 === 0;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    return { littleEndian, isPipe: floatAt(view, MAGIC_SIZE, littleEndian) === PIPE_HEADER_SIZE };
  }
  const isTrace = bytes.subarray(0, PIPE_HEADER_SIZE).every((byte, at) => byte === PSB[at & 1]);
  throw new FormatError(
    'ERR_NOT_PERF_DATA',
    0,
    'the magic PERFILE2',
    JSON.stringify(magic),
    isTrace
      ? 'This is a raw Intel PT trace: counterpoint pt dump shows its packets, pt profile what ran.'
      : NOT_PERF_DATA,
  );
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
  const attrEntrySize = floatAt(view, 16, littleEndian);
  const section = (at: number): Section => ({
    offset: floatAt(view, at, littleEndian),
    size: floatAt(view, at + 8, littleEndian),
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
  const isMarked = eventTypes.offset === UNFINISHED_MARK && eventTypes.size === 0;
  // perf's own, and ours of earlier versions, have a size of 0 until they are finished.
  const isUnfinished = (isMarked || data.size === 0) && data.offset < source.size;
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
      offset: floatAt(view, at + entrySize - 16, littleEndian),
      size: floatAt(view, at + entrySize - 8, littleEndian),
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
  return Array.from({ length: Math.floor(bytes.length / 8) }, (_, i) => floatAt(view, i * 8, littleEndian));
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
      offset: floatAt(view, i * 16, littleEndian),
      size: floatAt(view, i * 16 + 8, littleEndian),
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
