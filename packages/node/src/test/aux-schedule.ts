import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import {
  PERF_AUX_FLAG_COLLISION,
  PERF_AUX_FLAG_PARTIAL,
  PERF_AUX_FLAG_TRUNCATED,
  PERF_RECORD_AUX,
  PERF_RECORD_AUXTRACE,
} from '@counterpoint/core/abi';
import { memorySource } from '@counterpoint/core/base';
import type { ParsedEvent } from '@counterpoint/core/events';
import type { LossEntry, LossKind } from '@counterpoint/core/loss';
import { openPerfData, readRecords } from '@counterpoint/core/perfdata';
import { isRaw, makeAttr } from '@counterpoint/core/records';
import { addElf, CodeImage } from '@counterpoint/trace/image';
import { ExecutionEncoder, RandomWalk } from '@counterpoint/trace/intel-pt';
import type { AuxHistory } from './aux-kernel.ts';

const PROGRAM = fileURLToPath(new URL('../../../../fixtures/dwarf/lines-5.elf', import.meta.url));
const ENTRY = 0x400150;
const AUXTRACE_BYTES = 48;
/** As the kernel numbers PMUs that come after its own. */
const PT_TYPE = 8;
const PT_CONFIG = 0x300e601n;

/** `intel_pt//u` of a machine that has it. */
export const PT_EVENT: ParsedEvent = {
  name: 'intel_pt//u',
  attr: makeAttr({ type: PT_TYPE, config: PT_CONFIG, flags: { excludeKernel: 1, excludeHv: 1 } }),
  group: null,
  isLeader: true,
  periodGiven: false,
  pmu: 'intel_pt',
  options: {},
};

/** Packets of a walk through a small program, about so many bytes. */
export async function tracePackets(sizeBytes: number, seed: number): Promise<Uint8Array> {
  const image = new CodeImage();
  await addElf(image, memorySource(new Uint8Array(readFileSync(PROGRAM))), { name: 'program' });
  const walk = new RandomWalk({ seed, entries: Int32Array.of(ENTRY, 0), interruptEvery: 20 });
  const encoder = new ExecutionEncoder(image, walk, { cyc: true, mtc: true, psbBytes: 512, hash: false });
  return Buffer.concat([...encoder.chunks({ bytes: sizeBytes })]);
}

/** What a file has of one AUX area. */
export interface RecordedArea {
  pieces: { offset: number; bytes: Uint8Array }[];
  records: { end: number; flags: number }[];
}

export async function readAreas(path: string): Promise<Map<number, RecordedArea>> {
  const file = new Uint8Array(readFileSync(path));
  const areas = new Map<number, RecordedArea>();
  const areaOf = (cpu: number): RecordedArea => {
    const area = areas.get(cpu) ?? { pieces: [], records: [] };
    areas.set(cpu, area);
    return area;
  };
  for await (const { record, fileOffset } of readRecords(await openPerfData(memorySource(file)))) {
    if (isRaw(record)) continue;
    if (record.type === PERF_RECORD_AUXTRACE) {
      const from = fileOffset + AUXTRACE_BYTES;
      const bytes = file.subarray(from, from + Number(record.dataSize));
      areaOf(record.cpu).pieces.push({ offset: Number(record.auxOffset), bytes });
    } else if (record.type === PERF_RECORD_AUX) {
      const end = Number(record.auxOffset + record.auxSize);
      areaOf(record.sampleId!.cpu!).records.push({ end, flags: Number(record.flags) });
    }
  }
  return areas;
}

/**
 * The file's index of its traces says where each AUXTRACE record is, in their order, and names nothing else.
 */
export async function assertTraceIndex(path: string): Promise<void> {
  const reader = await openPerfData(memorySource(new Uint8Array(readFileSync(path))));
  const expected: { offset: bigint; size: bigint }[] = [];
  for await (const { record, fileOffset } of readRecords(reader))
    if (!isRaw(record) && record.type === PERF_RECORD_AUXTRACE)
      expected.push({ offset: BigInt(fileOffset), size: BigInt(AUXTRACE_BYTES) });
  assert.deepEqual(reader.features.auxIndex ?? [], expected);
}

/**
 * What one CPU traced against what the file has of it: a queue. Every byte that was traced is there once, in
 * order; wherever something is missing, the file says so.
 */
export function checkFullTrace(
  { pieces, records }: RecordedArea,
  history: AuxHistory,
  source: Uint8Array,
  loss: readonly LossEntry[],
): void {
  const traced = joined(history.kept.map(({ from, to }) => source.subarray(from, to)));
  const total = traced.length;
  pieces.forEach(({ offset, bytes }, index) => {
    const end = pieces[index + 1]?.offset ?? total;
    assert.ok(
      end > offset && end - offset <= bytes.length && bytes.length < end - offset + 8,
      `piece ${index}`,
    );
    assert.equal(
      Buffer.compare(bytes.subarray(0, end - offset), traced.subarray(offset, end)),
      0,
      `piece ${index}`,
    );
    assert.ok(bytes.subarray(end - offset).every((byte) => byte === 0));
  });
  assert.equal(pieces[0]?.offset ?? total, 0);
  assert.deepEqual(records, history.written);
  const sumOf = (kind: LossKind) =>
    loss.filter((entry) => entry.kind === kind).reduce((sum, { count }) => sum + Number(count), 0);
  const withFlag = (flag: number) => history.written.filter(({ flags }) => (flags & flag) !== 0).length;
  assert.equal(sumOf('aux-truncated'), withFlag(PERF_AUX_FLAG_TRUNCATED));
  assert.equal(sumOf('aux-partial'), withFlag(PERF_AUX_FLAG_PARTIAL));
  assert.equal(sumOf('aux-collision'), withFlag(PERF_AUX_FLAG_COLLISION));
  assert.equal(sumOf('ring-full'), history.dropped.length);
  const cut = new Set(
    [...history.written, ...history.dropped]
      .filter(({ flags }) => (flags & PERF_AUX_FLAG_TRUNCATED) !== 0)
      .map(({ end }) => end),
  );
  // Where no record was written at all, the recorder has seen a full area.
  const silent = history.lost.filter(({ at }) => !cut.has(at));
  assert.ok(sumOf('aux-full') >= silent.length, `${silent.length} gaps, of which no record tells`);
  if (history.refused === 0 && history.dropped.length === 0) assert.equal(sumOf('aux-full'), 0);
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(parts);
}
