import {
  PERF_RECORD_MISC_KERNEL,
  PERF_RECORD_MISC_USER,
  PERF_RECORD_SAMPLE,
  PERF_SAMPLE_ADDR,
  PERF_SAMPLE_BRANCH_STACK,
  PERF_SAMPLE_CALLCHAIN,
  PERF_SAMPLE_CPU,
  PERF_SAMPLE_ID,
  PERF_SAMPLE_IDENTIFIER,
  PERF_SAMPLE_IP,
  PERF_SAMPLE_PERIOD,
  PERF_SAMPLE_RAW,
  PERF_SAMPLE_STREAM_ID,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
} from '@counterpoint/core/abi';
import { TWO_32 } from '@counterpoint/core/base';
import type { RecordedEvent } from '@counterpoint/core/perfdata';
import { EXTRA_BYTES, writeSampleExtra } from '@counterpoint/core/records';
import { walkChain } from './call-chain.ts';
import type { CallStack } from './call-stack.ts';
import type { LastBranches } from './last-branches.ts';
import type { RecordBuffer } from './record-buffer.ts';

const LONGEST_INSTRUCTION = 16;

/** One sample to be written. One object, used again for each. */
export class SyntheticSample {
  pid = -1;
  tid = -1;
  cpu = -1;
  /** Nanoseconds on the recording's clock. */
  timeNs = 0;
  ipLo = 0;
  ipHi = 0;
  addrLo = 0;
  addrHi = 0;
  period = 1;
  flags = 0;
  /** Instruction at `ip`: none where the length is 0. */
  instructionBytes = 0;
  readonly instruction = new Uint8Array(LONGEST_INSTRUCTION);
  instructions = 0;
  cycles = 0;
  raw: Uint8Array | null = null;
}

/** Write a PERF_RECORD_SAMPLE in the event's layout, in the order of perf_event_open(2). */
export function writeSample(
  buffer: RecordBuffer,
  event: RecordedEvent,
  sample: SyntheticSample,
  calls: CallStack | null,
  mostFrames: number,
  branches: LastBranches | null,
  mostBranches: number,
): void {
  const bits = event.layout.sampleType;
  const has = (bit: number): boolean => (bits & bit) !== 0;
  const id = event.ids[0] ?? 0;
  const misc = sample.ipHi < 0 ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER;
  buffer.begin(PERF_RECORD_SAMPLE, misc, sample.timeNs);
  if (has(PERF_SAMPLE_IDENTIFIER)) buffer.float(id);
  if (has(PERF_SAMPLE_IP)) buffer.pair(sample.ipLo, sample.ipHi);
  if (has(PERF_SAMPLE_TID)) buffer.words(sample.pid, sample.tid);
  if (has(PERF_SAMPLE_TIME)) buffer.float(sample.timeNs);
  if (has(PERF_SAMPLE_ADDR)) buffer.pair(sample.addrLo, sample.addrHi);
  if (has(PERF_SAMPLE_ID)) buffer.float(id);
  if (has(PERF_SAMPLE_STREAM_ID)) buffer.float(id);
  if (has(PERF_SAMPLE_CPU)) buffer.words(sample.cpu, 0);
  if (has(PERF_SAMPLE_PERIOD)) buffer.float(sample.period);
  if (has(PERF_SAMPLE_CALLCHAIN)) writeChain(buffer, sample, calls, mostFrames);
  if (has(PERF_SAMPLE_RAW)) {
    // Its size makes the rest stand on 8 bytes again.
    const raw = sample.raw ?? new Uint8Array();
    buffer.raw(raw);
  }
  if (has(PERF_SAMPLE_BRANCH_STACK)) {
    if (branches === null) buffer.pair(0, 0);
    else branches.write(buffer, mostBranches);
  }
  writeExtra(buffer, sample, calls);
  buffer.end();
}

/** `mostFrames` with `ip`, without the first marker. */
function writeChain(
  buffer: RecordBuffer,
  { ipLo, ipHi }: SyntheticSample,
  calls: CallStack | null,
  mostFrames: number,
): void {
  const count = buffer.position;
  buffer.pair(0, 0);
  const written = walkChain(calls, ipLo, ipHi, mostFrames + 1, (lo, hi) => buffer.pair(lo, hi));
  buffer.patchPair(count, written, 0);
}

export function writeExtra(
  buffer: RecordBuffer,
  sample: Readonly<SyntheticSample>,
  calls: CallStack | null,
): void {
  const { view, position, littleEndian } = buffer.reserve(EXTRA_BYTES);
  writeSampleExtra(view, position, sample, calls?.depth ?? 0, littleEndian);
  buffer.position += EXTRA_BYTES;
}

/** Halves of a whole number below 2^64. */
export function halvesOf(value: number): { lo: number; hi: number } {
  const hi = Math.floor(value / TWO_32);
  return { lo: value - hi * TWO_32, hi };
}
