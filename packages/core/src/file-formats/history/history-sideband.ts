import { type ByteSource, CounterpointError, memorySource } from '../../base/index.ts';
import {
  lossAtEnd,
  openPerfData,
  type PerfDataReader,
  type RecordedEvent,
  writePerfData,
} from '../perfdata/index.ts';
import { checksumOf } from './checksum.ts';
import { HISTORY_PAGE_BYTES, type HistoryHeader, type HistoryPlaces } from './layout.ts';

/** Of a sideband that is read into memory. */
const MOST_SIDEBAND_BYTES = 1 << 30;
/** The beginnings of perf.data files, in both byte orders. */
const MAGICS = ['PERFILE2', '2ELIFREP'];
/** A writer puts the sideband at the next page behind the slots. */
const SEARCHED_BYTES = 2 * HISTORY_PAGE_BYTES;

/** A sideband, and whether it is as it was written. */
interface Sideband {
  reader: PerfDataReader;
  isWhole: boolean;
  /** Bytes of it are others than those that were written. */
  isChanged: boolean;
}

/**
 * The sideband of a history, or its first part where the file was cut off in it. Null where nothing of it can
 * be read.
 */
export async function readSideband(source: ByteSource, header: HistoryHeader): Promise<Sideband | null> {
  const { sidebandOffset, sidebandBytes, hasChecksums, sidebandChecksum } = header;
  const sizeBytes = Math.min(sidebandBytes, source.size - sidebandOffset);
  if (sidebandOffset <= 0 || sizeBytes <= 0 || sizeBytes > MOST_SIDEBAND_BYTES) return null;
  const bytes = await source.read(sidebandOffset, sizeBytes);
  const isAllThere = sizeBytes === sidebandBytes;
  const isChanged = isAllThere && hasChecksums && checksumOf(bytes) !== sidebandChecksum;
  try {
    const reader = await openPerfData(memorySource(bytes));
    return { reader, isChanged, isWhole: isAllThere && !isChanged && lossAtEnd(reader) === null };
  } catch (error) {
    if (!(error instanceof CounterpointError)) throw error;
    return null;
  }
}

/** A sideband that knows the events, and of no process and no file. */
export async function emptySideband(
  events: readonly RecordedEvent[],
  littleEndian: boolean,
): Promise<PerfDataReader> {
  const attrs = events.map(({ attr, ids, name }) => ({ attr, ids: ids.map(BigInt), name }));
  return await openPerfData(memorySource(writePerfData({ attrs, records: [], littleEndian })));
}

/**
 * Where the sideband begins, for who knows only where the slots end: it is a file with a
 * beginning of its own. It says itself where it ends, so that all bytes behind it may be read
 * with it. Zeros where none begins.
 */
export async function findSideband(
  source: ByteSource,
  slotsEnd: number,
): Promise<Pick<HistoryPlaces, 'sidebandOffset' | 'sidebandBytes'>> {
  const bytes = await source.read(slotsEnd, SEARCHED_BYTES);
  for (let at = 0; at + 8 <= bytes.length; at += 8)
    if (MAGICS.includes(String.fromCharCode(...bytes.subarray(at, at + 8))))
      return { sidebandOffset: slotsEnd + at, sidebandBytes: source.size - slotsEnd - at };
  return { sidebandOffset: 0, sidebandBytes: 0 };
}
