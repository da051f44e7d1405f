// Generated from abi/record-table.ts by scripts/gen-records.ts. Do not edit: change
// the table and run the script.
import {
  PERF_RECORD_AUX,
  PERF_RECORD_AUX_OUTPUT_HW_ID,
  PERF_RECORD_AUXTRACE,
  PERF_RECORD_AUXTRACE_ERROR,
  PERF_RECORD_AUXTRACE_INFO,
  PERF_RECORD_BPF_EVENT,
  PERF_RECORD_BPF_METADATA,
  PERF_RECORD_CALLCHAIN_DEFERRED,
  PERF_RECORD_CGROUP,
  PERF_RECORD_COMM,
  PERF_RECORD_COMPRESSED,
  PERF_RECORD_COMPRESSED2,
  PERF_RECORD_CPU_MAP,
  PERF_RECORD_EVENT_UPDATE,
  PERF_RECORD_EXIT,
  PERF_RECORD_FINISHED_INIT,
  PERF_RECORD_FINISHED_ROUND,
  PERF_RECORD_FORK,
  PERF_RECORD_HEADER_ATTR,
  PERF_RECORD_HEADER_BUILD_ID,
  PERF_RECORD_HEADER_EVENT_TYPE,
  PERF_RECORD_HEADER_FEATURE,
  PERF_RECORD_HEADER_TRACING_DATA,
  PERF_RECORD_ID_INDEX,
  PERF_RECORD_ITRACE_START,
  PERF_RECORD_KSYMBOL,
  PERF_RECORD_LOST,
  PERF_RECORD_LOST_SAMPLES,
  PERF_RECORD_MISC_MMAP_BUILD_ID,
  PERF_RECORD_MMAP,
  PERF_RECORD_MMAP2,
  PERF_RECORD_NAMESPACES,
  PERF_RECORD_READ,
  PERF_RECORD_SCHEDSTAT_CPU,
  PERF_RECORD_SCHEDSTAT_DOMAIN,
  PERF_RECORD_STAT,
  PERF_RECORD_STAT_CONFIG,
  PERF_RECORD_STAT_ROUND,
  PERF_RECORD_SWITCH,
  PERF_RECORD_SWITCH_CPU_WIDE,
  PERF_RECORD_TEXT_POKE,
  PERF_RECORD_THREAD_MAP,
  PERF_RECORD_THROTTLE,
  PERF_RECORD_TIME_CONV,
  PERF_RECORD_UNTHROTTLE,
} from '../../abi/index.ts';
import type { BodyReader } from '../body-reader.ts';
import type { BodyWriter } from '../body-writer.ts';
import type { RecordBase } from '../record-base.ts';
import { readText } from '../text-area.ts';

/** A namespace, as stat(2) tells of its link in /proc/PID/ns. */
export interface NamespaceLink {
  /** Device number of the link (`st_dev`). */
  device: bigint;
  /** Inode number of the link (`st_ino`): the number in `readlink /proc/PID/ns/net`. */
  inode: bigint;
}

function readNamespaceLink(reader: BodyReader): NamespaceLink {
  return { device: reader.u64(), inode: reader.u64() };
}

function writeNamespaceLink(writer: BodyWriter, item: NamespaceLink): void {
  writer.u64(item.device);
  writer.u64(item.inode);
}

/** Where the event with an id was opened. */
export interface IdIndexEntry {
  /** The id that the kernel gave the event, as in samples and `SampleId`. */
  id: bigint;
  /** Number of the ring, and so of the AUX ring, that the event writes to. */
  index: bigint;
  /** CPU that the event was opened on; 2^64 - 1 (-1) for every CPU. */
  cpu: bigint;
  /** Thread that the event was opened on; 2^64 - 1 (-1) for every thread. */
  tid: bigint;
}

function readIdIndexEntry(reader: BodyReader): IdIndexEntry {
  return { id: reader.u64(), index: reader.u64(), cpu: reader.u64(), tid: reader.u64() };
}

function writeIdIndexEntry(writer: BodyWriter, item: IdIndexEntry): void {
  writer.u64(item.id);
  writer.u64(item.index);
  writer.u64(item.cpu);
  writer.u64(item.tid);
}

/** A thread that was recorded or counted. */
export interface ThreadMapEntry {
  /** Its thread id; 2^64 - 1 (-1) where CPUs were recorded or counted and not threads. */
  pid: bigint;
  /** Its name, at most 15 bytes; perf leaves it empty. */
  comm: string;
}

function readThreadMapEntry(reader: BodyReader): ThreadMapEntry {
  return { pid: reader.u64(), comm: reader.chars(16) };
}

function writeThreadMapEntry(writer: BodyWriter, item: ThreadMapEntry): void {
  writer.u64(item.pid);
  writer.chars(item.comm, 16);
}

/** One setting of `perf stat record`. */
export interface StatConfigEntry {
  /** Which setting: 0 how counts are summed up, 1 interval, 2 scaling, 3 cache level. */
  tag: bigint;
  /** Its value: perf's number of the way of summing up, milliseconds (0 for none), or 0 and 1. */
  value: bigint;
}

function readStatConfigEntry(reader: BodyReader): StatConfigEntry {
  return { tag: reader.u64(), value: reader.u64() };
}

function writeStatConfigEntry(writer: BodyWriter, item: StatConfigEntry): void {
  writer.u64(item.tag);
  writer.u64(item.value);
}

/**
 * A file was mapped executable, or with `mmapData` in any way: where the code of a process lies.
 * PERF_RECORD_MMAP (1), `MMAP` in statistics.
 */
export interface MmapRecord extends RecordBase<typeof PERF_RECORD_MMAP> {
  /** Process that has the mapping; -1 for the kernel and its modules. */
  pid: number;
  /** Thread that called mmap(2); for mappings that a recorder found in /proc, the process. */
  tid: number;
  /** Address of the first byte. */
  start: bigint;
  /** Length in bytes. */
  length: bigint;
  /**
   * Offset of the first byte in the file, in bytes. For the kernel's own text, perf keeps the address
   * of `_text` or `_stext` here.
   */
  pageOffset: bigint;
  /**
   * The file, or what the kernel calls the memory: `//anon`, `[vdso]`, `[heap]`, `[kernel.kallsyms]_text`.
   */
  path: string;
  /**
   * The text as it stood, where it was not in the usual form (padding, not UTF-8). Written
   * again while it fits the text.
   */
  textArea?: Uint8Array;
}

/**
 * Reads the fields of PERF_RECORD_MMAP, for `decodeRecordAs`. Fields beyond the end
 * of the record are 0 or empty.
 */
export function readMmap(reader: BodyReader, misc: number): MmapRecord {
  const record = { type: PERF_RECORD_MMAP, misc } as MmapRecord;
  record.pid = reader.i32();
  record.tid = reader.i32();
  record.start = reader.u64();
  record.length = reader.u64();
  record.pageOffset = reader.u64();
  record.path = readText(reader, record);
  record.tail = reader.tail();
  return record;
}

/** Appends the fields of PERF_RECORD_MMAP and its tail; `encodeRecord` adds header and trailer. */
export function writeMmap(writer: BodyWriter, record: MmapRecord): void {
  writer.i32(record.pid);
  writer.i32(record.tid);
  writer.u64(record.start);
  writer.u64(record.length);
  writer.u64(record.pageOffset);
  writer.text(record.path, record.textArea);
  writer.rest(record.tail);
}

/** Records did not fit the ring and are gone. PERF_RECORD_LOST (2), `LOST` in statistics. */
export interface LostRecord extends RecordBase<typeof PERF_RECORD_LOST> {
  /**
   * Id of the event whose record was the next that fitted. Where events share a ring,
   * lost records may be of others.
   */
  id: bigint;
  /** How many records were lost since the last one of these in the ring. */
  lost: bigint;
}

/**
 * Reads the fields of PERF_RECORD_LOST, for `decodeRecordAs`. Fields beyond the end
 * of the record are 0 or empty.
 */
export function readLost(reader: BodyReader, misc: number): LostRecord {
  return { type: PERF_RECORD_LOST, misc, id: reader.u64(), lost: reader.u64(), tail: reader.tail() };
}

/** Appends the fields of PERF_RECORD_LOST and its tail; `encodeRecord` adds header and trailer. */
export function writeLost(writer: BodyWriter, record: LostRecord): void {
  writer.u64(record.id);
  writer.u64(record.lost);
  writer.rest(record.tail);
}

/**
 * A thread has a new name; with PERF_RECORD_MISC_COMM_EXEC by execve(2).
 * PERF_RECORD_COMM (3), `COMM` in statistics.
 */
export interface CommRecord extends RecordBase<typeof PERF_RECORD_COMM> {
  /** Process of the thread. */
  pid: number;
  /** The thread. */
  tid: number;
  /** The new name, at most 15 bytes. */
  comm: string;
  /**
   * The text as it stood, where it was not in the usual form (padding, not UTF-8). Written
   * again while it fits the text.
   */
  textArea?: Uint8Array;
}

/**
 * Reads the fields of PERF_RECORD_COMM, for `decodeRecordAs`. Fields beyond the end
 * of the record are 0 or empty.
 */
export function readComm(reader: BodyReader, misc: number): CommRecord {
  const record = { type: PERF_RECORD_COMM, misc } as CommRecord;
  record.pid = reader.i32();
  record.tid = reader.i32();
  record.comm = readText(reader, record);
  record.tail = reader.tail();
  return record;
}

/** Appends the fields of PERF_RECORD_COMM and its tail; `encodeRecord` adds header and trailer. */
export function writeComm(writer: BodyWriter, record: CommRecord): void {
  writer.i32(record.pid);
  writer.i32(record.tid);
  writer.text(record.comm, record.textArea);
  writer.rest(record.tail);
}

