import { DamageLog, encodeUtf8 } from '../../../base/index.ts';
import { FEATURE_TRACING_DATA } from '../../../format/abi/index.ts';
import { BodyWriter } from '../../../format/records/index.ts';
import type { PerfDataFeatures } from '../features/index.ts';
import { parseFormat, type TracepointFormat } from './format-text.ts';
import type { TracingParts } from './tracing-parts.ts';
import { FTRACE, MAGIC, walkTracingData } from './walk-tracing-data.ts';

/** What a recording says of tracepoints (HEADER_TRACING_DATA). */
export interface TracingData extends TracingParts {
  /** Formats by tracepoint id, which is `attr.config`. */
  byId: Map<number, TracepointFormat>;
}

/** The oldest version that has all blocks; perf 3.x to 7 write it. */
const VERSION = '0.6';

/** Trace metadata is some megabytes; more than this is damage. */
export const MAX_TRACING_DATA_SIZE = 256 << 20;

/**
 * Parse a blob. Never throws: what is missing is empty, and counted as `bad-tracing-data` at `fileOffset`.
 */
export function parseTracingData(bytes: Uint8Array, damage: DamageLog, fileOffset = 0): TracingData {
  const data: TracingData = { ...emptyParts(), byId: new Map() };
  let { ftraceFormats: formats } = data;
  let name = FTRACE;
  let isGood = true;
  const isWhole = walkTracingData(bytes, {
    part: (key, value) => Object.assign(data, { [key]: value }),
    system(system) {
      name = system;
      formats = [];
      data.systems.push({ name, formats });
    },
    format(text) {
      formats.push(text);
      const format = parseFormat(name, text);
      if (format === null) isGood = false;
      else data.byId.set(format.id, format);
    },
  });
  if (!isWhole || !isGood) damage.add('bad-tracing-data', fileOffset);
  return data;
}

/** What was parsed already, by its bytes. */
const PARSED = /* @__PURE__ */ new WeakMap<Uint8Array, TracingData>();

/**
 * The formats of the recorded tracepoints, and what else the recorder kept of the kernel. Null if the
 * recording has none. In a pipe they arrive among the records, before the first sample. The first call parses
 * them. Their damage was counted when the recording was read.
 */
export function tracingDataOf({ raw }: Pick<PerfDataFeatures, 'raw'>): TracingData | null {
  const bytes = raw.get(FEATURE_TRACING_DATA);
  if (bytes === undefined) return null;
  let data = PARSED.get(bytes);
  if (data === undefined) PARSED.set(bytes, (data = parseTracingData(bytes, new DamageLog())));
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
