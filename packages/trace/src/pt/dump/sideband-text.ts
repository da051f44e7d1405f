/**
 * The kernel's records beside a raw trace, without a perf.data file, as lines in order of time. A dump shows
 * them between the packets. Each file has its own `SidebandStream`. Several files are merged by time.
 */
import {
  PERF_AUX_FLAG_TRUNCATED,
  PERF_RECORD_AUX,
  PERF_RECORD_COMM,
  PERF_RECORD_EXIT,
  PERF_RECORD_FORK,
  PERF_RECORD_ITRACE_START,
  PERF_RECORD_LOST,
  PERF_RECORD_LOST_SAMPLES,
  PERF_RECORD_MISC_COMM_EXEC,
  PERF_RECORD_MISC_SWITCH_OUT,
  PERF_RECORD_MMAP,
  PERF_RECORD_MMAP2,
  PERF_RECORD_SWITCH,
  PERF_RECORD_SWITCH_CPU_WIDE,
  PERF_RECORD_THROTTLE,
  PERF_RECORD_UNTHROTTLE,
  PERF_SAMPLE_CPU,
  PERF_SAMPLE_ID,
  PERF_SAMPLE_IDENTIFIER,
  PERF_SAMPLE_STREAM_ID,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
  RECORD_HEADER_SIZE,
  recordTypeName,
} from '@counterpoint/core/abi';
import { printable, toBigInt } from '@counterpoint/core/base';
import type { PerfRecord } from '@counterpoint/core/records';
import {
  decodeRecord,
  isRaw,
  isSample,
  makeAttr,
  SampleLayout,
  trailerSize,
} from '@counterpoint/core/records';
import type { PerfClock } from '../time/perf-clock.ts';
import { perfTimeToTsc } from '../time/perf-clock.ts';
import type { DumpSideband } from './dump-packets.ts';

/** Kernel records of perf that were saved as they came from the ring, without a perf.data around them. */
export interface SidebandFile {
  /** The name of the file, for the lines. */
  readonly name: string;
  /** The records, one after the other, little-endian. */
  readonly bytes: Uint8Array;
  /** `perf_event_attr.sample_type`: it tells what is at the end of each record. */
  readonly sampleType: bigint;
  /** Turns the records' times into TSC values. */
  readonly clock: PerfClock;
  /** Records are shown this many ticks earlier. */
  readonly tscOffset: bigint;
}

/** What a line of a record shows beside its fields. */
export interface SidebandFormat {
  /** Several lines a record, one a field. */
  readonly verbose?: boolean;
  /** The file's name. */
  readonly filename?: boolean;
  /** Where in the file it is. */
  readonly offset?: boolean;
  /** Its time, as a TSC value. */
  readonly time?: boolean;
  /** Say if a file ends in the middle of a record. */
  readonly warn?: boolean;
}

/** A field of a record: its name in the long form, its value. */
type Field = readonly [string, string];

interface Trailer {
  readonly fields: readonly Field[];
  readonly time: bigint | null;
}

/** The records of one file, one after the other. */
export class SidebandStream {
  readonly file: SidebandFile;
  readonly #view: DataView;
  readonly #layout: SampleLayout;
  #at = 0;
  #size = 0;
  /** TSC of the present record. */
  tsc = 0n;
  #trailer: Trailer = { fields: [], time: null };
  isAtEnd = false;

  constructor(file: SidebandFile) {
    this.file = file;
    this.#view = new DataView(file.bytes.buffer, file.bytes.byteOffset, file.bytes.byteLength);
    this.#layout = new SampleLayout(makeAttr({ sampleType: file.sampleType, flags: { sampleIdAll: 1 } }));
    this.#fetch();
  }

  /** Where the present record begins. */
  get offset(): number {
    return this.#at;
  }

  /** The present record. */
  record(): PerfRecord {
    return decodeRecord(this.#view, this.#at, this.#size, this.#layout);
  }

  /** The process that the record's trailer names. Null without a trailer. */
  get pid(): number | null {
    const field = this.#trailer.fields.find(([name]) => name === 'pid');
    return field === undefined ? null : Number.parseInt(field[1], 16);
  }