/** A thread has ended. PERF_RECORD_EXIT (4), `EXIT` in statistics. */
export interface ExitRecord extends RecordBase<typeof PERF_RECORD_EXIT> {
  /** Process of the thread. */
  pid: number;
  /** Process of its parent. */
  ppid: number;
  /** The thread. */
  tid: number;
  /** Thread id of its parent. */
  ptid: number;
  /** When, in nanoseconds of the recording's clock. */
  time: bigint;
}

/**
 * Reads the fields of PERF_RECORD_EXIT, for `decodeRecordAs`. Fields beyond the end
 * of the record are 0 or empty.
 */
export function readExit(reader: BodyReader, misc: number): ExitRecord {
  return {
    type: PERF_RECORD_EXIT,
    misc,
    pid: reader.i32(),
    ppid: reader.i32(),
    tid: reader.i32(),
    ptid: reader.i32(),
    time: reader.u64(),
    tail: reader.tail(),
  };
}

/** Appends the fields of PERF_RECORD_EXIT and its tail; `encodeRecord` adds header and trailer. */
export function writeExit(writer: BodyWriter, record: ExitRecord): void {
  writer.i32(record.pid);
  writer.i32(record.ppid);
  writer.i32(record.tid);
  writer.i32(record.ptid);
  writer.u64(record.time);
  writer.rest(record.tail);
}

/**
 * The kernel stopped sampling of an event: it had more samples in a tick than
 * kernel.perf_event_max_sample_rate allows. PERF_RECORD_THROTTLE (5), `THROTTLE` in statistics.
 */
export interface ThrottleRecord extends RecordBase<typeof PERF_RECORD_THROTTLE> {
  /** When, in nanoseconds of the recording's clock. */
  time: bigint;
  /** Id of the event; of an inherited one, its parent's. */
  id: bigint;
  /** Id of the event itself, which is its own where it was inherited. */
  streamId: bigint;
}

/**
 * Reads the fields of PERF_RECORD_THROTTLE, for `decodeRecordAs`. Fields beyond the end
 * of the record are 0 or empty.
 */
export function readThrottle(reader: BodyReader, misc: number): ThrottleRecord {
  return {
    type: PERF_RECORD_THROTTLE,
    misc,
    time: reader.u64(),
    id: reader.u64(),
    streamId: reader.u64(),
    tail: reader.tail(),
  };
}

/** Appends the fields of PERF_RECORD_THROTTLE and its tail; `encodeRecord` adds header and trailer. */
export function writeThrottle(writer: BodyWriter, record: ThrottleRecord): void {
  writer.u64(record.time);
  writer.u64(record.id);
  writer.u64(record.streamId);
  writer.rest(record.tail);
}

/**
 * The kernel goes on with sampling of a throttled event. PERF_RECORD_UNTHROTTLE
 * (6), `UNTHROTTLE` in statistics.
 */
export interface UnthrottleRecord extends RecordBase<typeof PERF_RECORD_UNTHROTTLE> {
  /** When, in nanoseconds of the recording's clock. */
  time: bigint;
  /** Id of the event; of an inherited one, its parent's. */
  id: bigint;
  /** Id of the event itself, which is its own where it was inherited. */
  streamId: bigint;
}

/**
 * Reads the fields of PERF_RECORD_UNTHROTTLE, for `decodeRecordAs`. Fields beyond the end
 * of the record are 0 or empty.
 */
export function readUnthrottle(reader: BodyReader, misc: number): UnthrottleRecord {
  return {
    type: PERF_RECORD_UNTHROTTLE,
    misc,
    time: reader.u64(),
    id: reader.u64(),
    streamId: reader.u64(),
    tail: reader.tail(),
  };
}

/** Appends the fields of PERF_RECORD_UNTHROTTLE and its tail; `encodeRecord` adds header and trailer. */
export function writeUnthrottle(writer: BodyWriter, record: UnthrottleRecord): void {
  writer.u64(record.time);
  writer.u64(record.id);
  writer.u64(record.streamId);
  writer.rest(record.tail);
}

/** A thread or process was made. PERF_RECORD_FORK (7), `FORK` in statistics. */
export interface ForkRecord extends RecordBase<typeof PERF_RECORD_FORK> {
  /** Process of the new thread; equal to `ppid` where it is a thread of the same process. */
  pid: number;
  /** Process that made it. */
  ppid: number;
  /** The new thread. */
  tid: number;
  /** Thread that made it. */
  ptid: number;
  /** When, in nanoseconds of the recording's clock. */
  time: bigint;
}

/**
 * Reads the fields of PERF_RECORD_FORK, for `decodeRecordAs`. Fields beyond the end
 * of the record are 0 or empty.
 */
export function readFork(reader: BodyReader, misc: number): ForkRecord {
  return {
    type: PERF_RECORD_FORK,
    misc,
    pid: reader.i32(),
    ppid: reader.i32(),
    tid: reader.i32(),
    ptid: reader.i32(),
    time: reader.u64(),
    tail: reader.tail(),
  };
}

/** Appends the fields of PERF_RECORD_FORK and its tail; `encodeRecord` adds header and trailer. */
export function writeFork(writer: BodyWriter, record: ForkRecord): void {
  writer.i32(record.pid);
  writer.i32(record.ppid);
  writer.i32(record.tid);
  writer.i32(record.ptid);
  writer.u64(record.time);
  writer.rest(record.tail);
}

/**
 * Counts of a thread that inherited the event and has ended, with `inheritStat`.
 * PERF_RECORD_READ (8), `READ` in statistics.
 */
export interface ReadRecord extends RecordBase<typeof PERF_RECORD_READ> {
  /** Process of the thread. */
  pid: number;
  /** The thread. */
  tid: number;
  /** The counts in the event's read format: `decodeReadValues` reads them. */
  values: Uint8Array;
}

/**
 * Reads the fields of PERF_RECORD_READ, for `decodeRecordAs`. Fields beyond the end
 * of the record are 0 or empty.
 */
export function readRead(reader: BodyReader, misc: number): ReadRecord {
  return {
    type: PERF_RECORD_READ,
    misc,
    pid: reader.i32(),
    tid: reader.i32(),
    values: reader.rest(),
    tail: reader.tail(),
  };
}

/** Appends the fields of PERF_RECORD_READ and its tail; `encodeRecord` adds header and trailer. */
export function writeRead(writer: BodyWriter, record: ReadRecord): void {
  writer.i32(record.pid);
  writer.i32(record.tid);
  writer.rest(record.values);
  writer.rest(record.tail);
}

/**
 * As PERF_RECORD_MMAP, and which file it is: device and inode, or with PERF_RECORD_MISC_MMAP_BUILD_ID its
 * build id. PERF_RECORD_MMAP2 (10), `MMAP2` in statistics.
 */
export interface Mmap2Record extends RecordBase<typeof PERF_RECORD_MMAP2> {
  /** Process that has the mapping; -1 for the kernel and its modules. */
  pid: number;
  /** Thread that called mmap(2); for mappings that a recorder found in /proc, the process. */
  tid: number;
  /** Address of the first byte. */
  start: bigint;
  /** Length in bytes. */
  length: bigint;
  /** Offset of the first byte in the file, in bytes. */
  pageOffset: bigint;
  /** Major number of the file's device. Without PERF_RECORD_MISC_MMAP_BUILD_ID. */
  major?: number;
  /** Minor number of the file's device. Without PERF_RECORD_MISC_MMAP_BUILD_ID. */
  minor?: number;
  /** Inode number of the file; 0 for memory without one. Without PERF_RECORD_MISC_MMAP_BUILD_ID. */
  inode?: bigint;
  /**
   * Tells apart files that had the same inode number one after the other; 0 where nobody knows. Without
   * PERF_RECORD_MISC_MMAP_BUILD_ID.
   */
  inodeGeneration?: bigint;
  /** How many bytes of `buildId` are the id: 20 as a rule. With PERF_RECORD_MISC_MMAP_BUILD_ID. */
  buildIdSize?: number;
  /** Padding, zero as a rule; kept as it was read. With PERF_RECORD_MISC_MMAP_BUILD_ID. */
  reserved1?: number;
  /** Padding, zero as a rule; kept as it was read. With PERF_RECORD_MISC_MMAP_BUILD_ID. */
  reserved2?: number;
  /** Build id of the file, filled with zeros to 20 bytes. With PERF_RECORD_MISC_MMAP_BUILD_ID. */
  buildId?: Uint8Array;
  /** PROT_READ, PROT_WRITE and PROT_EXEC of mmap(2). */
  protection: number;
  /** MAP_SHARED, MAP_PRIVATE and the other flags of mmap(2). */
  flags: number;
  /** The file, or what the kernel calls the memory: `//anon`, `[vdso]`, `[heap]`. */
  path: string;
  /**
   * The text as it stood, where it was not in the usual form (padding, not UTF-8). Written
   * again while it fits the text.
   */
  textArea?: Uint8Array;
}

/**
 * Reads the fields of PERF_RECORD_MMAP2, for `decodeRecordAs`. Fields beyond the end
 * of the record are 0 or empty.
 */
export function readMmap2(reader: BodyReader, misc: number): Mmap2Record {
  const record = { type: PERF_RECORD_MMAP2, misc } as Mmap2Record;
  record.pid = reader.i32();
  record.tid = reader.i32();
  record.start = reader.u64();
  record.length = reader.u64();
  record.pageOffset = reader.u64();
  if ((misc & PERF_RECORD_MISC_MMAP_BUILD_ID) === 0) record.major = reader.u32();
  if ((misc & PERF_RECORD_MISC_MMAP_BUILD_ID) === 0) record.minor = reader.u32();
  if ((misc & PERF_RECORD_MISC_MMAP_BUILD_ID) === 0) record.inode = reader.u64();
  if ((misc & PERF_RECORD_MISC_MMAP_BUILD_ID) === 0) record.inodeGeneration = reader.u64();
  if ((misc & PERF_RECORD_MISC_MMAP_BUILD_ID) !== 0) record.buildIdSize = reader.u8();
  if ((misc & PERF_RECORD_MISC_MMAP_BUILD_ID) !== 0) record.reserved1 = reader.u8();
  if ((misc & PERF_RECORD_MISC_MMAP_BUILD_ID) !== 0) record.reserved2 = reader.u16();
  if ((misc & PERF_RECORD_MISC_MMAP_BUILD_ID) !== 0) record.buildId = reader.bytes(20);
  record.protection = reader.u32();
  record.flags = reader.u32();
  record.path = readText(reader, record);
  record.tail = reader.tail();
  return record;
}

