import { FormatError } from '../../base/index.ts';

/** `RecordedFile.kind`: the `perf-PID.map` of the process. */
export const RECORDED_PERF_MAP = 1;
/** `RecordedFile.kind`: what was inlined where (`decodeInlinedCode`). */
export const RECORDED_INLINED_CODE = 2;
/** `RecordedFile.kind`: when how much of the perf map was there (`encodeMapTimes`). */
export const RECORDED_MAP_TIMES = 3;
/** Source maps that were nowhere but in its memory. */
export const RECORDED_SOURCE_MAPS = 4;
/** When a process began whose perf map is not in the recording: milliseconds since 1970, u64, not packed. */
const RECORDED_PROCESS_START = 5;
const START_BYTES = 8;

/** A file that a process wrote of its code, inside the recording. */
export interface RecordedFile {
  /** One of RECORDED_*. */
  kind: number;
  /** The process that wrote it. */
  pid: number;
  /** Of the file. */
  sizeBytes: number;
  /** The file, compressed (zlib, RFC 1950). */
  packed: Uint8Array<ArrayBuffer>;
}

const VERSION = 1;
const HEAD_BYTES = 8;
const ENTRY_BYTES = 24;
/** What DEFLATE can make of a byte, at most. */
const MOST_RATIO = 1040;
/** A larger file is not ours. */
const MOST_FILE_BYTES = 1 << 28;

/**
 * The section of `FEATURE_RECORDED_FILES`, little-endian or as the recording is:
 *
 *   version u32, count u32 | kind u32, pid u32, size u64, packed size u64 | packed, padded to 8 | kind ...
 *
 * `starts`: when processes began, in milliseconds since 1970.
 */
export function encodeRecordedFiles(
  files: readonly RecordedFile[],
  littleEndian = true,
  starts: ReadonlyMap<number, number> = new Map(),
): Uint8Array<ArrayBuffer> {
  const all = [...files, ...[...starts].map(([pid, startMs]) => startFile(pid, startMs, littleEndian))];
  const bytes = all.reduce((sum, { packed }) => sum + ENTRY_BYTES + padded(packed.length), HEAD_BYTES);
  const section = new Uint8Array(bytes);
  const view = new DataView(section.buffer);
  view.setUint32(0, VERSION, littleEndian);
  view.setUint32(4, all.length, littleEndian);
  let at = HEAD_BYTES;
  for (const { kind, pid, sizeBytes, packed } of all) {
    view.setUint32(at, kind, littleEndian);
    view.setInt32(at + 4, pid, littleEndian);
    view.setBigUint64(at + 8, BigInt(sizeBytes), littleEndian);
    view.setBigUint64(at + 16, BigInt(packed.length), littleEndian);
    section.set(packed, at + ENTRY_BYTES);
    at += ENTRY_BYTES + padded(packed.length);
  }
  return section;
}

/**
 * The files of a section that `encodeRecordedFiles` made. They share its memory. Throws FormatError
 * (`ERR_RECORDED_FILES`) where the section does not hold together.
 */
export function decodeRecordedFiles(section: Uint8Array<ArrayBuffer>, littleEndian = true): RecordedFile[] {
  const view = new DataView(section.buffer, section.byteOffset, section.length);
  const need = (at: number, bytes: number, what: string) => {
    if (bytes > section.length - at)
      throw new FormatError('ERR_RECORDED_FILES', at, what, `${section.length - at} bytes`);
  };
  need(0, HEAD_BYTES, 'the head of the recorded files');
  const version = view.getUint32(0, littleEndian);
  if (version !== VERSION)
    throw new FormatError('ERR_RECORDED_FILES', 0, `recorded files of version ${VERSION}`, `${version}`);
  const count = view.getUint32(4, littleEndian);
  const files: RecordedFile[] = [];
  for (let at = HEAD_BYTES; files.length < count; ) {
    need(at, ENTRY_BYTES, 'a recorded file');
    const sizeBytes = Number(view.getBigUint64(at + 8, littleEndian));
    const packedBytes = Number(view.getBigUint64(at + 16, littleEndian));
    need(at + ENTRY_BYTES, packedBytes, `${packedBytes} bytes of a recorded file`);
    if (sizeBytes > Math.min(MOST_FILE_BYTES, packedBytes * MOST_RATIO))
      throw new FormatError('ERR_RECORDED_FILES', at, 'a size that its bytes can have', `${sizeBytes}`);
    files.push({
      kind: view.getUint32(at, littleEndian),
      pid: view.getInt32(at + 4, littleEndian),
      sizeBytes,
      packed: section.subarray(at + ENTRY_BYTES, at + ENTRY_BYTES + packedBytes),
    });
    at = Math.min(section.length, at + ENTRY_BYTES + padded(packedBytes));
  }
  return files;
}

function padded(bytes: number): number {
  return Math.ceil(bytes / 8) * 8;
}

function startFile(pid: number, startMs: number, littleEndian: boolean): RecordedFile {
  const packed = new Uint8Array(START_BYTES);
  new DataView(packed.buffer).setBigUint64(0, BigInt(Math.max(0, Math.floor(startMs))), littleEndian);
  return { kind: RECORDED_PROCESS_START, pid, sizeBytes: START_BYTES, packed };
}

/** When processes began, in milliseconds since 1970, where their recording tells it. */
export function processStarts(files: readonly RecordedFile[], littleEndian = true): Map<number, number> {
  const starts = new Map<number, number>();
  for (const { kind, pid, packed } of files) {
    if (kind !== RECORDED_PROCESS_START || packed.length !== START_BYTES) continue;
    const view = new DataView(packed.buffer, packed.byteOffset, START_BYTES);
    starts.set(pid, Number(view.getBigUint64(0, littleEndian)));
  }
  return starts;
}
