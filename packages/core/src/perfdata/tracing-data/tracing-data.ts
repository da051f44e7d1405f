import { type DamageLog, decodeUtf8, encodeUtf8, toFloat } from '../../base/index.ts';
import { BodyWriter } from '../../records/index.ts';
import { parseFormat, type TracepointFormat } from './format-text.ts';

/**
 * The trace metadata of a recording of tracepoints: what the kernel said about its events, as text.
 *
 *   | 17 08 44 "tracing" | version, NUL | big-endian u8 | long size u8 | page size u32 |
 *   | "header_page" NUL  u64 size  text | "header_event" NUL  u64 size  text |
 *   | u32 count, then per ftrace format: u64 size  text |
 *   | u32 count, then per system: name NUL, u32 count, then per event: u64 size  text |
 *   | u32 size  kallsyms | u32 size  printk formats | from version 0.6: u64 size  command names |
 *
 * Numbers are in the byte order that the blob itself states. See trace-cmd.dat.v6(5),
 * which describes its descendant.
 */
export interface TracingParts {
  /** Version of the form. */
  version: string;
  /** Byte order of the recorded machine. */
  littleEndian: boolean;
  /** Size of a C `long` of the recorded kernel: 4 or 8. */
  longSize: number;
  /** Size of a page of the recorded kernel, in bytes. */
  pageSize: number;
  /** `header_page` of tracefs. */
  headerPage: string;
  /** `header_event` of tracefs. */
  headerEvent: string;
  /** Formats of ftrace's own events. */
  ftraceFormats: string[];
  /** The texts of `format` of tracepoints, by system. */
  systems: { name: string; formats: string[] }[];
  /** Addresses of the kernel's functions, as perf writes them. */
  kallsyms: Uint8Array;
  /** Texts that trace_printk() refers to. */
  printkFormats: Uint8Array;
  /** `PID NAME` lines. */
  savedCommandNames: Uint8Array;
}

/** What a recording says of tracepoints (HEADER_TRACING_DATA). */
export interface TracingData extends TracingParts {
  /** Formats by tracepoint id, which is `attr.config`. */
  byId: Map<number, TracepointFormat>;
}

const MAGIC = Uint8Array.of(0x17, 0x08, 0x44, 0x74, 0x72, 0x61, 0x63, 0x69, 0x6e, 0x67);
/** The oldest version that has all blocks; perf 3.x to 7 write it. */
const VERSION = '0.6';
const FIRST_VERSION_WITH_COMMAND_NAMES = 0.6;

/** Trace metadata is some megabytes; more than this is damage. */
export const MAX_TRACING_DATA_SIZE = 256 << 20;

/**
 * Parse a blob. Never throws: what is missing is empty, and counted as `bad-tracing-data` at `fileOffset`.
 */
export function parseTracingData(bytes: Uint8Array, damage: DamageLog, fileOffset = 0): TracingData {
  const data: TracingData = { ...emptyParts(), byId: new Map() };
  const reader = new PartReader(bytes, data);
  reader.readAll();
  if (reader.damaged) damage.add('bad-tracing-data', fileOffset);
  let badFormats = 0;
  const addFormat = (system: string, text: string) => {
    const format = parseFormat(system, text);
    if (format !== null) data.byId.set(format.id, format);
    else badFormats++;
  };
  for (const text of data.ftraceFormats) addFormat('ftrace', text);
  for (const { name, formats } of data.systems) for (const text of formats) addFormat(name, text);
  if (badFormats > 0 && !reader.damaged) damage.add('bad-tracing-data', fileOffset);
  return data;
}

function emptyParts(): TracingParts {
  return {
    version: '',
    littleEndian: true,
    longSize: 8,
    pageSize: 4096,
    headerPage: '',
    headerEvent: '',
    ftraceFormats: [],
    systems: [],
    kallsyms: new Uint8Array(),
    printkFormats: new Uint8Array(),
    savedCommandNames: new Uint8Array(),
  };
}