/** Appends the fields of PERF_RECORD_MMAP2 and its tail; `encodeRecord` adds header and trailer. */
export function writeMmap2(writer: BodyWriter, record: Mmap2Record): void {
  writer.i32(record.pid);
  writer.i32(record.tid);
  writer.u64(record.start);
  writer.u64(record.length);
  writer.u64(record.pageOffset);
  if ((record.misc & PERF_RECORD_MISC_MMAP_BUILD_ID) === 0) writer.u32(record.major ?? 0);
  if ((record.misc & PERF_RECORD_MISC_MMAP_BUILD_ID) === 0) writer.u32(record.minor ?? 0);
  if ((record.misc & PERF_RECORD_MISC_MMAP_BUILD_ID) === 0) writer.u64(record.inode ?? 0n);
  if ((record.misc & PERF_RECORD_MISC_MMAP_BUILD_ID) === 0) writer.u64(record.inodeGeneration ?? 0n);
  if ((record.misc & PERF_RECORD_MISC_MMAP_BUILD_ID) !== 0) writer.u8(record.buildIdSize ?? 0);
  if ((record.misc & PERF_RECORD_MISC_MMAP_BUILD_ID) !== 0) writer.u8(record.reserved1 ?? 0);
  if ((record.misc & PERF_RECORD_MISC_MMAP_BUILD_ID) !== 0) writer.u16(record.reserved2 ?? 0);
  if ((record.misc & PERF_RECORD_MISC_MMAP_BUILD_ID) !== 0)
    writer.bytes(record.buildId ?? new Uint8Array(), 20);
  writer.u32(record.protection);
  writer.u32(record.flags);
  writer.text(record.path, record.textArea);
  writer.rest(record.tail);
}

/**
 * New data stands in the AUX ring, where a hardware trace goes. PERF_RECORD_AUX (11), `AUX` in statistics.
 */
export interface AuxRecord extends RecordBase<typeof PERF_RECORD_AUX> {
  /**
   * Where the data starts, in bytes since the ring was made. With PERF_AUX_FLAG_OVERWRITE:
   * where the hardware's head is.
   */
  auxOffset: bigint;
  /** How many bytes it is. */
  auxSize: bigint;
  /** PERF_AUX_FLAG_* bits; bits 8-15 are a format of the PMU. */
  flags: bigint;
}

/**
 * Reads the fields of PERF_RECORD_AUX, for `decodeRecordAs`. Fields beyond the end
 * of the record are 0 or empty.
 */
export function readAux(reader: BodyReader, misc: number): AuxRecord {
  return {
    type: PERF_RECORD_AUX,
    misc,
    auxOffset: reader.u64(),
    auxSize: reader.u64(),
    flags: reader.u64(),
    tail: reader.tail(),
  };
}

/** Appends the fields of PERF_RECORD_AUX and its tail; `encodeRecord` adds header and trailer. */
export function writeAux(writer: BodyWriter, record: AuxRecord): void {
  writer.u64(record.auxOffset);
  writer.u64(record.auxSize);
  writer.u64(record.flags);
  writer.rest(record.tail);
}

/**
 * The hardware trace of a thread has started: whose addresses the AUX ring holds. PERF_RECORD_ITRACE_START
 * (12), `ITRACE_START` in statistics.
 */
export interface ItraceStartRecord extends RecordBase<typeof PERF_RECORD_ITRACE_START> {
  /** Process of the thread. */
  pid: number;
  /** The thread. */
  tid: number;
}

/**
 * Reads the fields of PERF_RECORD_ITRACE_START, for `decodeRecordAs`. Fields beyond the end
 * of the record are 0 or empty.
 */
export function readItraceStart(reader: BodyReader, misc: number): ItraceStartRecord {
  return { type: PERF_RECORD_ITRACE_START, misc, pid: reader.i32(), tid: reader.i32(), tail: reader.tail() };
}

/** Appends the fields of PERF_RECORD_ITRACE_START and its tail; `encodeRecord` adds header and trailer. */
export function writeItraceStart(writer: BodyWriter, record: ItraceStartRecord): void {
  writer.i32(record.pid);
  writer.i32(record.tid);
  writer.rest(record.tail);
}

/**
 * Samples that never came to the ring: the hardware's, or as the recorder counted them at its end.
 * PERF_RECORD_LOST_SAMPLES (13), `LOST_SAMPLES` in statistics.
 */
export interface LostSamplesRecord extends RecordBase<typeof PERF_RECORD_LOST_SAMPLES> {
  /** How many. Of what event, `sampleId` says. */
  lost: bigint;
}

/**
 * Reads the fields of PERF_RECORD_LOST_SAMPLES, for `decodeRecordAs`. Fields beyond the end
 * of the record are 0 or empty.
 */
export function readLostSamples(reader: BodyReader, misc: number): LostSamplesRecord {
  return { type: PERF_RECORD_LOST_SAMPLES, misc, lost: reader.u64(), tail: reader.tail() };
}

/** Appends the fields of PERF_RECORD_LOST_SAMPLES and its tail; `encodeRecord` adds header and trailer. */
export function writeLostSamples(writer: BodyWriter, record: LostSamplesRecord): void {
  writer.u64(record.lost);
  writer.rest(record.tail);
}

/**
 * The thread of the event went off its CPU (with PERF_RECORD_MISC_SWITCH_OUT) or came back. Who and when,
 * `sampleId` says. PERF_RECORD_SWITCH (14), `SWITCH` in statistics.
 */
export interface SwitchRecord extends RecordBase<typeof PERF_RECORD_SWITCH> {}

/**
 * Reads the fields of PERF_RECORD_SWITCH, for `decodeRecordAs`. Fields beyond the end
 * of the record are 0 or empty.
 */
export function readSwitch(reader: BodyReader, misc: number): SwitchRecord {
  return { type: PERF_RECORD_SWITCH, misc, tail: reader.tail() };
}

/** Appends the fields of PERF_RECORD_SWITCH and its tail; `encodeRecord` adds header and trailer. */
export function writeSwitch(writer: BodyWriter, record: SwitchRecord): void {
  writer.rest(record.tail);
}

/**
 * As PERF_RECORD_SWITCH where all threads of a CPU are recorded, with the other thread.
 * PERF_RECORD_SWITCH_CPU_WIDE (15), `SWITCH_CPU_WIDE` in statistics.
 */
export interface SwitchCpuWideRecord extends RecordBase<typeof PERF_RECORD_SWITCH_CPU_WIDE> {
  /** Process that comes next where the thread goes off, or ran before where it comes. */
  nextOrPreviousPid: number;
  /** Thread that comes next where the thread goes off, or ran before where it comes. */
  nextOrPreviousTid: number;
}

/**
 * Reads the fields of PERF_RECORD_SWITCH_CPU_WIDE, for `decodeRecordAs`. Fields beyond the end
 * of the record are 0 or empty.
 */
export function readSwitchCpuWide(reader: BodyReader, misc: number): SwitchCpuWideRecord {
  return {
    type: PERF_RECORD_SWITCH_CPU_WIDE,
    misc,
    nextOrPreviousPid: reader.i32(),
    nextOrPreviousTid: reader.i32(),
    tail: reader.tail(),
  };
}

/** Appends the fields of PERF_RECORD_SWITCH_CPU_WIDE and its tail; `encodeRecord` adds header and trailer. */
export function writeSwitchCpuWide(writer: BodyWriter, record: SwitchCpuWideRecord): void {
  writer.i32(record.nextOrPreviousPid);
  writer.i32(record.nextOrPreviousTid);
  writer.rest(record.tail);
}

/**
 * Namespaces of a thread: at its start, and after unshare(2) or setns(2). PERF_RECORD_NAMESPACES
 * (16), `NAMESPACES` in statistics.
 */
export interface NamespacesRecord extends RecordBase<typeof PERF_RECORD_NAMESPACES> {
  /** Process of the thread. */
  pid: number;
  /** The thread. */
  tid: number;
  /** By index: network, UTS, IPC, pid, user, mount, cgroup. */
  links: NamespaceLink[];
}

/**
 * Reads the fields of PERF_RECORD_NAMESPACES, for `decodeRecordAs`. Fields beyond the end
 * of the record are 0 or empty.
 */
export function readNamespaces(reader: BodyReader, misc: number): NamespacesRecord {
  return {
    type: PERF_RECORD_NAMESPACES,
    misc,
    pid: reader.i32(),
    tid: reader.i32(),
    links: reader.list(readNamespaceLink, 16),
    tail: reader.tail(),
  };
}

/** Appends the fields of PERF_RECORD_NAMESPACES and its tail; `encodeRecord` adds header and trailer. */
export function writeNamespaces(writer: BodyWriter, record: NamespacesRecord): void {
  writer.i32(record.pid);
  writer.i32(record.tid);
  writer.list(record.links, writeNamespaceLink);
  writer.rest(record.tail);
}

/**
 * The kernel has new code with a name, or with flag 1 it has taken it away: BPF programs, trampolines.
 * PERF_RECORD_KSYMBOL (17), `KSYMBOL` in statistics.
 */
export interface KsymbolRecord extends RecordBase<typeof PERF_RECORD_KSYMBOL> {
  /** Address of the code. */
  address: bigint;
  /** Length of the code in bytes. */
  length: number;
  /** 1 a BPF program, 2 code out of line (kprobes, ftrace trampolines), 0 not known. */
  symbolType: number;
  /** 1 (PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER): the code is gone. */
  flags: number;
  /** The name, as in /proc/kallsyms. */
  symbol: string;
  /**
   * The text as it stood, where it was not in the usual form (padding, not UTF-8). Written
   * again while it fits the text.
   */
  textArea?: Uint8Array;
}

