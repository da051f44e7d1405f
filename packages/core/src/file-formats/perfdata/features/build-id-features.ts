import { type DamageLog, encodeUtf8, textUpToNul } from '../../../base/index.ts';
import {
  PERF_RECORD_HEADER_BUILD_ID,
  PERF_RECORD_MISC_BUILD_ID_SIZE,
  PERF_RECORD_MISC_CPUMODE_MASK,
  PERF_RECORD_MISC_GUEST_KERNEL,
  PERF_RECORD_MISC_GUEST_USER,
  RECORD_HEADER_SIZE,
} from '../../../format/abi/index.ts';
import type { BodyWriter } from '../../../format/records/index.ts';
import { type FeatureRead, type FeatureWriter, NAME_ALIGN } from './feature-codec.ts';
import { FeatureReader } from './feature-reader.ts';
import type { BuildIdEntry, PerfDataFeatures } from './perf-data-features.ts';

const MAX_BUILD_ID_SIZE = 20;
const MAX_RECORD_SIZE = 0xffff;
/** Header, pid, and 24 bytes: the build id, and in its last 4 the size. */
const FIXED_SIZE = RECORD_HEADER_SIZE + 4 + 24;
const FIXED_SIZE_WITHOUT_PID = RECORD_HEADER_SIZE + 24;
const HOST_PID = -1;
const GUEST_PID = 0;

/**
 * BUILD_ID: records, one after the other. Their type means nothing:
 *
 *   | type, misc, size | pid | build id: 20 bytes | its size u8, 0 0 0 | path, zeros |
 *
 * perf before 2.6.36 wrote no pid. Its first entry is the kernel, so a path that has lost its first four
 * letters (`nel.kallsyms]`) tells such a section.
 */
export const readBuildIds: FeatureRead = (reader, into) => {
  const start = reader.pos;
  let entries = readEntries(reader, true);
  if (entries.some((entry) => entry.path === 'nel.kallsyms]')) {
    reader.pos = start;
    reader.damaged = false;
    entries = readEntries(reader, false);
  }
  into.buildIds = entries;
};

export const buildIdsWriter: FeatureWriter = {
  fields: ['buildIds'],
  write(writer, features) {
    if (features.buildIds === undefined) return false;
    for (const entry of features.buildIds) writeBuildIdRecord(writer, entry);
    return true;
  },
};

function readEntries(reader: FeatureReader, hasPid: boolean): BuildIdEntry[] {
  const fixedSize = hasPid ? FIXED_SIZE : FIXED_SIZE_WITHOUT_PID;
  const { view, littleEndian } = reader;
  const entries: BuildIdEntry[] = [];
  while (reader.left > 0) {
    const start = reader.pos;
    const size = reader.left >= fixedSize ? view.getUint16(start + 6, littleEndian) : 0;
    if (size < fixedSize || size > reader.left) {
      reader.damaged = true;
      return entries;
    }
    reader.skip(size);
    const misc = view.getUint16(start + 4, littleEndian);
    const pid = hasPid ? view.getInt32(start + RECORD_HEADER_SIZE, littleEndian) : missingPid(misc);
    const id = bytesAt(view, start + fixedSize - 24, MAX_BUILD_ID_SIZE);
    const path = bytesAt(view, start + fixedSize, size - fixedSize);
    if (path.indexOf(0) < 0) reader.damaged = true;
    entries.push({
      pid,
      misc,
      buildId: buildIdHex(id, misc, view.getUint8(start + fixedSize - 4)),
      path: textUpToNul(path),
    });
  }
  return entries;
}

function bytesAt(view: DataView, at: number, size: number): Uint8Array {
  return new Uint8Array(view.buffer, view.byteOffset + at, size);
}

function missingPid(misc: number): number {
  const mode = misc & PERF_RECORD_MISC_CPUMODE_MASK;
  const isGuest = mode === PERF_RECORD_MISC_GUEST_KERNEL || mode === PERF_RECORD_MISC_GUEST_USER;
  return isGuest ? GUEST_PID : HOST_PID;
}

/**
 * The build id without its padding. Before Linux 5.10 the size was not recorded: then whole words of zeros at
 * the end are padding of a shorter id (md5 has 16 bytes, xxhash 8).
 */
function buildIdHex(id: Uint8Array, misc: number, recordedSize: number): string {
  let size = MAX_BUILD_ID_SIZE;
  if ((misc & PERF_RECORD_MISC_BUILD_ID_SIZE) !== 0) size = Math.min(recordedSize, MAX_BUILD_ID_SIZE);
  else while (size >= 4 && id.subarray(size - 4, size).every((byte) => byte === 0)) size -= 4;
  return Array.from(id.subarray(0, size), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/**
 * Add what one HEADER_BUILD_ID record (header included) says, as pipe mode carries them.
 * Damage as in `decodeFeature`.
 */
export function decodeBuildIdRecord(
  bytes: Uint8Array,
  littleEndian: boolean,
  into: PerfDataFeatures,
  damage: DamageLog,
  fileOffset: number,
): void {
  const reader = new FeatureReader(bytes, littleEndian);
  into.buildIds ??= [];
  into.buildIds.push(...readEntries(reader, true));
  if (reader.damaged) damage.add('bad-feature', fileOffset);
}

/** Append one entry as a record: part of the section in file mode, a record of its own in pipe mode. */
export function writeBuildIdRecord(writer: BodyWriter, entry: BuildIdEntry): void {
  const id = Uint8Array.from(entry.buildId.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
  const size = Math.min(id.length, MAX_BUILD_ID_SIZE);
  const path = encodeUtf8(entry.path);
  // Old readers know nothing of the flag and the size; the id and the path stand where they expect them.
  writer.beginRecord(PERF_RECORD_HEADER_BUILD_ID, entry.misc | PERF_RECORD_MISC_BUILD_ID_SIZE);
  writer.i32(entry.pid);
  writer.bytes(id, MAX_BUILD_ID_SIZE);
  writer.u32(writer.littleEndian ? size : size << 24);
  const padded = Math.ceil((path.length + 1) / NAME_ALIGN) * NAME_ALIGN;
  writer.bytes(path, Math.min(padded, MAX_RECORD_SIZE - FIXED_SIZE));
  writer.endRecord();
}
