// Generated from abi/record-table.ts by scripts/gen-records.ts. Do not edit: change the table and run the script.
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

export interface NamespaceLink {
  device: bigint;
  inode: bigint;
}

function readNamespaceLink(reader: BodyReader): NamespaceLink {
  return { device: reader.u64(), inode: reader.u64() };
}

function writeNamespaceLink(writer: BodyWriter, item: NamespaceLink): void {
  writer.u64(item.device);
  writer.u64(item.inode);
}

export interface IdIndexEntry {
  id: bigint;
  index: bigint;
  cpu: bigint;
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

export interface ThreadMapEntry {
  pid: bigint;
  comm: string;
}

function readThreadMapEntry(reader: BodyReader): ThreadMapEntry {
  return { pid: reader.u64(), comm: reader.chars(16) };
}

function writeThreadMapEntry(writer: BodyWriter, item: ThreadMapEntry): void {
  writer.u64(item.pid);
  writer.chars(item.comm, 16);
}

export interface StatConfigEntry {
  tag: bigint;
  value: bigint;
}

function readStatConfigEntry(reader: BodyReader): StatConfigEntry {
  return { tag: reader.u64(), value: reader.u64() };
}

function writeStatConfigEntry(writer: BodyWriter, item: StatConfigEntry): void {
  writer.u64(item.tag);
  writer.u64(item.value);
}

/** PERF_RECORD_MMAP (1), `MMAP` in statistics. */
export interface MmapRecord extends RecordBase {
  type: typeof PERF_RECORD_MMAP;
  pid: number;
  tid: number;
  start: bigint;
  length: bigint;
  pageOffset: bigint;
  path: string;
  /** The text as it stood, where it was not in the usual form (padding, not UTF-8). Written again while it fits the text. */
  textArea?: Uint8Array;
}

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

export function writeMmap(writer: BodyWriter, record: MmapRecord): void {
  writer.i32(record.pid);
  writer.i32(record.tid);
  writer.u64(record.start);
  writer.u64(record.length);
  writer.u64(record.pageOffset);
  writer.text(record.path, record.textArea);
  writer.rest(record.tail);
}

/** PERF_RECORD_LOST (2), `LOST` in statistics. */
export interface LostRecord extends RecordBase {
  type: typeof PERF_RECORD_LOST;
  id: bigint;
  lost: bigint;
}

export function readLost(reader: BodyReader, misc: number): LostRecord {
  return { type: PERF_RECORD_LOST, misc, id: reader.u64(), lost: reader.u64(), tail: reader.tail() };
}

export function writeLost(writer: BodyWriter, record: LostRecord): void {
  writer.u64(record.id);
  writer.u64(record.lost);
  writer.rest(record.tail);
}

/** PERF_RECORD_COMM (3), `COMM` in statistics. */
export interface CommRecord extends RecordBase {
  type: typeof PERF_RECORD_COMM;
  pid: number;
  tid: number;
  comm: string;
  /** The text as it stood, where it was not in the usual form (padding, not UTF-8). Written again while it fits the text. */
  textArea?: Uint8Array;
}

export function readComm(reader: BodyReader, misc: number): CommRecord {
  const record = { type: PERF_RECORD_COMM, misc } as CommRecord;
  record.pid = reader.i32();
  record.tid = reader.i32();
  record.comm = readText(reader, record);
  record.tail = reader.tail();
  return record;
}

export function writeComm(writer: BodyWriter, record: CommRecord): void {
  writer.i32(record.pid);
  writer.i32(record.tid);
  writer.text(record.comm, record.textArea);
  writer.rest(record.tail);
}

/** PERF_RECORD_EXIT (4), `EXIT` in statistics. */
export interface ExitRecord extends RecordBase {
  type: typeof PERF_RECORD_EXIT;
  pid: number;
  ppid: number;
  tid: number;
  ptid: number;
  time: bigint;
}

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

export function writeExit(writer: BodyWriter, record: ExitRecord): void {
  writer.i32(record.pid);
  writer.i32(record.ppid);
  writer.i32(record.tid);
  writer.i32(record.ptid);
  writer.u64(record.time);
  writer.rest(record.tail);
}

/** PERF_RECORD_THROTTLE (5), `THROTTLE` in statistics. */
export interface ThrottleRecord extends RecordBase {
  type: typeof PERF_RECORD_THROTTLE;
  time: bigint;
  id: bigint;
  streamId: bigint;
}

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

export function writeThrottle(writer: BodyWriter, record: ThrottleRecord): void {
  writer.u64(record.time);
  writer.u64(record.id);
  writer.u64(record.streamId);
  writer.rest(record.tail);
}

/** PERF_RECORD_UNTHROTTLE (6), `UNTHROTTLE` in statistics. */
export interface UnthrottleRecord extends RecordBase {
  type: typeof PERF_RECORD_UNTHROTTLE;
  time: bigint;
  id: bigint;
  streamId: bigint;
}

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

export function writeUnthrottle(writer: BodyWriter, record: UnthrottleRecord): void {
  writer.u64(record.time);
  writer.u64(record.id);
  writer.u64(record.streamId);
  writer.rest(record.tail);
}

/** PERF_RECORD_FORK (7), `FORK` in statistics. */
export interface ForkRecord extends RecordBase {
  type: typeof PERF_RECORD_FORK;
  pid: number;
  ppid: number;
  tid: number;
  ptid: number;
  time: bigint;
}

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

export function writeFork(writer: BodyWriter, record: ForkRecord): void {
  writer.i32(record.pid);
  writer.i32(record.ppid);
  writer.i32(record.tid);
  writer.i32(record.ptid);
  writer.u64(record.time);
  writer.rest(record.tail);
}

/** PERF_RECORD_READ (8), `READ` in statistics. */
export interface ReadRecord extends RecordBase {
  type: typeof PERF_RECORD_READ;
  pid: number;
  tid: number;
  values: Uint8Array;
}

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

export function writeRead(writer: BodyWriter, record: ReadRecord): void {
  writer.i32(record.pid);
  writer.i32(record.tid);
  writer.rest(record.values);
  writer.rest(record.tail);
}

/** PERF_RECORD_MMAP2 (10), `MMAP2` in statistics. */
export interface Mmap2Record extends RecordBase {
  type: typeof PERF_RECORD_MMAP2;
  pid: number;
  tid: number;
  start: bigint;
  length: bigint;
  pageOffset: bigint;
  major?: number; // without PERF_RECORD_MISC_MMAP_BUILD_ID
  minor?: number; // without PERF_RECORD_MISC_MMAP_BUILD_ID
  inode?: bigint; // without PERF_RECORD_MISC_MMAP_BUILD_ID
  inodeGeneration?: bigint; // without PERF_RECORD_MISC_MMAP_BUILD_ID
  buildIdSize?: number; // with PERF_RECORD_MISC_MMAP_BUILD_ID
  reserved1?: number; // with PERF_RECORD_MISC_MMAP_BUILD_ID
  reserved2?: number; // with PERF_RECORD_MISC_MMAP_BUILD_ID
  buildId?: Uint8Array; // with PERF_RECORD_MISC_MMAP_BUILD_ID
  protection: number;
  flags: number;
  path: string;
  /** The text as it stood, where it was not in the usual form (padding, not UTF-8). Written again while it fits the text. */
  textArea?: Uint8Array;
}

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

/** PERF_RECORD_AUX (11), `AUX` in statistics. */
export interface AuxRecord extends RecordBase {
  type: typeof PERF_RECORD_AUX;
  auxOffset: bigint;
  auxSize: bigint;
  flags: bigint;
}

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

export function writeAux(writer: BodyWriter, record: AuxRecord): void {
  writer.u64(record.auxOffset);
  writer.u64(record.auxSize);
  writer.u64(record.flags);
  writer.rest(record.tail);
}

/** PERF_RECORD_ITRACE_START (12), `ITRACE_START` in statistics. */
export interface ItraceStartRecord extends RecordBase {
  type: typeof PERF_RECORD_ITRACE_START;
  pid: number;
  tid: number;
}

export function readItraceStart(reader: BodyReader, misc: number): ItraceStartRecord {
  return { type: PERF_RECORD_ITRACE_START, misc, pid: reader.i32(), tid: reader.i32(), tail: reader.tail() };
}

export function writeItraceStart(writer: BodyWriter, record: ItraceStartRecord): void {
  writer.i32(record.pid);
  writer.i32(record.tid);
  writer.rest(record.tail);
}

/** PERF_RECORD_LOST_SAMPLES (13), `LOST_SAMPLES` in statistics. */
export interface LostSamplesRecord extends RecordBase {
  type: typeof PERF_RECORD_LOST_SAMPLES;
  lost: bigint;
}

export function readLostSamples(reader: BodyReader, misc: number): LostSamplesRecord {
  return { type: PERF_RECORD_LOST_SAMPLES, misc, lost: reader.u64(), tail: reader.tail() };
}

export function writeLostSamples(writer: BodyWriter, record: LostSamplesRecord): void {
  writer.u64(record.lost);
  writer.rest(record.tail);
}

/** PERF_RECORD_SWITCH (14), `SWITCH` in statistics. */
export interface SwitchRecord extends RecordBase {
  type: typeof PERF_RECORD_SWITCH;
}

export function readSwitch(reader: BodyReader, misc: number): SwitchRecord {
  return { type: PERF_RECORD_SWITCH, misc, tail: reader.tail() };
}

export function writeSwitch(writer: BodyWriter, record: SwitchRecord): void {
  writer.rest(record.tail);
}

/** PERF_RECORD_SWITCH_CPU_WIDE (15), `SWITCH_CPU_WIDE` in statistics. */
export interface SwitchCpuWideRecord extends RecordBase {
  type: typeof PERF_RECORD_SWITCH_CPU_WIDE;
  nextOrPreviousPid: number;
  nextOrPreviousTid: number;
}

export function readSwitchCpuWide(reader: BodyReader, misc: number): SwitchCpuWideRecord {
  return {
    type: PERF_RECORD_SWITCH_CPU_WIDE,
    misc,
    nextOrPreviousPid: reader.i32(),
    nextOrPreviousTid: reader.i32(),
    tail: reader.tail(),
  };
}

export function writeSwitchCpuWide(writer: BodyWriter, record: SwitchCpuWideRecord): void {
  writer.i32(record.nextOrPreviousPid);
  writer.i32(record.nextOrPreviousTid);
  writer.rest(record.tail);
}

/** PERF_RECORD_NAMESPACES (16), `NAMESPACES` in statistics. */
export interface NamespacesRecord extends RecordBase {
  type: typeof PERF_RECORD_NAMESPACES;
  pid: number;
  tid: number;
  links: NamespaceLink[];
}

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

export function writeNamespaces(writer: BodyWriter, record: NamespacesRecord): void {
  writer.i32(record.pid);
  writer.i32(record.tid);
  writer.list(record.links, writeNamespaceLink);
  writer.rest(record.tail);
}

/** PERF_RECORD_KSYMBOL (17), `KSYMBOL` in statistics. */
export interface KsymbolRecord extends RecordBase {
  type: typeof PERF_RECORD_KSYMBOL;
  address: bigint;
  length: number;
  symbolType: number;
  flags: number;
  symbol: string;
  /** The text as it stood, where it was not in the usual form (padding, not UTF-8). Written again while it fits the text. */
  textArea?: Uint8Array;
}

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

export function writeKsymbol(writer: BodyWriter, record: KsymbolRecord): void {
  writer.u64(record.address);
  writer.u32(record.length);
  writer.u16(record.symbolType);
  writer.u16(record.flags);
  writer.text(record.symbol, record.textArea);
  writer.rest(record.tail);
}

/** PERF_RECORD_BPF_EVENT (18), `BPF_EVENT` in statistics. */
export interface BpfEventRecord extends RecordBase {
  type: typeof PERF_RECORD_BPF_EVENT;
  eventType: number;
  flags: number;
  id: number;
  tag: Uint8Array;
}

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

export function writeBpfEvent(writer: BodyWriter, record: BpfEventRecord): void {
  writer.u16(record.eventType);
  writer.u16(record.flags);
  writer.u32(record.id);
  writer.bytes(record.tag, 8);
  writer.rest(record.tail);
}

/** PERF_RECORD_CGROUP (19), `CGROUP` in statistics. */
export interface CgroupRecord extends RecordBase {
  type: typeof PERF_RECORD_CGROUP;
  id: bigint;
  path: string;
  /** The text as it stood, where it was not in the usual form (padding, not UTF-8). Written again while it fits the text. */
  textArea?: Uint8Array;
}

export function readCgroup(reader: BodyReader, misc: number): CgroupRecord {
  const record = { type: PERF_RECORD_CGROUP, misc } as CgroupRecord;
  record.id = reader.u64();
  record.path = readText(reader, record);
  record.tail = reader.tail();
  return record;
}

export function writeCgroup(writer: BodyWriter, record: CgroupRecord): void {
  writer.u64(record.id);
  writer.text(record.path, record.textArea);
  writer.rest(record.tail);
}

/** PERF_RECORD_TEXT_POKE (20), `TEXT_POKE` in statistics. */
export interface TextPokeRecord extends RecordBase {
  type: typeof PERF_RECORD_TEXT_POKE;
  address: bigint;
  oldLength: number;
  newLength: number;
  code: Uint8Array;
}

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

export function writeTextPoke(writer: BodyWriter, record: TextPokeRecord): void {
  writer.u64(record.address);
  writer.u16(record.oldLength);
  writer.u16(record.newLength);
  writer.rest(record.code);
  writer.rest(record.tail);
}

/** PERF_RECORD_AUX_OUTPUT_HW_ID (21), `AUX_OUTPUT_HW_ID` in statistics. */
export interface AuxOutputHwIdRecord extends RecordBase {
  type: typeof PERF_RECORD_AUX_OUTPUT_HW_ID;
  hardwareId: bigint;
}

export function readAuxOutputHwId(reader: BodyReader, misc: number): AuxOutputHwIdRecord {
  return { type: PERF_RECORD_AUX_OUTPUT_HW_ID, misc, hardwareId: reader.u64(), tail: reader.tail() };
}

export function writeAuxOutputHwId(writer: BodyWriter, record: AuxOutputHwIdRecord): void {
  writer.u64(record.hardwareId);
  writer.rest(record.tail);
}

/** PERF_RECORD_CALLCHAIN_DEFERRED (22), `CALLCHAIN_DEFERRED` in statistics. */
export interface CallchainDeferredRecord extends RecordBase {
  type: typeof PERF_RECORD_CALLCHAIN_DEFERRED;
  cookie: bigint;
  addresses: bigint[];
}

export function readCallchainDeferred(reader: BodyReader, misc: number): CallchainDeferredRecord {
  return {
    type: PERF_RECORD_CALLCHAIN_DEFERRED,
    misc,
    cookie: reader.u64(),
    addresses: reader.u64list(),
    tail: reader.tail(),
  };
}

export function writeCallchainDeferred(writer: BodyWriter, record: CallchainDeferredRecord): void {
  writer.u64(record.cookie);
  writer.u64list(record.addresses);
  writer.rest(record.tail);
}

/** PERF_RECORD_HEADER_ATTR (64), `ATTR` in statistics. */
export interface HeaderAttrRecord extends RecordBase {
  type: typeof PERF_RECORD_HEADER_ATTR;
  attrAndIds: Uint8Array;
}

export function readHeaderAttr(reader: BodyReader, misc: number): HeaderAttrRecord {
  return { type: PERF_RECORD_HEADER_ATTR, misc, attrAndIds: reader.rest(), tail: reader.tail() };
}

export function writeHeaderAttr(writer: BodyWriter, record: HeaderAttrRecord): void {
  writer.rest(record.attrAndIds);
  writer.rest(record.tail);
}

/** PERF_RECORD_HEADER_EVENT_TYPE (65), `EVENT_TYPE` in statistics. */
export interface HeaderEventTypeRecord extends RecordBase {
  type: typeof PERF_RECORD_HEADER_EVENT_TYPE;
  eventId: bigint;
  eventName: string;
}

export function readHeaderEventType(reader: BodyReader, misc: number): HeaderEventTypeRecord {
  return {
    type: PERF_RECORD_HEADER_EVENT_TYPE,
    misc,
    eventId: reader.u64(),
    eventName: reader.chars(64),
    tail: reader.tail(),
  };
}

export function writeHeaderEventType(writer: BodyWriter, record: HeaderEventTypeRecord): void {
  writer.u64(record.eventId);
  writer.chars(record.eventName, 64);
  writer.rest(record.tail);
}

/** PERF_RECORD_HEADER_TRACING_DATA (66), `TRACING_DATA` in statistics. */
export interface HeaderTracingDataRecord extends RecordBase {
  type: typeof PERF_RECORD_HEADER_TRACING_DATA;
  dataSize: number;
}

export function readHeaderTracingData(reader: BodyReader, misc: number): HeaderTracingDataRecord {
  return { type: PERF_RECORD_HEADER_TRACING_DATA, misc, dataSize: reader.u32(), tail: reader.tail() };
}

export function writeHeaderTracingData(writer: BodyWriter, record: HeaderTracingDataRecord): void {
  writer.u32(record.dataSize);
  writer.rest(record.tail);
}

/** PERF_RECORD_HEADER_BUILD_ID (67), `BUILD_ID` in statistics. */
export interface HeaderBuildIdRecord extends RecordBase {
  type: typeof PERF_RECORD_HEADER_BUILD_ID;
  pid: number;
  buildId: Uint8Array;
  buildIdSize: number;
  reserved1: number;
  reserved2: number;
  path: string;
  /** The text as it stood, where it was not in the usual form (padding, not UTF-8). Written again while it fits the text. */
  textArea?: Uint8Array;
}

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

export function writeHeaderBuildId(writer: BodyWriter, record: HeaderBuildIdRecord): void {
  writer.i32(record.pid);
  writer.bytes(record.buildId, 20);
  writer.u8(record.buildIdSize);
  writer.u8(record.reserved1);
  writer.u16(record.reserved2);
  writer.text(record.path, record.textArea);
  writer.rest(record.tail);
}

/** PERF_RECORD_FINISHED_ROUND (68), `FINISHED_ROUND` in statistics. */
export interface FinishedRoundRecord extends RecordBase {
  type: typeof PERF_RECORD_FINISHED_ROUND;
}

export function readFinishedRound(reader: BodyReader, misc: number): FinishedRoundRecord {
  return { type: PERF_RECORD_FINISHED_ROUND, misc, tail: reader.tail() };
}

export function writeFinishedRound(writer: BodyWriter, record: FinishedRoundRecord): void {
  writer.rest(record.tail);
}

/** PERF_RECORD_ID_INDEX (69), `ID_INDEX` in statistics. */
export interface IdIndexRecord extends RecordBase {
  type: typeof PERF_RECORD_ID_INDEX;
  entries: IdIndexEntry[];
}

export function readIdIndex(reader: BodyReader, misc: number): IdIndexRecord {
  return {
    type: PERF_RECORD_ID_INDEX,
    misc,
    entries: reader.list(readIdIndexEntry, 32),
    tail: reader.tail(),
  };
}

export function writeIdIndex(writer: BodyWriter, record: IdIndexRecord): void {
  writer.list(record.entries, writeIdIndexEntry);
  writer.rest(record.tail);
}

/** PERF_RECORD_AUXTRACE_INFO (70), `AUXTRACE_INFO` in statistics. */
export interface AuxtraceInfoRecord extends RecordBase {
  type: typeof PERF_RECORD_AUXTRACE_INFO;
  auxtraceType: number;
  reserved: number;
  data: Uint8Array;
}

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

export function writeAuxtraceInfo(writer: BodyWriter, record: AuxtraceInfoRecord): void {
  writer.u32(record.auxtraceType);
  writer.u32(record.reserved);
  writer.rest(record.data);
  writer.rest(record.tail);
}

/** PERF_RECORD_AUXTRACE (71), `AUXTRACE` in statistics. */
export interface AuxtraceRecord extends RecordBase {
  type: typeof PERF_RECORD_AUXTRACE;
  dataSize: bigint;
  auxOffset: bigint;
  reference: bigint;
  index: number;
  tid: number;
  cpu: number;
  reserved: number;
}

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

/** PERF_RECORD_AUXTRACE_ERROR (72), `AUXTRACE_ERROR` in statistics. */
export interface AuxtraceErrorRecord extends RecordBase {
  type: typeof PERF_RECORD_AUXTRACE_ERROR;
  errorType: number;
  code: number;
  cpu: number;
  pid: number;
  tid: number;
  format: number;
  ip: bigint;
  time: bigint;
  message: string;
  machinePid: number;
  vcpu: number;
}

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

/** PERF_RECORD_THREAD_MAP (73), `THREAD_MAP` in statistics. */
export interface ThreadMapRecord extends RecordBase {
  type: typeof PERF_RECORD_THREAD_MAP;
  entries: ThreadMapEntry[];
}

export function readThreadMap(reader: BodyReader, misc: number): ThreadMapRecord {
  return {
    type: PERF_RECORD_THREAD_MAP,
    misc,
    entries: reader.list(readThreadMapEntry, 24),
    tail: reader.tail(),
  };
}

export function writeThreadMap(writer: BodyWriter, record: ThreadMapRecord): void {
  writer.list(record.entries, writeThreadMapEntry);
  writer.rest(record.tail);
}

/** PERF_RECORD_CPU_MAP (74), `CPU_MAP` in statistics. */
export interface CpuMapRecord extends RecordBase {
  type: typeof PERF_RECORD_CPU_MAP;
  mapType: number;
  data: Uint8Array;
}

export function readCpuMap(reader: BodyReader, misc: number): CpuMapRecord {
  return { type: PERF_RECORD_CPU_MAP, misc, mapType: reader.u16(), data: reader.rest(), tail: reader.tail() };
}

export function writeCpuMap(writer: BodyWriter, record: CpuMapRecord): void {
  writer.u16(record.mapType);
  writer.rest(record.data);
  writer.rest(record.tail);
}

/** PERF_RECORD_STAT_CONFIG (75), `STAT_CONFIG` in statistics. */
export interface StatConfigRecord extends RecordBase {
  type: typeof PERF_RECORD_STAT_CONFIG;
  entries: StatConfigEntry[];
}

export function readStatConfig(reader: BodyReader, misc: number): StatConfigRecord {
  return {
    type: PERF_RECORD_STAT_CONFIG,
    misc,
    entries: reader.list(readStatConfigEntry, 16),
    tail: reader.tail(),
  };
}

export function writeStatConfig(writer: BodyWriter, record: StatConfigRecord): void {
  writer.list(record.entries, writeStatConfigEntry);
  writer.rest(record.tail);
}

/** PERF_RECORD_STAT (76), `STAT` in statistics. */
export interface StatRecord extends RecordBase {
  type: typeof PERF_RECORD_STAT;
  id: bigint;
  cpu: number;
  thread: number;
  value: bigint;
  timeEnabled: bigint;
  timeRunning: bigint;
}

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

export function writeStat(writer: BodyWriter, record: StatRecord): void {
  writer.u64(record.id);
  writer.u32(record.cpu);
  writer.u32(record.thread);
  writer.u64(record.value);
  writer.u64(record.timeEnabled);
  writer.u64(record.timeRunning);
  writer.rest(record.tail);
}

/** PERF_RECORD_STAT_ROUND (77), `STAT_ROUND` in statistics. */
export interface StatRoundRecord extends RecordBase {
  type: typeof PERF_RECORD_STAT_ROUND;
  roundType: bigint;
  time: bigint;
}

export function readStatRound(reader: BodyReader, misc: number): StatRoundRecord {
  return {
    type: PERF_RECORD_STAT_ROUND,
    misc,
    roundType: reader.u64(),
    time: reader.u64(),
    tail: reader.tail(),
  };
}

export function writeStatRound(writer: BodyWriter, record: StatRoundRecord): void {
  writer.u64(record.roundType);
  writer.u64(record.time);
  writer.rest(record.tail);
}

/** PERF_RECORD_EVENT_UPDATE (78), `EVENT_UPDATE` in statistics. */
export interface EventUpdateRecord extends RecordBase {
  type: typeof PERF_RECORD_EVENT_UPDATE;
  updateType: bigint;
  id: bigint;
  data: Uint8Array;
}

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

export function writeEventUpdate(writer: BodyWriter, record: EventUpdateRecord): void {
  writer.u64(record.updateType);
  writer.u64(record.id);
  writer.rest(record.data);
  writer.rest(record.tail);
}

/** PERF_RECORD_TIME_CONV (79), `TIME_CONV` in statistics. */
export interface TimeConvRecord extends RecordBase {
  type: typeof PERF_RECORD_TIME_CONV;
  timeShift: bigint;
  timeMult: bigint;
  timeZero: bigint;
  timeCycles: bigint;
  timeMask: bigint;
  capUserTimeZero: number;
  capUserTimeShort: number;
  reserved: Uint8Array;
}

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

/** PERF_RECORD_HEADER_FEATURE (80), `FEATURE` in statistics. */
export interface HeaderFeatureRecord extends RecordBase {
  type: typeof PERF_RECORD_HEADER_FEATURE;
  featureId: bigint;
  data: Uint8Array;
}

export function readHeaderFeature(reader: BodyReader, misc: number): HeaderFeatureRecord {
  return {
    type: PERF_RECORD_HEADER_FEATURE,
    misc,
    featureId: reader.u64(),
    data: reader.rest(),
    tail: reader.tail(),
  };
}

export function writeHeaderFeature(writer: BodyWriter, record: HeaderFeatureRecord): void {
  writer.u64(record.featureId);
  writer.rest(record.data);
  writer.rest(record.tail);
}

/** PERF_RECORD_COMPRESSED (81), `COMPRESSED` in statistics. */
export interface CompressedRecord extends RecordBase {
  type: typeof PERF_RECORD_COMPRESSED;
  data: Uint8Array;
}

export function readCompressed(reader: BodyReader, misc: number): CompressedRecord {
  return { type: PERF_RECORD_COMPRESSED, misc, data: reader.rest(), tail: reader.tail() };
}

export function writeCompressed(writer: BodyWriter, record: CompressedRecord): void {
  writer.rest(record.data);
  writer.rest(record.tail);
}

/** PERF_RECORD_FINISHED_INIT (82), `FINISHED_INIT` in statistics. */
export interface FinishedInitRecord extends RecordBase {
  type: typeof PERF_RECORD_FINISHED_INIT;
}

export function readFinishedInit(reader: BodyReader, misc: number): FinishedInitRecord {
  return { type: PERF_RECORD_FINISHED_INIT, misc, tail: reader.tail() };
}

export function writeFinishedInit(writer: BodyWriter, record: FinishedInitRecord): void {
  writer.rest(record.tail);
}

/** PERF_RECORD_COMPRESSED2 (83), `COMPRESSED2` in statistics. */
export interface Compressed2Record extends RecordBase {
  type: typeof PERF_RECORD_COMPRESSED2;
  dataSize: bigint;
  data: Uint8Array;
}

export function readCompressed2(reader: BodyReader, misc: number): Compressed2Record {
  return {
    type: PERF_RECORD_COMPRESSED2,
    misc,
    dataSize: reader.u64(),
    data: reader.rest(),
    tail: reader.tail(),
  };
}

export function writeCompressed2(writer: BodyWriter, record: Compressed2Record): void {
  writer.u64(record.dataSize);
  writer.rest(record.data);
  writer.rest(record.tail);
}

/** PERF_RECORD_BPF_METADATA (84), `BPF_METADATA` in statistics. */
export interface BpfMetadataRecord extends RecordBase {
  type: typeof PERF_RECORD_BPF_METADATA;
  programName: string;
  count: bigint;
  data: Uint8Array;
}

export function readBpfMetadata(reader: BodyReader, misc: number): BpfMetadataRecord {
  return {
    type: PERF_RECORD_BPF_METADATA,
    misc,
    programName: reader.chars(16),
    count: reader.u64(),
    data: reader.rest(),
    tail: reader.tail(),
  };
}

export function writeBpfMetadata(writer: BodyWriter, record: BpfMetadataRecord): void {
  writer.chars(record.programName, 16);
  writer.u64(record.count);
  writer.rest(record.data);
  writer.rest(record.tail);
}

/** PERF_RECORD_SCHEDSTAT_CPU (85), `SCHEDSTAT_CPU` in statistics. */
export interface SchedstatCpuRecord extends RecordBase {
  type: typeof PERF_RECORD_SCHEDSTAT_CPU;
  timestamp: bigint;
  cpu: number;
  version: number;
  padding: number;
  data: Uint8Array;
}

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

export function writeSchedstatCpu(writer: BodyWriter, record: SchedstatCpuRecord): void {
  writer.u64(record.timestamp);
  writer.u32(record.cpu);
  writer.u16(record.version);
  writer.u16(record.padding);
  writer.rest(record.data);
  writer.rest(record.tail);
}

/** PERF_RECORD_SCHEDSTAT_DOMAIN (86), `SCHEDSTAT_DOMAIN` in statistics. */
export interface SchedstatDomainRecord extends RecordBase {
  type: typeof PERF_RECORD_SCHEDSTAT_DOMAIN;
  timestamp: bigint;
  cpu: number;
  version: number;
  domain: number;
  domainName: string;
  data: Uint8Array;
}

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

export type BodyReadFunction = (reader: BodyReader, misc: number) => TableRecord;
export type BodyWriteFunction = (writer: BodyWriter, record: never) => void;

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
