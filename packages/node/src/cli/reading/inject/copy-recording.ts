import { FILE_HEADER_SIZE, PIPE_HEADER_SIZE } from '@counterpoint/core/abi';
import { type ByteSource, optional } from '@counterpoint/core/base';
import {
  type BuildIdEntry,
  finishFile,
  openPerfData,
  type PerfDataFeatures,
  type PerfDataReader,
  pipeStart,
  planFile,
  type WrittenEvent,
} from '@counterpoint/core/perfdata';
import type { InjectedOutput } from './output.ts';

const PIECE_BYTES = 1 << 20;
/** Where the header of a file states where its records are, and their size. */
const DATA_SECTION_AT = 40;

/**
 * A recording as it is, with more build ids. Records are copied byte for byte, hardware traces and compressed
 * ones, too. What was a stream stays one.
 */
export async function copyRecording(
  source: ByteSource,
  output: InjectedOutput,
  added: readonly BuildIdEntry[],
): Promise<void> {
  const reader = await openPerfData(source);
  if (reader.isPipe) {
    // Of no event yet, so that nothing but the build ids follows the magic.
    const start = pipeStart({ attrs: [], features: buildIdsOnly(added), littleEndian: reader.littleEndian });
    output.write(start);
    await copyBytes(source, PIPE_HEADER_SIZE, source.size, output);
    return;
  }
  const header = await source.read(0, FILE_HEADER_SIZE);
  const view = new DataView(header.buffer, header.byteOffset, header.byteLength);
  const word = (at: number) => Number(view.getBigUint64(at, reader.littleEndian));
  const begin = word(DATA_SECTION_AT);
  const stated = word(DATA_SECTION_AT + 8);
  // 0: the recorder was killed, and what is there are records.
  const end = Math.min(source.size, stated === 0 ? source.size : begin + stated);
  const size = Math.max(0, end - begin);
  const { start, finish } = beginRecording(reader, output, added);
  await copyBytes(source, begin, end, output);
  finish(size, start - begin);
}

/** The events of a recording as they are written. */
export function eventsOf({ events: { events } }: PerfDataReader): WrittenEvent[] {
  return events.map(({ attr, ids, name }) => ({ attr, ids: ids.map(BigInt), name }));
}

/**
 * Writes what stands before the records. `start` is where they begin; `finish` writes what comes
 * after them: how many bytes there are, and how far records of hardware traces moved.
 */
export function beginRecording(
  reader: PerfDataReader,
  output: InjectedOutput,
  added: readonly BuildIdEntry[],
  own = reader.features,
): { start: number; finish(dataSize: number, moved: number): void } {
  const { littleEndian } = reader;
  const attrs = eventsOf(reader);
  const features = withBuildIds(own, added);
  if (!output.isFile) {
    output.write(pipeStart({ attrs, features, littleEndian }));
    return { start: 0, finish: () => {} };
  }
  const plan = planFile({ attrs, littleEndian });
  output.write(plan.header);
  return {
    start: plan.dataOffset,
    finish(dataSize, moved) {
      const auxIndex = features.auxIndex?.map(({ offset, size }) => ({
        offset: offset + BigInt(moved),
        size,
      }));
      const index = optional({ auxIndex });
      const { header, tail } = finishFile(plan, dataSize, { ...features, ...index });
      output.write(tail);
      output.writeAt(header, 0);
    },
  };
}

function withBuildIds(features: PerfDataFeatures, added: readonly BuildIdEntry[]): PerfDataFeatures {
  if (added.length === 0) return features;
  return { ...features, buildIds: [...(features.buildIds ?? []), ...added] };
}

function buildIdsOnly(buildIds: readonly BuildIdEntry[]): Partial<PerfDataFeatures> {
  return { raw: new Map(), buildIds: [...buildIds] };
}

async function copyBytes(
  source: ByteSource,
  begin: number,
  end: number,
  output: InjectedOutput,
): Promise<void> {
  for (let at = begin; at < end; ) {
    const bytes = await source.read(at, Math.min(PIECE_BYTES, end - at));
    if (bytes.length === 0) return;
    output.write(bytes);
    at += bytes.length;
  }
}
