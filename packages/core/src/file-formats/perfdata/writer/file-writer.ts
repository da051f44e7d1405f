import {
  FILE_HEADER_SIZE,
  MAGIC_HI,
  MAGIC_LO,
  PERF_ATTR_SIZE_VER0,
  PERF_SAMPLE_BRANCH_STACK,
} from '../../../format/abi/index.ts';
import { BodyWriter } from '../../../format/records/index.ts';
import { encodeFeatures, type PerfDataFeatures } from '../features/index.ts';
import { UNFINISHED_MARK } from '../unfinished-mark.ts';
import { encodeAttrs, type WrittenEvent } from './written-event.ts';

/** What is known of a file before its first record, and all that `finishFile` needs. */
export interface FilePlan {
  /**
   * Goes at offset 0. It says that the file is not finished (`unfinishedHeader`), and has 0 bytes of records.
   */
  header: Uint8Array<ArrayBuffer>;
  /** Where records begin: right after `header`. */
  dataOffset: number;
  /** Byte order of the file. */
  littleEndian: boolean;
  /** The events of the file. */
  events: readonly WrittenEvent[];
  /** Where the attrs begin, in bytes. */
  attrsOffset: number;
  /** Size of an attr with the place of its ids, in bytes. */
  attrEntrySize: number;
}

/** A `perf_file_section` (offset and size) after each attr: where its ids are. */
const SECTION_SIZE = 16;

/**
 * A file, in the order in which perf writes it:
 *
 *   | header, 104 | ids of all events | per event: attr, section of its ids | records ... | feature table | features |
 *   0                                                                        dataOffset    dataOffset + dataSize
 *
 * The feature table has a section per set feature bit, in their order.
 */
export function planFile(options: { attrs: readonly WrittenEvent[]; littleEndian?: boolean }): FilePlan {
  const littleEndian = options.littleEndian ?? true;
  const events = options.attrs;
  const attrs = encodeAttrs(events, littleEndian);
  const idCount = events.reduce((sum, { ids }) => sum + ids.length, 0);
  const attrsOffset = FILE_HEADER_SIZE + idCount * 8;
  const attrEntrySize = (attrs[0]?.length ?? PERF_ATTR_SIZE_VER0) + SECTION_SIZE;
  const dataOffset = attrsOffset + attrs.length * attrEntrySize;
  const plan = { dataOffset, littleEndian, events, attrsOffset, attrEntrySize };

  const writer = new BodyWriter(littleEndian, dataOffset);
  writer.rest(unfinishedHeader(plan, 0));
  for (const { ids } of events) for (const id of ids) writer.u64(id);
  let idsOffset = FILE_HEADER_SIZE;
  attrs.forEach((attr, place) => {
    const size = events[place]!.ids.length * 8;
    writer.rest(attr);
    writer.u64(BigInt(idsOffset));
    writer.u64(BigInt(size));
    idsOffset += size;
  });
  return { ...plan, header: writer.take() };
}

/**
 * The header (104 bytes) of a file that is still being written, and whose records take `dataSize` bytes by
 * now. perf 6.1 reads those, and nothing of a file whose header says 0. Readers here know by a mark that more
 * may follow, and that the file has no features.
 */
export function unfinishedHeader(plan: Omit<FilePlan, 'header'>, dataSize: number): Uint8Array<ArrayBuffer> {
  return fileHeader(plan, dataSize, [], UNFINISHED_MARK);
}

/** The final header (104 bytes) of a file for whose features there was no room. */
export function headerWithoutFeatures(
  plan: Omit<FilePlan, 'header'>,
  dataSize: number,
): Uint8Array<ArrayBuffer> {
  return fileHeader(plan, dataSize, []);
}

/**
 * What completes a file whose records take `dataSize` bytes: the final `header` (104 bytes, to be written
 * over the first one) and the `tail` (feature table and sections, right after the records). Event
 * descriptions are made from the plan where `features` has none.
 */
export function finishFile(
  plan: FilePlan,
  dataSize: number,
  features: Partial<PerfDataFeatures> = {},
): { header: Uint8Array<ArrayBuffer>; tail: Uint8Array<ArrayBuffer> } {
  const { littleEndian } = plan;
  const sections = encodeFeatures(withDescriptions(plan.events, features), littleEndian);
  const tail = new BodyWriter(littleEndian);
  let offset = plan.dataOffset + dataSize + sections.size * SECTION_SIZE;
  for (const { length } of sections.values()) {
    tail.u64(BigInt(offset));
    tail.u64(BigInt(length));
    offset += length;
  }
  for (const bytes of sections.values()) tail.rest(bytes);
  return { header: fileHeader(plan, dataSize, [...sections.keys()]), tail: tail.take() };
}

/**
 * `features` with what the events say themselves, where it does not: their names, and that their samples have
 * branch stacks, without which perf shows none.
 */
export function withDescriptions(
  events: readonly WrittenEvent[],
  features: Partial<PerfDataFeatures>,
): PerfDataFeatures {
  const eventDescriptions = events.map(({ attr, ids, name }) => ({ attr, name, ids: [...ids] }));
  const hasBranches = events.some(({ attr }) => (attr.sampleType & BigInt(PERF_SAMPLE_BRANCH_STACK)) !== 0n);
  return {
    raw: new Map(),
    ...(hasBranches ? { branchStack: true as const } : {}),
    ...features,
    eventDescriptions: features.eventDescriptions ?? eventDescriptions,
  };
}

function fileHeader(
  plan: Omit<FilePlan, 'header'>,
  dataSize: number,
  featureBits: readonly number[],
  mark = 0,
): Uint8Array<ArrayBuffer> {
  const writer = new BodyWriter(plan.littleEndian, FILE_HEADER_SIZE);
  writer.u64Pair(MAGIC_LO, MAGIC_HI);
  writer.u64(BigInt(FILE_HEADER_SIZE));
  writer.u64(BigInt(plan.attrEntrySize));
  writer.u64(BigInt(plan.attrsOffset));
  writer.u64(BigInt(plan.events.length * plan.attrEntrySize));
  writer.u64(BigInt(plan.dataOffset));
  writer.u64(BigInt(dataSize));
  // The section of event types: not used since Linux 3.10.
  writer.u64(BigInt(mark));
  writer.u64(0n);
  for (let word = 0n; word < 4n; word++) {
    const bits = featureBits.filter((bit) => BigInt(bit >>> 6) === word);
    writer.u64(bits.reduce((sum, bit) => sum | (1n << BigInt(bit & 63)), 0n));
  }
  return writer.take();
}