  /** Gives the present record as text, and moves to the next. */
  take(format: SidebandFormat): string {
    const record = decodeRecord(this.#view, this.#at, this.#size, this.#layout);
    const { name, fields, short } = describe(record);
    let text = '';
    if (format.filename === true)
      text += format.offset === true ? `${this.file.name}:` : `${this.file.name}  `;
    if (format.offset === true) text += `${this.#at.toString(16).padStart(16, '0')}  `;
    if (format.time === true && this.#trailer.time !== null)
      text += `${this.tsc.toString(16).padStart(16, '0')}  `;
    text += name;
    if (format.verbose === true) {
      for (const [label, value] of [...fields, ...this.#trailer.fields]) text += `\n  ${label}: ${value}`;
    } else {
      if (short !== '') text += `  ${short}`;
      text += `  {${compactTrailer(this.#trailer)} }`;
    }
    this.#at += this.#size;
    this.#fetch();
    return text;
  }

  /** Where reading stopped before the end of the file. Null if it did not. */
  restOffset(): number | null {
    return this.isAtEnd && this.#at < this.#view.byteLength ? this.#at : null;
  }

  /** Read the header and the time at `#at`. A record that does not fit ends the stream. */
  #fetch(): void {
    const left = this.#view.byteLength - this.#at;
    this.#size = left < RECORD_HEADER_SIZE ? 0 : this.#view.getUint16(this.#at + 6, true);
    if (this.#size < RECORD_HEADER_SIZE || this.#size > left) {
      this.isAtEnd = true;
      return;
    }
    const type = this.#view.getUint32(this.#at, true);
    const size = trailerSize(type, this.#size, this.#layout);
    this.#trailer = readTrailer(
      this.#view,
      this.#at + this.#size - size,
      size === 0 ? 0 : this.#layout.sampleType,
    );
    const { time } = this.#trailer;
    const tsc = time === null ? 0n : perfTimeToTsc(this.file.clock, time);
    this.tsc = tsc > this.file.tscOffset ? tsc - this.file.tscOffset : 0n;
  }
}

/**
 * The sideband of a dump: all files, merged by time. At equal times, the file that was read last continues.
 */
export function sidebandLines(files: readonly SidebandFile[], format: SidebandFormat): DumpSideband {
  const all = files.map((file) => new SidebandStream(file));
  const waiting: SidebandStream[] = [];
  const queue = (stream: SidebandStream) => {
    if (stream.isAtEnd) return;
    const at = waiting.findIndex(({ tsc }) => stream.tsc <= tsc);
    waiting.splice(at < 0 ? waiting.length : at, 0, stream);
  };
  for (const stream of all.toReversed()) queue(stream);
  return {
    *linesUpTo(tscLo?: number, tscHi?: number) {
      const until = tscLo === undefined ? null : toBigInt(tscLo, tscHi ?? 0);
      while (waiting.length > 0 && (until === null || waiting[0]!.tsc <= until)) {
        const stream = waiting.shift()!;
        yield stream.take(format);
        queue(stream);
      }
      if (format.warn !== true || until !== null) return;
      for (const stream of all) {
        const place = stream.restOffset();
        if (place !== null) yield `[${stream.file.name}:${place.toString(16)} sideband error: bad record]`;
      }
    },
  };
}

/**
 * The trailer of a record, in the kernel's order. The short form shows ID before CPU, and IDENTIFIER last.
 */
function readTrailer(view: DataView, at: number, bits: number): Trailer {
  const fields: Field[] = [];
  let pos = at;
  let time: bigint | null = null;
  const wide = () => {
    const value = view.getBigUint64(pos, true);
    pos += 8;
    return value;
  };
  if ((bits & PERF_SAMPLE_TID) !== 0) {
    fields.push(['pid', hexOf(view.getUint32(pos, true))], ['tid', hexOf(view.getUint32(pos + 4, true))]);
    pos += 8;
  }
  if ((bits & PERF_SAMPLE_TIME) !== 0) {
    time = wide();
    fields.push(['time', hexOf(time)]);
  }
  if ((bits & PERF_SAMPLE_ID) !== 0) fields.push(['id', hexOf(wide())]);
  const streamId = (bits & PERF_SAMPLE_STREAM_ID) !== 0 ? wide() : null;
  if ((bits & PERF_SAMPLE_CPU) !== 0) {
    fields.push(['cpu', hexOf(view.getUint32(pos, true))]);
    pos += 8;
  }
  if (streamId !== null) fields.push(['stream id', hexOf(streamId)]);
  if ((bits & PERF_SAMPLE_IDENTIFIER) !== 0) fields.push(['identifier', hexOf(wide())]);
  return { fields, time };
}

function compactTrailer({ fields }: Trailer): string {
  let text = '';
  for (const [label, value] of fields)
    text += label === 'tid' ? `/${value}` : label === 'cpu' ? ` cpu-${value}` : ` ${value}`;
  return text;
}

/** A record as its name, its fields, and their short form. */
function describe(record: PerfRecord): { name: string; fields: readonly Field[]; short: string } {
  const plain = `PERF_RECORD_${recordTypeName(record.type)}`;
  if (isRaw(record) || isSample(record)) return { name: plain, fields: [], short: '' };
  const out = (record.misc & PERF_RECORD_MISC_SWITCH_OUT) !== 0;
  switch (record.type) {
    case PERF_RECORD_MMAP:
    case PERF_RECORD_MMAP2: {
      const { pid, tid, start, length, pageOffset } = record;
      const fields: Field[] = [
        ...task(pid, tid),
        ['addr', hexOf(start)],
        ['len', hexOf(length)],
        ['pgoff', hexOf(pageOffset)],
      ];
      if (record.type === PERF_RECORD_MMAP2)
        fields.push(
          ['maj', hexOf(record.major ?? 0)],
          ['min', hexOf(record.minor ?? 0)],
          ['ino', hexOf(record.inode ?? 0n)],
          ['ino_generation', hexOf(record.inodeGeneration ?? 0n)],
          ['prot', hexOf(record.protection)],
          ['flags', hexOf(record.flags)],
        );
      fields.push(['filename', printable(record.path)]);
      return withShort(plain, fields);
    }
    case PERF_RECORD_LOST:
      return withShort(plain, [
        ['id', hexOf(record.id)],
        ['lost', hexOf(record.lost)],
      ]);
    case PERF_RECORD_COMM:
      return withShort((record.misc & PERF_RECORD_MISC_COMM_EXEC) !== 0 ? `${plain}.EXEC` : plain, [
        ...task(record.pid, record.tid),
        ['comm', printable(record.comm)],
      ]);
    case PERF_RECORD_EXIT:
    case PERF_RECORD_FORK: {
      const { pid, tid, ppid, ptid, time } = record;
      const short = `${hexOf(pid)}/${hexOf(tid)}, ${hexOf(ppid)}/${hexOf(ptid)}, ${hexOf(time)}`;
      const fields: Field[] = [
        ['pid', hexOf(pid)],
        ['ppid', hexOf(ppid)],
        ['tid', hexOf(tid)],
        ['ptid', hexOf(ptid)],
        ['time', hexOf(time)],
      ];
      return { name: plain, fields, short };
    }
    case PERF_RECORD_THROTTLE:
    case PERF_RECORD_UNTHROTTLE:
      return withShort(plain, [
        ['time', hexOf(record.time)],
        ['id', hexOf(record.id)],
        ['stream_id', hexOf(record.streamId)],
      ]);
    case PERF_RECORD_AUX:
      return withShort(
        (Number(record.flags & 0xffn) & PERF_AUX_FLAG_TRUNCATED) !== 0 ? `${plain}.TRUNCATED` : plain,
        [
          ['aux offset', hexOf(record.auxOffset)],
          ['aux size', hexOf(record.auxSize)],
          ['flags', hexOf(record.flags)],
        ],
      );
    case PERF_RECORD_ITRACE_START:
      return withShort(plain, task(record.pid, record.tid));
    case PERF_RECORD_LOST_SAMPLES:
      return withShort(plain, [['lost', hexOf(record.lost)]]);
    case PERF_RECORD_SWITCH:
      return { name: `${plain}.${out ? 'OUT' : 'IN'}`, fields: [], short: '' };
    case PERF_RECORD_SWITCH_CPU_WIDE: {
      const other = out ? 'next' : 'prev';
      const pid = hexOf(record.nextOrPreviousPid);
      const tid = hexOf(record.nextOrPreviousTid);
      const fields: Field[] = [
        [`${other} pid`, pid],
        [`${other} tid`, tid],
      ];
      return { name: `${plain}.${out ? 'OUT' : 'IN'}`, fields, short: `${pid}/${tid}` };
    }
    default:
      return { name: plain, fields: [], short: '' };
  }
}

function task(pid: number, tid: number): Field[] {
  return [
    ['pid', hexOf(pid)],
    ['tid', hexOf(tid)],
  ];
}

/** `pid/tid, value, value`. */
function withShort(name: string, fields: readonly Field[]) {
  let short = '';
  for (const [label, value] of fields)
    short += label === 'tid' ? `/${value}` : short === '' ? value : `, ${value}`;
  return { name, fields, short };
}

/** As an unsigned number: fields of 32 bits are read as int32. */
function hexOf(value: number | bigint): string {
  return (typeof value === 'number' ? value >>> 0 : value).toString(16);
}