/**
 * Reads the fields of PERF_RECORD_KSYMBOL, for `decodeRecordAs`. Fields beyond the end
 * of the record are 0 or empty.
 */
export function readKsymbol(reader: BodyReader, misc: number): KsymbolRecord {
  const record = { type: PERF_RECORD_KSYMBOL, misc } as KsymbolRecord;
  record.address = reader.u64();
  record.length = reader.u32();
  record.symbolType = reader.u16();
  record.flags = reader.u16();
  record.symbol = readText(reader, record);
  record.tail = reader.tail();
  return record;
}

/** Appends the fields of PERF_RECORD_KSYMBOL and its tail; `encodeRecord` adds header and trailer. */
export function writeKsymbol(writer: BodyWriter, record: KsymbolRecord): void {
  writer.u64(record.address);
  writer.u32(record.length);
  writer.u16(record.symbolType);
  writer.u16(record.flags);
  writer.text(record.symbol, record.textArea);
  writer.rest(record.tail);
}

/** A BPF program was loaded or unloaded. PERF_RECORD_BPF_EVENT (18), `BPF_EVENT` in statistics. */
export interface BpfEventRecord extends RecordBase<typeof PERF_RECORD_BPF_EVENT> {
  /** 1 loaded, 2 unloaded. */
  eventType: number;
  /** Not used by any kernel yet. */
  flags: number;
  /** The kernel's id of the program, as in `bpftool prog`. */
  id: number;
  /** Hash of the program's instructions, 8 bytes. */
  tag: Uint8Array;
}

/**
 * Reads the fields of PERF_RECORD_BPF_EVENT, for `decodeRecordAs`. Fields beyond the end
 * of the record are 0 or empty.
 */
export function readBpfEvent(reader: BodyReader, misc: number): BpfEventRecord {
  return {
    type: PERF_RECORD_BPF_EVENT,
    misc,
    eventType: reader.u16(),
    flags: reader.u16(),
    id: reader.u32(),
    tag: reader.bytes(8),
    tail: reader.tail(),
  };
}

/** Appends the fields of PERF_RECORD_BPF_EVENT and its tail; `encodeRecord` adds header and trailer. */
export function writeBpfEvent(writer: BodyWriter, record: BpfEventRecord): void {
  writer.u16(record.eventType);
  writer.u16(record.flags);
  writer.u32(record.id);
  writer.bytes(record.tag, 8);
  writer.rest(record.tail);
}

/** A cgroup, by the id that samples name it with. PERF_RECORD_CGROUP (19), `CGROUP` in statistics. */
export interface CgroupRecord extends RecordBase<typeof PERF_RECORD_CGROUP> {
  /** Its id: `cgroup` of samples, and the handle that name_to_handle_at(2) gives for its directory. */
  id: bigint;
  /** Its path from the root of the cgroup tree, `/` at the front. */
  path: string;
  /**
   * The text as it stood, where it was not in the usual form (padding, not UTF-8). Written
   * again while it fits the text.
   */
  textArea?: Uint8Array;
}

/**
 * Reads the fields of PERF_RECORD_CGROUP, for `decodeRecordAs`. Fields beyond the end
 * of the record are 0 or empty.
 */
export function readCgroup(reader: BodyReader, misc: number): CgroupRecord {
  const record = { type: PERF_RECORD_CGROUP, misc } as CgroupRecord;
  record.id = reader.u64();
  record.path = readText(reader, record);
  record.tail = reader.tail();
  return record;
}

/** Appends the fields of PERF_RECORD_CGROUP and its tail; `encodeRecord` adds header and trailer. */
export function writeCgroup(writer: BodyWriter, record: CgroupRecord): void {
  writer.u64(record.id);
  writer.text(record.path, record.textArea);
  writer.rest(record.tail);
}

/**
 * The kernel changed its own code: jump labels, ftrace, kprobes. PERF_RECORD_TEXT_POKE
 * (20), `TEXT_POKE` in statistics.
 */
export interface TextPokeRecord extends RecordBase<typeof PERF_RECORD_TEXT_POKE> {
  /** Address of the first byte that changed. */
  address: bigint;
  /** How many bytes stood there; 0 where code was added. */
  oldLength: number;
  /** How many bytes stand there now; 0 where code was taken away. */
  newLength: number;
  /** The old bytes, then the new ones, then zeros up to a multiple of 8. */
  code: Uint8Array;
}

/**
 * Reads the fields of PERF_RECORD_TEXT_POKE, for `decodeRecordAs`. Fields beyond the end
 * of the record are 0 or empty.
 */
export function readTextPoke(reader: BodyReader, misc: number): TextPokeRecord {
  return {
    type: PERF_RECORD_TEXT_POKE,
    misc,
    address: reader.u64(),
    oldLength: reader.u16(),
    newLength: reader.u16(),
    code: reader.rest(),
    tail: reader.tail(),
  };
}

/** Appends the fields of PERF_RECORD_TEXT_POKE and its tail; `encodeRecord` adds header and trailer. */
export function writeTextPoke(writer: BodyWriter, record: TextPokeRecord): void {
  writer.u64(record.address);
  writer.u16(record.oldLength);
  writer.u16(record.newLength);
  writer.rest(record.code);
  writer.rest(record.tail);
}

/**
 * What number the hardware trace has for an event whose samples it carries (`auxOutput`). Which event,
 * `sampleId` says. PERF_RECORD_AUX_OUTPUT_HW_ID (21), `AUX_OUTPUT_HW_ID` in statistics.
 */
export interface AuxOutputHwIdRecord extends RecordBase<typeof PERF_RECORD_AUX_OUTPUT_HW_ID> {
  /** The number. For PEBS through Intel PT, the index of the counter. */
  hardwareId: bigint;
}

/**
 * Reads the fields of PERF_RECORD_AUX_OUTPUT_HW_ID, for `decodeRecordAs`. Fields beyond the end
 * of the record are 0 or empty.
 */
export function readAuxOutputHwId(reader: BodyReader, misc: number): AuxOutputHwIdRecord {
  return { type: PERF_RECORD_AUX_OUTPUT_HW_ID, misc, hardwareId: reader.u64(), tail: reader.tail() };
}

/**
 * Appends the fields of PERF_RECORD_AUX_OUTPUT_HW_ID and its tail; `encodeRecord` adds header and trailer.
 */
export function writeAuxOutputHwId(writer: BodyWriter, record: AuxOutputHwIdRecord): void {
  writer.u64(record.hardwareId);
  writer.rest(record.tail);
}

/**
 * The user part of a call chain, taken when the thread went back to user code. Samples that wait for it have
 * PERF_CONTEXT_USER_DEFERRED and its cookie in their chain. PERF_RECORD_CALLCHAIN_DEFERRED (22),
 * `CALLCHAIN_DEFERRED` in statistics.
 */
export interface CallchainDeferredRecord extends RecordBase<typeof PERF_RECORD_CALLCHAIN_DEFERRED> {
  /** Equal in the samples that this part belongs to. */
  cookie: bigint;
  /** Addresses, innermost first, with context markers. */
  addresses: bigint[];
}

/**
 * Reads the fields of PERF_RECORD_CALLCHAIN_DEFERRED, for `decodeRecordAs`. Fields beyond the end
 * of the record are 0 or empty.
 */
export function readCallchainDeferred(reader: BodyReader, misc: number): CallchainDeferredRecord {
  return {
    type: PERF_RECORD_CALLCHAIN_DEFERRED,
    misc,
    cookie: reader.u64(),
    addresses: reader.u64list(),
    tail: reader.tail(),
  };
}

/**
 * Appends the fields of PERF_RECORD_CALLCHAIN_DEFERRED and its tail; `encodeRecord` adds header and trailer.
 */
export function writeCallchainDeferred(writer: BodyWriter, record: CallchainDeferredRecord): void {
  writer.u64(record.cookie);
  writer.u64list(record.addresses);
  writer.rest(record.tail);
}

/** An event of a recording that came through a pipe. PERF_RECORD_HEADER_ATTR (64), `ATTR` in statistics. */
export interface HeaderAttrRecord extends RecordBase<typeof PERF_RECORD_HEADER_ATTR> {
  /** A `perf_event_attr`, as long as it says, then ids of 8 bytes each. `readAttr` reads the first part. */
  attrAndIds: Uint8Array;
}

/**
 * Reads the fields of PERF_RECORD_HEADER_ATTR, for `decodeRecordAs`. Fields beyond the end
 * of the record are 0 or empty.
 */
export function readHeaderAttr(reader: BodyReader, misc: number): HeaderAttrRecord {
  return { type: PERF_RECORD_HEADER_ATTR, misc, attrAndIds: reader.rest(), tail: reader.tail() };
}

/** Appends the fields of PERF_RECORD_HEADER_ATTR and its tail; `encodeRecord` adds header and trailer. */
export function writeHeaderAttr(writer: BodyWriter, record: HeaderAttrRecord): void {
  writer.rest(record.attrAndIds);
  writer.rest(record.tail);
}

/**
 * Name of an event, in old recordings: perf no longer writes it. PERF_RECORD_HEADER_EVENT_TYPE
 * (65), `EVENT_TYPE` in statistics.
 */
export interface HeaderEventTypeRecord extends RecordBase<typeof PERF_RECORD_HEADER_EVENT_TYPE> {
  /** The event's `config`. */
  eventId: bigint;
  /** Its name, at most 63 bytes. */
  eventName: string;
}

/**
 * Reads the fields of PERF_RECORD_HEADER_EVENT_TYPE, for `decodeRecordAs`. Fields beyond the end
 * of the record are 0 or empty.
 */
