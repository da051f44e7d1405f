import { DamageLog, decodeUtf8, FormatError } from '../../base/index.ts';
import {
  JIT_CODE_CLOSE,
  JIT_CODE_DEBUG_INFO,
  JIT_CODE_LOAD,
  JIT_CODE_MOVE,
  JIT_CODE_UNWINDING_INFO,
  JIT_DEBUG_ENTRY_BYTES,
  JIT_DEBUG_INFO_BYTES,
  JIT_LOAD_BYTES,
  JIT_MOVE_BYTES,
  JIT_RECORD_HEADER_BYTES,
  JIT_UNWINDING_BYTES,
  JITDUMP_ARCH_TIMESTAMP,
  JITDUMP_HEADER_BYTES,
  JITDUMP_MAGIC,
} from './jitdump-facts.ts';
import type {
  JitCodeLoad,
  JitCodeMove,
  JitDebugInfo,
  JitLine,
  JitRecord,
  JitUnwinding,
} from './jitdump-records.ts';
import { mendNames, type OverwrittenName } from './overwritten-names.ts';

/**
 * What `parseJitDump` read. The format is that of the kernel's
 * tools/perf/Documentation/jitdump-specification.txt.
 */
export interface JitDump {
  /** Byte order of the machine that wrote it. */
  littleEndian: boolean;
  /** Of the format; 1 so far. Later ones are read as this one. */
  version: number;
  /** ELF machine number, EM_*. */
  machine: number;
  /** The process that wrote the dump. */
  pid: number;
  /** When the file was begun, on the clock of its records. */
  time: number;
  /** Times are TSC values, not nanoseconds of CLOCK_MONOTONIC. */
  hasArchTimes: boolean;
  /** In the order of the file. */
  records: JitRecord[];
  /** What was skipped: `jitdump-record`, `jitdump-cut`; and names that cannot be told: `jitdump-name`. */
  damage: DamageLog;
}

/** Stands for the name of the entry before. */
const SAME_NAME = 0xff;
/** Bounds the search for the end of a name with zeros inside. */
const LONGEST_NAME_BYTES = 4096;
/** Lines of code are not further from its first byte. */
const MOST_CODE_BYTES = 1n << 28n;

/**
 * A jitdump: code made at run time, with its bytes, names and times. Times are float64. Throws
 * FormatError where the bytes are none; a record that does not hold together is counted
 * (`jitdump-record`) and skipped, a tail cut off is counted (`jitdump-cut`): the writer may still be at
 * it. Names that V8 overwrote are found again in other records, or counted (`jitdump-name`). `bytes` is
 * kept: code points into it.
 */
export function parseJitDump(bytes: Uint8Array): JitDump {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < JITDUMP_HEADER_BYTES)
    throw new FormatError('ERR_NOT_JITDUMP', 0, 'a jitdump header of 40 bytes', `${bytes.length} bytes`);
  const littleEndian = view.getUint32(0, true) === JITDUMP_MAGIC;
  if (!littleEndian && view.getUint32(0, false) !== JITDUMP_MAGIC)
    throw new FormatError('ERR_NOT_JITDUMP', 0, 'the magic JiTD', 'other bytes');
  const reader = new Reader(bytes, view, littleEndian);
  const damage = new DamageLog();
  const dump: JitDump = {
    littleEndian,
    version: reader.u32(4),
    machine: reader.u32(12),
    pid: reader.u32(20),
    time: reader.time(24),
    hasArchTimes: (reader.u32(littleEndian ? 32 : 36) & JITDUMP_ARCH_TIMESTAMP) !== 0,
    records: [],
    damage,
  };
  // The header says its size, so that later versions can be longer.
  let at = Math.max(JITDUMP_HEADER_BYTES, reader.u32(8));
  if (at > bytes.length) damage.add('jitdump-cut', 8);
  while (at < bytes.length) {
    const size = at + JIT_RECORD_HEADER_BYTES <= bytes.length ? reader.u32(at + 4) : 0;
    if (size < JIT_RECORD_HEADER_BYTES || at + size > bytes.length) {
      damage.add('jitdump-cut', at);
      break;
    }
    const record = reader.record(at, at + size);
    if (record === null) damage.add('jitdump-record', at);
    else dump.records.push(record);
    at += size;
  }
  for (const { raw } of mendNames(dump.records, reader.overwritten))
    damage.add('jitdump-name', raw.byteOffset - bytes.byteOffset);
  return dump;
}

class Reader {
  readonly overwritten = new Map<JitRecord, OverwrittenName[]>();
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #littleEndian: boolean;

  constructor(bytes: Uint8Array, view: DataView, littleEndian: boolean) {
    this.#bytes = bytes;
    this.#view = view;
    this.#littleEndian = littleEndian;
  }

  u32(at: number): number {
    return this.#view.getUint32(at, this.#littleEndian);
  }

  u64(at: number): bigint {
    return this.#view.getBigUint64(at, this.#littleEndian);
  }

  time(at: number): number {
    return Number(this.u64(at));
  }

  /** The record from `at` to `end`, or null where its parts do not fit into it. */
  record(at: number, end: number): JitRecord | null {
    const type = this.u32(at);
    const time = this.time(at + 8);
    const body = at + JIT_RECORD_HEADER_BYTES;
    switch (type) {
      case JIT_CODE_LOAD:
        return this.#load(time, body, end);
      case JIT_CODE_MOVE:
        return this.#move(time, body, end);
      case JIT_CODE_DEBUG_INFO:
        return this.#debugInfo(time, body, end);
      case JIT_CODE_CLOSE:
        return { kind: 'close', time };
      case JIT_CODE_UNWINDING_INFO:
        return this.#unwinding(time, body, end);
      default:
        return { kind: 'raw', time, type, body: this.#bytes.subarray(body, end) };
    }
  }

