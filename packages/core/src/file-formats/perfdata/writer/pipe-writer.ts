import { CounterpointError } from '../../../base/index.ts';
import {
  FEATURE_AUXTRACE,
  FEATURE_BRANCH_STACK,
  FEATURE_BUILD_ID,
  FEATURE_CACHE,
  FEATURE_DIR_FORMAT,
  FEATURE_HYBRID_TOPOLOGY,
  FEATURE_PMU_CAPS,
  FEATURE_STAT,
  FEATURE_TRACING_DATA,
  MAGIC_HI,
  MAGIC_LO,
  PERF_ATTR_SIZE_VER7,
  PERF_RECORD_EVENT_UPDATE,
  PERF_RECORD_HEADER_ATTR,
  PERF_RECORD_HEADER_FEATURE,
  PERF_RECORD_HEADER_TRACING_DATA,
  PIPE_HEADER_SIZE,
} from '../../../format/abi/index.ts';
import { BodyWriter } from '../../../format/records/index.ts';
import { encodeFeatures, type PerfDataFeatures, writeBuildIdRecord } from '../features/index.ts';
import { withDescriptions } from './file-writer.ts';
import { encodeAttrs, type WrittenEvent } from './written-event.ts';

const MAX_RECORD_SIZE = 0xffff;
const FEATURE_RECORD_OVERHEAD = 16;
const EVENT_UPDATE_NAME = 2n;

/**
 * Features that have records of their own in pipe mode, or that perf's pipe reader does not take from memory.
 */
const NOT_IN_A_PIPE: ReadonlySet<number> = new Set([
  FEATURE_TRACING_DATA,
  FEATURE_BUILD_ID,
  FEATURE_BRANCH_STACK,
  FEATURE_AUXTRACE,
  FEATURE_STAT,
  FEATURE_CACHE,
  FEATURE_DIR_FORMAT,
  FEATURE_HYBRID_TOPOLOGY,
]);

/**
 * perf refuses a whole stream for one feature that it does not know; it has known this one since Linux 5.19.
 */
const LAST_PIPE_FEATURE = FEATURE_PMU_CAPS;

/**
 * In a pipe, perf up to 6.2 takes an attr for as long as its own is, and what follows for ids, whatever
 * the attr's size field says: a shorter one would read with the ids as its last fields. 128 bytes is
 * the attr of perf 5.13 to 6.2.
 */
const PIPE_ATTR_SIZE = PERF_ATTR_SIZE_VER7;

/** Whether a feature can be sent in a pipe that any perf since Linux 5.19 reads. */
function isPipeFeature(bit: number, size: number): boolean {
  if (bit > LAST_PIPE_FEATURE || NOT_IN_A_PIPE.has(bit)) return false;
  return size + FEATURE_RECORD_OVERHEAD <= MAX_RECORD_SIZE;
}

/**
 * Everything of a pipe-mode stream up to its first record:
 *
 *   | magic, 16 | ATTR per event | EVENT_UPDATE per event: its name | FEATURE ... | BUILD_ID ... | TRACING_DATA, blob |
 *
 * Attrs come first because the others name events by their ids. Features that a
 * pipe cannot carry are left out.
 */
export function pipeStart(options: {
  attrs: readonly WrittenEvent[];
  features?: Partial<PerfDataFeatures>;
  /** Default: the section of `features`. */
  tracingData?: Uint8Array;
  littleEndian?: boolean;
}): Uint8Array<ArrayBuffer> {
  const littleEndian = options.littleEndian ?? true;
  const features = withDescriptions(options.attrs, options.features ?? {});
  const writer = new BodyWriter(littleEndian, 4096);
  writer.u64Pair(MAGIC_LO, MAGIC_HI);
  writer.u64(BigInt(PIPE_HEADER_SIZE));

  const attrs = encodeAttrs(options.attrs, littleEndian, PIPE_ATTR_SIZE);
  for (const [place, event] of options.attrs.entries()) writeAttr(writer, event, attrs[place]!);
  for (const { ids, name } of options.attrs) {
    if (ids[0] === undefined) continue;
    writer.beginRecord(PERF_RECORD_EVENT_UPDATE, 0);
    writer.u64(EVENT_UPDATE_NAME);
    writer.u64(ids[0]);
    writer.text(name);
    writer.endRecord();
  }
  for (const [bit, bytes] of encodeFeatures(features, littleEndian)) {
    if (!isPipeFeature(bit, bytes.length)) continue;
    writer.beginRecord(PERF_RECORD_HEADER_FEATURE, 0);
    writer.u64(BigInt(bit));
    writer.rest(bytes);
    writer.endRecord();
  }
  for (const entry of features.buildIds ?? []) writeBuildIdRecord(writer, entry);
  const tracingData = options.tracingData ?? features.raw.get(FEATURE_TRACING_DATA);
  if (tracingData !== undefined) writeTracingData(writer, tracingData);
  return writer.take();
}

function writeAttr(writer: BodyWriter, event: WrittenEvent, attr: Uint8Array): void {
  if (8 + attr.length + event.ids.length * 8 > MAX_RECORD_SIZE) {
    throw new CounterpointError(
      'ERR_TOO_MANY_IDS',
      `the event ${event.name} is open ${event.ids.length} times, more than a pipe can say in one record`,
      'Record to a file instead of a pipe, or fewer threads or CPUs.',
    );
  }
  writer.beginRecord(PERF_RECORD_HEADER_ATTR, 0);
  writer.rest(attr);
  for (const id of event.ids) writer.u64(id);
  writer.endRecord();
}

/** The record states the size of the blob with its padding to 8; the blob is not part of the record. */
function writeTracingData(writer: BodyWriter, blob: Uint8Array): void {
  const padded = Math.ceil(blob.length / 8) * 8;
  writer.beginRecord(PERF_RECORD_HEADER_TRACING_DATA, 0);
  writer.u32(padded);
  writer.endRecord();
  writer.bytes(blob, padded);
}