export function readHeaderEventType(reader: BodyReader, misc: number): HeaderEventTypeRecord {
  return {
    type: PERF_RECORD_HEADER_EVENT_TYPE,
    misc,
    eventId: reader.u64(),
    eventName: reader.chars(64),
    tail: reader.tail(),
  };
}

/**
 * Appends the fields of PERF_RECORD_HEADER_EVENT_TYPE and its tail; `encodeRecord` adds header and trailer.
 */
export function writeHeaderEventType(writer: BodyWriter, record: HeaderEventTypeRecord): void {
  writer.u64(record.eventId);
  writer.chars(record.eventName, 64);
  writer.rest(record.tail);
}

/**
 * Descriptions of tracepoints, in a recording that came through a pipe. They follow the record.
 * PERF_RECORD_HEADER_TRACING_DATA (66), `TRACING_DATA` in statistics.
 */
export interface HeaderTracingDataRecord extends RecordBase<typeof PERF_RECORD_HEADER_TRACING_DATA> {
  /** Their size in bytes, with padding up to a multiple of 8. */
  dataSize: number;
}

/**
 * Reads the fields of PERF_RECORD_HEADER_TRACING_DATA, for `decodeRecordAs`. Fields beyond the end
 * of the record are 0 or empty.
 */
export function readHeaderTracingData(reader: BodyReader, misc: number): HeaderTracingDataRecord {
  return { type: PERF_RECORD_HEADER_TRACING_DATA, misc, dataSize: reader.u32(), tail: reader.tail() };
}

/**
 * Appends the fields of PERF_RECORD_HEADER_TRACING_DATA and its tail; `encodeRecord` adds header and trailer.
 */
export function writeHeaderTracingData(writer: BodyWriter, record: HeaderTracingDataRecord): void {
  writer.u32(record.dataSize);
  writer.rest(record.tail);
}

/**
 * Build id of a file that samples are in. `misc` says whether it is the kernel's or user code.
 * PERF_RECORD_HEADER_BUILD_ID (67), `BUILD_ID` in statistics.
 */
export interface HeaderBuildIdRecord extends RecordBase<typeof PERF_RECORD_HEADER_BUILD_ID> {
  /** -1 for the recorded machine; else the process of a guest's virtual machine, 0 where it is not known. */
  pid: number;
  /** The id, filled with zeros to 20 bytes. */
  buildId: Uint8Array;
  /** How many bytes of `buildId` count, with PERF_RECORD_MISC_BUILD_ID_SIZE; else 20. */
  buildIdSize: number;
  /** Padding, zero as a rule; kept as it was read. */
  reserved1: number;
  /** Padding, zero as a rule; kept as it was read. */
  reserved2: number;
  /** The file. */
  path: string;
  /**
   * The text as it stood, where it was not in the usual form (padding, not UTF-8). Written
   * again while it fits the text.
   */
  textArea?: Uint8Array;
}

/**
 * Reads the fields of PERF_RECORD_HEADER_BUILD_ID, for `decodeRecordAs`. Fields beyond the end
 * of the record are 0 or empty.
 */
export function readHeaderBuildId(reader: BodyReader, misc: number): HeaderBuildIdRecord {
  const record = { type: PERF_RECORD_HEADER_BUILD_ID, misc } as HeaderBuildIdRecord;
  record.pid = reader.i32();
  record.buildId = reader.bytes(20);
  record.buildIdSize = reader.u8();
  record.reserved1 = reader.u8();
  record.reserved2 = reader.u16();
  record.path = readText(reader, record);
  record.tail = reader.tail();
  return record;
}

/** Appends the fields of PERF_RECORD_HEADER_BUILD_ID and its tail; `encodeRecord` adds header and trailer. */
export function writeHeaderBuildId(writer: BodyWriter, record: HeaderBuildIdRecord): void {
  writer.i32(record.pid);
  writer.bytes(record.buildId, 20);
  writer.u8(record.buildIdSize);
  writer.u8(record.reserved1);
  writer.u16(record.reserved2);
  writer.text(record.path, record.textArea);
  writer.rest(record.tail);
}

/**
 * The recorder has read every ring once: what follows is not older than what came before the last one of
 * these. PERF_RECORD_FINISHED_ROUND (68), `FINISHED_ROUND` in statistics.
 */
export interface FinishedRoundRecord extends RecordBase<typeof PERF_RECORD_FINISHED_ROUND> {}

/**
 * Reads the fields of PERF_RECORD_FINISHED_ROUND, for `decodeRecordAs`. Fields beyond the end
 * of the record are 0 or empty.
 */
export function readFinishedRound(reader: BodyReader, misc: number): FinishedRoundRecord {
  return { type: PERF_RECORD_FINISHED_ROUND, misc, tail: reader.tail() };
}

/** Appends the fields of PERF_RECORD_FINISHED_ROUND and its tail; `encodeRecord` adds header and trailer. */
export function writeFinishedRound(writer: BodyWriter, record: FinishedRoundRecord): void {
  writer.rest(record.tail);
}

/**
 * Where the event of each id was opened. A hardware trace cannot be read without it. PERF_RECORD_ID_INDEX
 * (69), `ID_INDEX` in statistics.
 */
export interface IdIndexRecord extends RecordBase<typeof PERF_RECORD_ID_INDEX> {
  /** One per id. Newer perf adds process and virtual CPU of guests behind them, which stay in `tail`. */
  entries: IdIndexEntry[];
}

/**
 * Reads the fields of PERF_RECORD_ID_INDEX, for `decodeRecordAs`. Fields beyond the end
 * of the record are 0 or empty.
 */
export function readIdIndex(reader: BodyReader, misc: number): IdIndexRecord {
  return {
    type: PERF_RECORD_ID_INDEX,
    misc,
    entries: reader.list(readIdIndexEntry, 32),
    tail: reader.tail(),
  };
}

/** Appends the fields of PERF_RECORD_ID_INDEX and its tail; `encodeRecord` adds header and trailer. */
export function writeIdIndex(writer: BodyWriter, record: IdIndexRecord): void {
  writer.list(record.entries, writeIdIndexEntry);
  writer.rest(record.tail);
}

/**
 * Which hardware trace the recording has, and how it was set up. PERF_RECORD_AUXTRACE_INFO (70),
 * `AUXTRACE_INFO` in statistics.
 */
export interface AuxtraceInfoRecord extends RecordBase<typeof PERF_RECORD_AUXTRACE_INFO> {
  /** 1 Intel PT, 2 Intel BTS, 3 Arm CoreSight, 4 Arm SPE, 5 s390 CPU measurement, 6 HiSilicon PTT. */
  auxtraceType: number;
  /** Padding, zero as a rule; kept as it was read. */
  reserved: number;
  /** Settings, in a form of each kind of trace; 64-bit words as a rule. */
  data: Uint8Array;
}

/**
 * Reads the fields of PERF_RECORD_AUXTRACE_INFO, for `decodeRecordAs`. Fields beyond the end
 * of the record are 0 or empty.
 */
export function readAuxtraceInfo(reader: BodyReader, misc: number): AuxtraceInfoRecord {
  return {
    type: PERF_RECORD_AUXTRACE_INFO,
    misc,
    auxtraceType: reader.u32(),
    reserved: reader.u32(),
    data: reader.rest(),
    tail: reader.tail(),
  };
}

/** Appends the fields of PERF_RECORD_AUXTRACE_INFO and its tail; `encodeRecord` adds header and trailer. */
export function writeAuxtraceInfo(writer: BodyWriter, record: AuxtraceInfoRecord): void {
  writer.u32(record.auxtraceType);
  writer.u32(record.reserved);
  writer.rest(record.data);
  writer.rest(record.tail);
}

/**
 * A piece of an AUX ring. Its bytes follow the record. PERF_RECORD_AUXTRACE (71), `AUXTRACE` in statistics.
 */
export interface AuxtraceRecord extends RecordBase<typeof PERF_RECORD_AUXTRACE> {
  /** How many bytes follow. */
  dataSize: bigint;
  /** Where the piece starts in the AUX ring's data, in bytes since the ring was made. */
  auxOffset: bigint;
  /** Number that the recorder gave the read: equal for pieces that were read together. */
  reference: bigint;
  /** Number of the AUX ring, as in `IdIndexEntry`. */
  index: number;
  /** Thread of the ring; -1 where the ring is a CPU's. */
  tid: number;
  /** CPU of the ring; -1 where the ring follows a thread. */
  cpu: number;
  /** Padding, zero as a rule; kept as it was read. */
  reserved: number;
}

/**
 * Reads the fields of PERF_RECORD_AUXTRACE, for `decodeRecordAs`. Fields beyond the end
 * of the record are 0 or empty.
 */
export function readAuxtrace(reader: BodyReader, misc: number): AuxtraceRecord {
  return {
    type: PERF_RECORD_AUXTRACE,
    misc,
    dataSize: reader.u64(),
    auxOffset: reader.u64(),
    reference: reader.u64(),
    index: reader.u32(),
    tid: reader.i32(),
    cpu: reader.i32(),
    reserved: reader.u32(),
    tail: reader.tail(),
  };
}

/** Appends the fields of PERF_RECORD_AUXTRACE and its tail; `encodeRecord` adds header and trailer. */
export function writeAuxtrace(writer: BodyWriter, record: AuxtraceRecord): void {
  writer.u64(record.dataSize);
  writer.u64(record.auxOffset);
  writer.u64(record.reference);
  writer.u32(record.index);
  writer.i32(record.tid);
  writer.i32(record.cpu);
  writer.u32(record.reserved);
  writer.rest(record.tail);
}

/**
 * A place where a decoder of the hardware trace could not go on. PERF_RECORD_AUXTRACE_ERROR (72),
 * `AUXTRACE_ERROR` in statistics.
 */