  #load(time: number, at: number, end: number): JitCodeLoad | null {
    if (at + JIT_LOAD_BYTES > end) return null;
    const nameEnd = this.#zeroAt(at + JIT_LOAD_BYTES, end);
    if (nameEnd === -1) return null;
    const sizeBytes = this.u64(at + 24);
    const code = nameEnd + 1;
    // No bytes at all is allowed: some runtimes write only names.
    const hasCode = code < end;
    if (sizeBytes > (hasCode ? BigInt(end - code) : 0xffff_ffffn)) return null;
    return {
      kind: 'load',
      time,
      pid: this.u32(at),
      tid: this.u32(at + 4),
      address: this.u64(at + 16),
      codeIndex: this.u64(at + 32),
      name: decodeUtf8(this.#bytes.subarray(at + JIT_LOAD_BYTES, nameEnd)),
      code: hasCode ? this.#bytes.subarray(code, code + Number(sizeBytes)) : new Uint8Array(0),
      sizeBytes: Number(sizeBytes),
    };
  }

  #move(time: number, at: number, end: number): JitCodeMove | null {
    if (at + JIT_MOVE_BYTES > end) return null;
    return {
      kind: 'move',
      time,
      pid: this.u32(at),
      tid: this.u32(at + 4),
      oldAddress: this.u64(at + 16),
      newAddress: this.u64(at + 24),
      sizeBytes: this.u64(at + 32),
      codeIndex: this.u64(at + 40),
    };
  }

  #debugInfo(time: number, at: number, end: number): JitDebugInfo | null {
    if (at + JIT_DEBUG_INFO_BYTES > end) return null;
    const address = this.u64(at);
    const count = this.u64(at + 8);
    const lines: JitLine[] = [];
    const overwritten: OverwrittenName[] = [];
    let file = '';
    let unreadable: Omit<OverwrittenName, 'line'> | null = null;
    let entry = at + JIT_DEBUG_INFO_BYTES;
    for (let number = 1n; number <= count; number++) {
      const name = entry + JIT_DEBUG_ENTRY_BYTES;
      const isLast = number === count;
      const nameEnd = this.#nameEnd(name, end, isLast, address);
      if (nameEnd === -1) return null;
      if (this.#bytes[name] !== SAME_NAME || nameEnd !== name + 1) {
        const isWhole = this.#isWhole(name, nameEnd, end, isLast);
        unreadable = isWhole ? null : { raw: this.#bytes.subarray(name, isLast ? end : nameEnd), isLast };
        file = isWhole ? decodeUtf8(this.#bytes.subarray(name, nameEnd)) : '';
      }
      const line = {
        address: this.u64(entry),
        line: this.u32(entry + 8),
        discriminator: this.u32(entry + 12),
        file,
      };
      lines.push(line);
      if (unreadable !== null) overwritten.push({ line, ...unreadable });
      entry = nameEnd + 1;
    }
    const info: JitDebugInfo = { kind: 'debug-info', time, address, lines };
    if (overwritten.length > 0) this.overwritten.set(info, overwritten);
    return info;
  }

  /**
   * Where the name at `from` ends: at a zero. Where a name has zeros inside (`overwritten-names.ts`) it is
   * the first zero with an entry of this code behind it.
   */
  #nameEnd(from: number, end: number, isLast: boolean, address: bigint): number {
    const first = this.#zeroAt(from, end);
    if (isLast || first === -1) return first;
    const bound = Math.min(end, from + LONGEST_NAME_BYTES);
    for (let zero = first; zero !== -1; zero = this.#zeroAt(zero + 1, bound))
      if (this.#isLineOf(zero + 1, end, address)) return zero;
    return first;
  }

  /** Whether an entry about the code at `address` can begin `at`. */
  #isLineOf(at: number, end: number, address: bigint): boolean {
    if (at + JIT_DEBUG_ENTRY_BYTES > end) return false;
    const line = this.u64(at);
    return line >= address && line - address < MOST_CODE_BYTES;
  }

  /** Behind a last name only zeros are right. */
  #isWhole(name: number, nameEnd: number, end: number, isLast: boolean): boolean {
    if (isLast) return this.#bytes.subarray(nameEnd, end).every((byte) => byte === 0);
    return this.#bytes.subarray(name, nameEnd).indexOf(0) === -1;
  }

  #unwinding(time: number, at: number, end: number): JitUnwinding | null {
    if (at + JIT_UNWINDING_BYTES > end) return null;
    const size = this.u64(at);
    const data = at + JIT_UNWINDING_BYTES;
    if (size > BigInt(end - data)) return null;
    return {
      kind: 'unwinding',
      time,
      headerBytes: Number(this.u64(at + 8)),
      mappedBytes: Number(this.u64(at + 16)),
      data: this.#bytes.subarray(data, data + Number(size)),
    };
  }

  /** Where the zero behind a text is, or -1. */
  #zeroAt(from: number, end: number): number {
    if (from >= end) return -1;
    const found = this.#bytes.subarray(from, end).indexOf(0);
    return found === -1 ? -1 : from + found;
  }
}