/** Reads the blob block by block and stops for good at the first that is not whole. */
class PartReader {
  damaged = false;
  #pos = 0;
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #into: TracingParts;

  constructor(bytes: Uint8Array, into: TracingParts) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#into = into;
  }

  readAll(): void {
    const into = this.#into;
    if (!MAGIC.every((byte, i) => this.#bytes[i] === byte)) {
      this.damaged = true;
      return;
    }
    this.#pos = MAGIC.length;
    into.version = this.#name();
    into.littleEndian = this.#take(1)[0] !== 1;
    into.longSize = this.#take(1)[0] ?? 8;
    into.pageSize = this.#u32();
    into.headerPage = this.#namedText('header_page');
    into.headerEvent = this.#namedText('header_event');
    this.#texts(into.ftraceFormats);
    for (let left = this.#u32(); left > 0 && !this.damaged; left--) {
      const system = { name: this.#name(), formats: [] };
      into.systems.push(system);
      this.#texts(system.formats);
    }
    into.kallsyms = this.#take(this.#u32());
    into.printkFormats = this.#take(this.#u32());
    if (Number.parseFloat(into.version) >= FIRST_VERSION_WITH_COMMAND_NAMES)
      into.savedCommandNames = this.#take(this.#u64());
  }

  #take(size: number): Uint8Array {
    if (this.damaged || size > this.#bytes.length - this.#pos) {
      this.damaged = true;
      return new Uint8Array();
    }
    this.#pos += size;
    return this.#bytes.subarray(this.#pos - size, this.#pos);
  }

  #u32(): number {
    const at = this.#pos;
    return this.#take(4).length === 4 ? this.#view.getUint32(at, this.#into.littleEndian) : 0;
  }

  #u64(): number {
    const first = this.#u32();
    const second = this.#u32();
    return this.#into.littleEndian ? toFloat(first, second) : toFloat(second, first);
  }

  #name(): string {
    const end = this.#bytes.indexOf(0, this.#pos);
    const text = decodeUtf8(this.#take((end < 0 ? this.#bytes.length : end) - this.#pos));
    this.#take(1);
    return text;
  }

  #namedText(expected: string): string {
    if (this.#name() !== expected) this.damaged = true;
    return this.#text();
  }

  #text(): string {
    return decodeUtf8(this.#take(this.#u64()));
  }

  #texts(into: string[]): void {
    for (let left = this.#u32(); left > 0 && !this.damaged; left--) {
      const text = this.#text();
      if (!this.damaged) into.push(text);
    }
  }
}

/** Write a blob. `version` is the writer's own. The kernel's texts (from tracefs) go in as they are. */
export function encodeTracingData(parts: Partial<Omit<TracingParts, 'version'>>): Uint8Array<ArrayBuffer> {
  const all = { ...emptyParts(), ...parts };
  const writer = new BodyWriter(all.littleEndian, 4096);
  const text = (value: string) => writer.rest(encodeUtf8(value));
  const sizedText = (value: string) => {
    const bytes = encodeUtf8(value);
    writer.u64(BigInt(bytes.length));
    writer.rest(bytes);
  };
  const texts = (list: readonly string[]) => {
    writer.u32(list.length);
    for (const value of list) sizedText(value);
  };

  writer.rest(MAGIC);
  text(`${VERSION}\0`);
  writer.u8(all.littleEndian ? 0 : 1);
  writer.u8(all.longSize);
  writer.u32(all.pageSize);
  text('header_page\0');
  sizedText(all.headerPage);
  text('header_event\0');
  sizedText(all.headerEvent);
  texts(all.ftraceFormats);
  writer.u32(all.systems.length);
  for (const system of all.systems) {
    text(`${system.name}\0`);
    texts(system.formats);
  }
  for (const block of [all.kallsyms, all.printkFormats]) {
    writer.u32(block.length);
    writer.rest(block);
  }
  writer.u64(BigInt(all.savedCommandNames.length));
  writer.rest(all.savedCommandNames);
  return writer.take();
}