export interface AuxtraceErrorRecord extends RecordBase<typeof PERF_RECORD_AUXTRACE_ERROR> {
  /** 1: an instruction trace. */
  errorType: number;
  /** Number of the error, in the decoder's own numbers. */
  code: number;
  /** CPU of the trace, or -1. */
  cpu: number;
  /** Process, or -1. */
  pid: number;
  /** Thread, or -1. */
  tid: number;
  /**
   * 0: `time` is not there, and the message stands at its place; 1: with `time`; 2:
   * `machinePid` and `vcpu` too.
   */
  format: number;
  /** Address where it was; 0 where nobody knows. */
  ip: bigint;
  /** When, in nanoseconds of the recording's clock. */
  time: bigint;
  /** What went wrong, at most 63 bytes. */
  message: string;
  /** Process of the guest's virtual machine; 0 for this machine. */
  machinePid: number;
  /** CPU of the guest. */
  vcpu: number;
}

/**
 * Reads the fields of PERF_RECORD_AUXTRACE_ERROR, for `decodeRecordAs`. Fields beyond the end
 * of the record are 0 or empty.
 */
export function readAuxtraceError(reader: BodyReader, misc: number): AuxtraceErrorRecord {
  return {
    type: PERF_RECORD_AUXTRACE_ERROR,
    misc,
    errorType: reader.u32(),
    code: reader.u32(),
    cpu: reader.i32(),
    pid: reader.i32(),
    tid: reader.i32(),
    format: reader.u32(),
    ip: reader.u64(),
    time: reader.u64(),
    message: reader.chars(64),
    machinePid: reader.i32(),
    vcpu: reader.i32(),
    tail: reader.tail(),
  };
}

/** Appends the fields of PERF_RECORD_AUXTRACE_ERROR and its tail; `encodeRecord` adds header and trailer. */
export function writeAuxtraceError(writer: BodyWriter, record: AuxtraceErrorRecord): void {
  writer.u32(record.errorType);
  writer.u32(record.code);
  writer.i32(record.cpu);
  writer.i32(record.pid);
  writer.i32(record.tid);
  writer.u32(record.format);
  writer.u64(record.ip);
  writer.u64(record.time);
  writer.chars(record.message, 64);
  writer.i32(record.machinePid);
  writer.i32(record.vcpu);
  writer.rest(record.tail);
}

/**
 * The threads that were recorded or counted: `StatRecord.thread` is an index of them. PERF_RECORD_THREAD_MAP
 * (73), `THREAD_MAP` in statistics.
 */
export interface ThreadMapRecord extends RecordBase<typeof PERF_RECORD_THREAD_MAP> {
  /** The threads in their order. */
  entries: ThreadMapEntry[];
}

/**
 * Reads the fields of PERF_RECORD_THREAD_MAP, for `decodeRecordAs`. Fields beyond the end
 * of the record are 0 or empty.
 */
export function readThreadMap(reader: BodyReader, misc: number): ThreadMapRecord {
  return {
    type: PERF_RECORD_THREAD_MAP,
    misc,
    entries: reader.list(readThreadMapEntry, 24),
    tail: reader.tail(),
  };
}

/** Appends the fields of PERF_RECORD_THREAD_MAP and its tail; `encodeRecord` adds header and trailer. */
export function writeThreadMap(writer: BodyWriter, record: ThreadMapRecord): void {
  writer.list(record.entries, writeThreadMapEntry);
  writer.rest(record.tail);
}

/** The CPUs that were recorded or counted. PERF_RECORD_CPU_MAP (74), `CPU_MAP` in statistics. */
export interface CpuMapRecord extends RecordBase<typeof PERF_RECORD_CPU_MAP> {
  /** Form of `data`: 0 a list, 1 a bit mask, 2 a range. */
  mapType: number;
  /**
   * List: u16 count, then a u16 per CPU; 0xffff is wherever the threads ran. Mask: u16 number of words,
   * u16 their size in bytes (8: padding of 4 bytes follows), then the words. Range: u8 whether any CPU
   * counts, u8, u16 first, u16 last.
   */
  data: Uint8Array;
}

/**
 * Reads the fields of PERF_RECORD_CPU_MAP, for `decodeRecordAs`. Fields beyond the end
 * of the record are 0 or empty.
 */
export function readCpuMap(reader: BodyReader, misc: number): CpuMapRecord {
  return { type: PERF_RECORD_CPU_MAP, misc, mapType: reader.u16(), data: reader.rest(), tail: reader.tail() };
}

/** Appends the fields of PERF_RECORD_CPU_MAP and its tail; `encodeRecord` adds header and trailer. */
export function writeCpuMap(writer: BodyWriter, record: CpuMapRecord): void {
  writer.u16(record.mapType);
  writer.rest(record.data);
  writer.rest(record.tail);
}

/**
 * How a recording of counts (`perf stat record`) was made. PERF_RECORD_STAT_CONFIG
 * (75), `STAT_CONFIG` in statistics.
 */
export interface StatConfigRecord extends RecordBase<typeof PERF_RECORD_STAT_CONFIG> {
  /** One per setting. */
  entries: StatConfigEntry[];
}

/**
 * Reads the fields of PERF_RECORD_STAT_CONFIG, for `decodeRecordAs`. Fields beyond the end
 * of the record are 0 or empty.
 */
export function readStatConfig(reader: BodyReader, misc: number): StatConfigRecord {
  return {
    type: PERF_RECORD_STAT_CONFIG,
    misc,
    entries: reader.list(readStatConfigEntry, 16),
    tail: reader.tail(),
  };
}

/** Appends the fields of PERF_RECORD_STAT_CONFIG and its tail; `encodeRecord` adds header and trailer. */
export function writeStatConfig(writer: BodyWriter, record: StatConfigRecord): void {
  writer.list(record.entries, writeStatConfigEntry);
  writer.rest(record.tail);
}

/** A count of one event, CPU and thread. PERF_RECORD_STAT (76), `STAT` in statistics. */
export interface StatRecord extends RecordBase<typeof PERF_RECORD_STAT> {
  /** Id of the event. */
  id: bigint;
  /** Number of the CPU; 0xffffffff (-1) for wherever the thread ran. */
  cpu: number;
  /** Index in the entries of `ThreadMapRecord`. */
  thread: number;
  /** The count since the event was opened or reset, as it was read: not scaled. */
  value: bigint;
  /** How long the event was enabled, in nanoseconds. */
  timeEnabled: bigint;
  /** How long it had a counter, in nanoseconds. Less than `timeEnabled`: events shared the counters. */
  timeRunning: bigint;
}

/**
 * Reads the fields of PERF_RECORD_STAT, for `decodeRecordAs`. Fields beyond the end
 * of the record are 0 or empty.
 */
export function readStat(reader: BodyReader, misc: number): StatRecord {
  return {
    type: PERF_RECORD_STAT,
    misc,
    id: reader.u64(),
    cpu: reader.u32(),
    thread: reader.u32(),
    value: reader.u64(),
    timeEnabled: reader.u64(),
    timeRunning: reader.u64(),
    tail: reader.tail(),
  };
}

/** Appends the fields of PERF_RECORD_STAT and its tail; `encodeRecord` adds header and trailer. */
export function writeStat(writer: BodyWriter, record: StatRecord): void {
  writer.u64(record.id);
  writer.u32(record.cpu);
  writer.u32(record.thread);
  writer.u64(record.value);
  writer.u64(record.timeEnabled);
  writer.u64(record.timeRunning);
  writer.rest(record.tail);
}

/**
 * The counts before this, back to the last one of these, were read together. PERF_RECORD_STAT_ROUND
 * (77), `STAT_ROUND` in statistics.
 */
export interface StatRoundRecord extends RecordBase<typeof PERF_RECORD_STAT_ROUND> {
  /** 0 at an interval, 1 at the end. */
  roundType: bigint;
  /** When, in nanoseconds since counting began. */
  time: bigint;
}

/**
 * Reads the fields of PERF_RECORD_STAT_ROUND, for `decodeRecordAs`. Fields beyond the end
 * of the record are 0 or empty.
 */
export function readStatRound(reader: BodyReader, misc: number): StatRoundRecord {
  return {
    type: PERF_RECORD_STAT_ROUND,
    misc,
    roundType: reader.u64(),
    time: reader.u64(),
    tail: reader.tail(),
  };
}

/** Appends the fields of PERF_RECORD_STAT_ROUND and its tail; `encodeRecord` adds header and trailer. */
export function writeStatRound(writer: BodyWriter, record: StatRoundRecord): void {
  writer.u64(record.roundType);
  writer.u64(record.time);
  writer.rest(record.tail);
}

/**
 * One more fact about an event, such as its unit. PERF_RECORD_EVENT_UPDATE (78),
 * `EVENT_UPDATE` in statistics.
 */
export interface EventUpdateRecord extends RecordBase<typeof PERF_RECORD_EVENT_UPDATE> {
  /** What `data` is: 0 unit, 1 scale, 2 name, 3 CPUs. */
  updateType: bigint;
  /** The first id of the event. */
  id: bigint;
  /**
   * Unit and name: text with a zero at its end. Scale: an f64 by which the count is in the unit. CPUs: the
   * fields of a `CpuMapRecord`.
   */
  data: Uint8Array;
}

/**
 * Reads the fields of PERF_RECORD_EVENT_UPDATE, for `decodeRecordAs`. Fields beyond the end
 * of the record are 0 or empty.
 */
export function readEventUpdate(reader: BodyReader, misc: number): EventUpdateRecord {
  return {
    type: PERF_RECORD_EVENT_UPDATE,
    misc,
    updateType: reader.u64(),
    id: reader.u64(),
    data: reader.rest(),
    tail: reader.tail(),
  };
}

/** Appends the fields of PERF_RECORD_EVENT_UPDATE and its tail; `encodeRecord` adds header and trailer. */
export function writeEventUpdate(writer: BodyWriter, record: EventUpdateRecord): void {
  writer.u64(record.updateType);
  writer.u64(record.id);
  writer.rest(record.data);
  writer.rest(record.tail);
}

/**
 * How the CPU's clock (TSC) becomes time of the recording: fields of `perf_event_mmap_page`, see
 * perf_event_open(2). PERF_RECORD_TIME_CONV (79), `TIME_CONV` in statistics.
 */
export interface TimeConvRecord extends RecordBase<typeof PERF_RECORD_TIME_CONV> {
  /** Right shift of the product: time = timeZero + ((clock * timeMult) >> timeShift). */
  timeShift: bigint;
  /** Factor. */
  timeMult: bigint;
  /** Time at clock 0, in nanoseconds. Valid with `capUserTimeZero`. */
  timeZero: bigint;
  /** With `capUserTimeShort`: clock = timeCycles + ((clock - timeCycles) & timeMask). */
  timeCycles: bigint;
  /** The bits that the clock has. Valid with `capUserTimeShort`. */
  timeMask: bigint;
  /** 1: the conversion holds. */
  capUserTimeZero: number;
  /** 1: the clock has fewer than 64 bits, and `timeCycles` and `timeMask` are there. */
  capUserTimeShort: number;
  /** Padding, zero as a rule; kept as it was read. */
  reserved: Uint8Array;
}

/**
 * Reads the fields of PERF_RECORD_TIME_CONV, for `decodeRecordAs`. Fields beyond the end
 * of the record are 0 or empty.
 */
export function readTimeConv(reader: BodyReader, misc: number): TimeConvRecord {
  return {
    type: PERF_RECORD_TIME_CONV,
    misc,
    timeShift: reader.u64(),
    timeMult: reader.u64(),
    timeZero: reader.u64(),
    timeCycles: reader.u64(),
    timeMask: reader.u64(),
    capUserTimeZero: reader.u8(),
    capUserTimeShort: reader.u8(),
    reserved: reader.bytes(6),
    tail: reader.tail(),
  };
}

/** Appends the fields of PERF_RECORD_TIME_CONV and its tail; `encodeRecord` adds header and trailer. */
export function writeTimeConv(writer: BodyWriter, record: TimeConvRecord): void {
  writer.u64(record.timeShift);
  writer.u64(record.timeMult);
  writer.u64(record.timeZero);
  writer.u64(record.timeCycles);
  writer.u64(record.timeMask);
  writer.u8(record.capUserTimeZero);
  writer.u8(record.capUserTimeShort);
  writer.bytes(record.reserved, 6);
  writer.rest(record.tail);
}

/**
 * A section of the file's header, in a recording that came through a pipe. PERF_RECORD_HEADER_FEATURE
 * (80), `FEATURE` in statistics.
 */
export interface HeaderFeatureRecord extends RecordBase<typeof PERF_RECORD_HEADER_FEATURE> {
  /** Which one, `FEATURE_*`. */
  featureId: bigint;
  /** The section as it stands in a file. */
  data: Uint8Array;
}

/**
 * Reads the fields of PERF_RECORD_HEADER_FEATURE, for `decodeRecordAs`. Fields beyond the end
 * of the record are 0 or empty.
 */
export function readHeaderFeature(reader: BodyReader, misc: number): HeaderFeatureRecord {
  return {
    type: PERF_RECORD_HEADER_FEATURE,
    misc,
    featureId: reader.u64(),
    data: reader.rest(),
    tail: reader.tail(),
  };
}

/** Appends the fields of PERF_RECORD_HEADER_FEATURE and its tail; `encodeRecord` adds header and trailer. */
export function writeHeaderFeature(writer: BodyWriter, record: HeaderFeatureRecord): void {
  writer.u64(record.featureId);
  writer.rest(record.data);
  writer.rest(record.tail);
}

/**
 * Records, compressed: one stream of Zstandard through all of these. PERF_RECORD_COMPRESSED
 * (81), `COMPRESSED` in statistics.
 */
export interface CompressedRecord extends RecordBase<typeof PERF_RECORD_COMPRESSED> {
  /** The next bytes of the stream. They need not end on a multiple of 8. */
  data: Uint8Array;
}

/**
 * Reads the fields of PERF_RECORD_COMPRESSED, for `decodeRecordAs`. Fields beyond the end
 * of the record are 0 or empty.
 */
export function readCompressed(reader: BodyReader, misc: number): CompressedRecord {
  return { type: PERF_RECORD_COMPRESSED, misc, data: reader.rest(), tail: reader.tail() };
}

/** Appends the fields of PERF_RECORD_COMPRESSED and its tail; `encodeRecord` adds header and trailer. */
export function writeCompressed(writer: BodyWriter, record: CompressedRecord): void {
  writer.rest(record.data);
  writer.rest(record.tail);
}

/**
 * What a recorder wrote of the time before the recording ends here: processes, mappings.
 * PERF_RECORD_FINISHED_INIT (82), `FINISHED_INIT` in statistics.
 */
export interface FinishedInitRecord extends RecordBase<typeof PERF_RECORD_FINISHED_INIT> {}

/**
 * Reads the fields of PERF_RECORD_FINISHED_INIT, for `decodeRecordAs`. Fields beyond the end
 * of the record are 0 or empty.
 */
export function readFinishedInit(reader: BodyReader, misc: number): FinishedInitRecord {
  return { type: PERF_RECORD_FINISHED_INIT, misc, tail: reader.tail() };
}

/** Appends the fields of PERF_RECORD_FINISHED_INIT and its tail; `encodeRecord` adds header and trailer. */
export function writeFinishedInit(writer: BodyWriter, record: FinishedInitRecord): void {
  writer.rest(record.tail);
}

/**
 * As PERF_RECORD_COMPRESSED, with its exact size: the record is padded to a multiple of 8.
 * PERF_RECORD_COMPRESSED2 (83), `COMPRESSED2` in statistics.
 */
export interface Compressed2Record extends RecordBase<typeof PERF_RECORD_COMPRESSED2> {
  /** How many bytes of `data` count. */
  dataSize: bigint;
  /** The next bytes of the stream, then padding. */
  data: Uint8Array;
}

/**
 * Reads the fields of PERF_RECORD_COMPRESSED2, for `decodeRecordAs`. Fields beyond the end
 * of the record are 0 or empty.
 */
export function readCompressed2(reader: BodyReader, misc: number): Compressed2Record {
  return {
    type: PERF_RECORD_COMPRESSED2,
    misc,
    dataSize: reader.u64(),
    data: reader.rest(),
    tail: reader.tail(),
  };
}

/** Appends the fields of PERF_RECORD_COMPRESSED2 and its tail; `encodeRecord` adds header and trailer. */
export function writeCompressed2(writer: BodyWriter, record: Compressed2Record): void {
  writer.u64(record.dataSize);
  writer.rest(record.data);
  writer.rest(record.tail);
}

/**
 * Variables that a BPF program has for tools: those whose names start with `bpf_metadata_`.
 * PERF_RECORD_BPF_METADATA (84), `BPF_METADATA` in statistics.
 */
export interface BpfMetadataRecord extends RecordBase<typeof PERF_RECORD_BPF_METADATA> {
  /** Name of the program, as /proc/kallsyms has it: `bpf_prog_TAG_NAME`. */
  programName: string;
  /** How many entries `data` has. */
  count: bigint;
  /** Entries: name in 64 bytes, value in 256, both text that ends with a zero. */
  data: Uint8Array;
}

/**
 * Reads the fields of PERF_RECORD_BPF_METADATA, for `decodeRecordAs`. Fields beyond the end
 * of the record are 0 or empty.
 */
export function readBpfMetadata(reader: BodyReader, misc: number): BpfMetadataRecord {
  return {
    type: PERF_RECORD_BPF_METADATA,
    misc,
    programName: reader.chars(512),
    count: reader.u64(),
    data: reader.rest(),
    tail: reader.tail(),
  };
}

/** Appends the fields of PERF_RECORD_BPF_METADATA and its tail; `encodeRecord` adds header and trailer. */
export function writeBpfMetadata(writer: BodyWriter, record: BpfMetadataRecord): void {
  writer.chars(record.programName, 512);
  writer.u64(record.count);
  writer.rest(record.data);
  writer.rest(record.tail);
}

/**
 * Counters of the scheduler for a CPU, from /proc/schedstat. PERF_RECORD_SCHEDSTAT_CPU (85),
 * `SCHEDSTAT_CPU` in statistics.
 */
export interface SchedstatCpuRecord extends RecordBase<typeof PERF_RECORD_SCHEDSTAT_CPU> {
  /** When, in jiffies, as /proc/schedstat says. */
  timestamp: bigint;
  /** Number of the CPU. */
  cpu: number;
  /** Version of /proc/schedstat: says what `data` holds. */
  version: number;
  /** Padding, zero as a rule; kept as it was read. */
  padding: number;
  /** The counters of the line, in its order. */
  data: Uint8Array;
}

/**
 * Reads the fields of PERF_RECORD_SCHEDSTAT_CPU, for `decodeRecordAs`. Fields beyond the end
 * of the record are 0 or empty.
 */
export function readSchedstatCpu(reader: BodyReader, misc: number): SchedstatCpuRecord {
  return {
    type: PERF_RECORD_SCHEDSTAT_CPU,
    misc,
    timestamp: reader.u64(),
    cpu: reader.u32(),
    version: reader.u16(),
    padding: reader.u16(),
    data: reader.rest(),
    tail: reader.tail(),
  };
}

/** Appends the fields of PERF_RECORD_SCHEDSTAT_CPU and its tail; `encodeRecord` adds header and trailer. */
export function writeSchedstatCpu(writer: BodyWriter, record: SchedstatCpuRecord): void {
  writer.u64(record.timestamp);
  writer.u32(record.cpu);
  writer.u16(record.version);
  writer.u16(record.padding);
  writer.rest(record.data);
  writer.rest(record.tail);
}

/**
 * Counters of the scheduler for a scheduling domain of a CPU, from /proc/schedstat.
 * PERF_RECORD_SCHEDSTAT_DOMAIN (86), `SCHEDSTAT_DOMAIN` in statistics.
 */
export interface SchedstatDomainRecord extends RecordBase<typeof PERF_RECORD_SCHEDSTAT_DOMAIN> {
  /** When, in jiffies, as /proc/schedstat says. */
  timestamp: bigint;
  /** Number of the CPU. */
  cpu: number;
  /** Version of /proc/schedstat: says what `data` holds. */
  version: number;
  /** Level of the domain, 0 the smallest. */
  domain: number;
  /** Name of the domain (`SMT`, `MC`, `NUMA`); empty where the kernel does not say (before version 17). */
  domainName: string;
  /** The counters of the line, in its order. */
  data: Uint8Array;
}

/**
 * Reads the fields of PERF_RECORD_SCHEDSTAT_DOMAIN, for `decodeRecordAs`. Fields beyond the end
 * of the record are 0 or empty.
 */
export function readSchedstatDomain(reader: BodyReader, misc: number): SchedstatDomainRecord {
  return {
    type: PERF_RECORD_SCHEDSTAT_DOMAIN,
    misc,
    timestamp: reader.u64(),
    cpu: reader.u32(),
    version: reader.u16(),
    domain: reader.u16(),
    domainName: reader.chars(16),
    data: reader.rest(),
    tail: reader.tail(),
  };
}

/**
 * Appends the fields of PERF_RECORD_SCHEDSTAT_DOMAIN and its tail; `encodeRecord` adds header and trailer.
 */
export function writeSchedstatDomain(writer: BodyWriter, record: SchedstatDomainRecord): void {
  writer.u64(record.timestamp);
  writer.u32(record.cpu);
  writer.u16(record.version);
  writer.u16(record.domain);
  writer.chars(record.domainName, 16);
  writer.rest(record.data);
  writer.rest(record.tail);
}

/** Every record of this book but samples, told apart by `type`. */
export type TableRecord =
  | MmapRecord
  | LostRecord
  | CommRecord
  | ExitRecord
  | ThrottleRecord
  | UnthrottleRecord
  | ForkRecord
  | ReadRecord
  | Mmap2Record
  | AuxRecord
  | ItraceStartRecord
  | LostSamplesRecord
  | SwitchRecord
  | SwitchCpuWideRecord
  | NamespacesRecord
  | KsymbolRecord
  | BpfEventRecord
  | CgroupRecord
  | TextPokeRecord
  | AuxOutputHwIdRecord
  | CallchainDeferredRecord
  | HeaderAttrRecord
  | HeaderEventTypeRecord
  | HeaderTracingDataRecord
  | HeaderBuildIdRecord
  | FinishedRoundRecord
  | IdIndexRecord
  | AuxtraceInfoRecord
  | AuxtraceRecord
  | AuxtraceErrorRecord
  | ThreadMapRecord
  | CpuMapRecord
  | StatConfigRecord
  | StatRecord
  | StatRoundRecord
  | EventUpdateRecord
  | TimeConvRecord
  | HeaderFeatureRecord
  | CompressedRecord
  | FinishedInitRecord
  | Compressed2Record
  | BpfMetadataRecord
  | SchedstatCpuRecord
  | SchedstatDomainRecord;

/** Reads the fields of one type of record from a reader that stands behind its header. */
export type BodyReadFunction = (reader: BodyReader, misc: number) => TableRecord;
/** Appends the fields and the tail of one type of record to a writer that has its header. */
export type BodyWriteFunction = (writer: BodyWriter, record: never) => void;

/** The `readX` of each type of record, by the number of the type. */
export const READERS: ReadonlyMap<number, BodyReadFunction> = new Map<number, BodyReadFunction>([
  [PERF_RECORD_MMAP, readMmap],
  [PERF_RECORD_LOST, readLost],
  [PERF_RECORD_COMM, readComm],
  [PERF_RECORD_EXIT, readExit],
  [PERF_RECORD_THROTTLE, readThrottle],
  [PERF_RECORD_UNTHROTTLE, readUnthrottle],
  [PERF_RECORD_FORK, readFork],
  [PERF_RECORD_READ, readRead],
  [PERF_RECORD_MMAP2, readMmap2],
  [PERF_RECORD_AUX, readAux],
  [PERF_RECORD_ITRACE_START, readItraceStart],
  [PERF_RECORD_LOST_SAMPLES, readLostSamples],
  [PERF_RECORD_SWITCH, readSwitch],
  [PERF_RECORD_SWITCH_CPU_WIDE, readSwitchCpuWide],
  [PERF_RECORD_NAMESPACES, readNamespaces],
  [PERF_RECORD_KSYMBOL, readKsymbol],
  [PERF_RECORD_BPF_EVENT, readBpfEvent],
  [PERF_RECORD_CGROUP, readCgroup],
  [PERF_RECORD_TEXT_POKE, readTextPoke],
  [PERF_RECORD_AUX_OUTPUT_HW_ID, readAuxOutputHwId],
  [PERF_RECORD_CALLCHAIN_DEFERRED, readCallchainDeferred],
  [PERF_RECORD_HEADER_ATTR, readHeaderAttr],
  [PERF_RECORD_HEADER_EVENT_TYPE, readHeaderEventType],
  [PERF_RECORD_HEADER_TRACING_DATA, readHeaderTracingData],
  [PERF_RECORD_HEADER_BUILD_ID, readHeaderBuildId],
  [PERF_RECORD_FINISHED_ROUND, readFinishedRound],
  [PERF_RECORD_ID_INDEX, readIdIndex],
  [PERF_RECORD_AUXTRACE_INFO, readAuxtraceInfo],
  [PERF_RECORD_AUXTRACE, readAuxtrace],
  [PERF_RECORD_AUXTRACE_ERROR, readAuxtraceError],
  [PERF_RECORD_THREAD_MAP, readThreadMap],
  [PERF_RECORD_CPU_MAP, readCpuMap],
  [PERF_RECORD_STAT_CONFIG, readStatConfig],
  [PERF_RECORD_STAT, readStat],
  [PERF_RECORD_STAT_ROUND, readStatRound],
  [PERF_RECORD_EVENT_UPDATE, readEventUpdate],
  [PERF_RECORD_TIME_CONV, readTimeConv],
  [PERF_RECORD_HEADER_FEATURE, readHeaderFeature],
  [PERF_RECORD_COMPRESSED, readCompressed],
  [PERF_RECORD_FINISHED_INIT, readFinishedInit],
  [PERF_RECORD_COMPRESSED2, readCompressed2],
  [PERF_RECORD_BPF_METADATA, readBpfMetadata],
  [PERF_RECORD_SCHEDSTAT_CPU, readSchedstatCpu],
  [PERF_RECORD_SCHEDSTAT_DOMAIN, readSchedstatDomain],
]);

/** The `writeX` of each type of record, by the number of the type. */
export const WRITERS: ReadonlyMap<number, BodyWriteFunction> = new Map<number, BodyWriteFunction>([
  [PERF_RECORD_MMAP, writeMmap],
  [PERF_RECORD_LOST, writeLost],
  [PERF_RECORD_COMM, writeComm],
  [PERF_RECORD_EXIT, writeExit],
  [PERF_RECORD_THROTTLE, writeThrottle],
  [PERF_RECORD_UNTHROTTLE, writeUnthrottle],
  [PERF_RECORD_FORK, writeFork],
  [PERF_RECORD_READ, writeRead],
  [PERF_RECORD_MMAP2, writeMmap2],
  [PERF_RECORD_AUX, writeAux],
  [PERF_RECORD_ITRACE_START, writeItraceStart],
  [PERF_RECORD_LOST_SAMPLES, writeLostSamples],
  [PERF_RECORD_SWITCH, writeSwitch],
  [PERF_RECORD_SWITCH_CPU_WIDE, writeSwitchCpuWide],
  [PERF_RECORD_NAMESPACES, writeNamespaces],
  [PERF_RECORD_KSYMBOL, writeKsymbol],
  [PERF_RECORD_BPF_EVENT, writeBpfEvent],
  [PERF_RECORD_CGROUP, writeCgroup],
  [PERF_RECORD_TEXT_POKE, writeTextPoke],
  [PERF_RECORD_AUX_OUTPUT_HW_ID, writeAuxOutputHwId],
  [PERF_RECORD_CALLCHAIN_DEFERRED, writeCallchainDeferred],
  [PERF_RECORD_HEADER_ATTR, writeHeaderAttr],
  [PERF_RECORD_HEADER_EVENT_TYPE, writeHeaderEventType],
  [PERF_RECORD_HEADER_TRACING_DATA, writeHeaderTracingData],
  [PERF_RECORD_HEADER_BUILD_ID, writeHeaderBuildId],
  [PERF_RECORD_FINISHED_ROUND, writeFinishedRound],
  [PERF_RECORD_ID_INDEX, writeIdIndex],
  [PERF_RECORD_AUXTRACE_INFO, writeAuxtraceInfo],
  [PERF_RECORD_AUXTRACE, writeAuxtrace],
  [PERF_RECORD_AUXTRACE_ERROR, writeAuxtraceError],
  [PERF_RECORD_THREAD_MAP, writeThreadMap],
  [PERF_RECORD_CPU_MAP, writeCpuMap],
  [PERF_RECORD_STAT_CONFIG, writeStatConfig],
  [PERF_RECORD_STAT, writeStat],
  [PERF_RECORD_STAT_ROUND, writeStatRound],
  [PERF_RECORD_EVENT_UPDATE, writeEventUpdate],
  [PERF_RECORD_TIME_CONV, writeTimeConv],
  [PERF_RECORD_HEADER_FEATURE, writeHeaderFeature],
  [PERF_RECORD_COMPRESSED, writeCompressed],
  [PERF_RECORD_FINISHED_INIT, writeFinishedInit],
  [PERF_RECORD_COMPRESSED2, writeCompressed2],
  [PERF_RECORD_BPF_METADATA, writeBpfMetadata],
  [PERF_RECORD_SCHEDSTAT_CPU, writeSchedstatCpu],
  [PERF_RECORD_SCHEDSTAT_DOMAIN, writeSchedstatDomain],
]);
