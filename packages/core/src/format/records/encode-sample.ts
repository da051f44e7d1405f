import {
  PERF_SAMPLE_ADDR,
  PERF_SAMPLE_AUX,
  PERF_SAMPLE_BRANCH_STACK,
  PERF_SAMPLE_CALLCHAIN,
  PERF_SAMPLE_CGROUP,
  PERF_SAMPLE_CODE_PAGE_SIZE,
  PERF_SAMPLE_CPU,
  PERF_SAMPLE_DATA_PAGE_SIZE,
  PERF_SAMPLE_DATA_SRC,
  PERF_SAMPLE_ID,
  PERF_SAMPLE_IDENTIFIER,
  PERF_SAMPLE_IP,
  PERF_SAMPLE_PERIOD,
  PERF_SAMPLE_PHYS_ADDR,
  PERF_SAMPLE_RAW,
  PERF_SAMPLE_READ,
  PERF_SAMPLE_REGS_INTR,
  PERF_SAMPLE_REGS_USER,
  PERF_SAMPLE_STACK_USER,
  PERF_SAMPLE_STREAM_ID,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
  PERF_SAMPLE_TRANSACTION,
  PERF_SAMPLE_WEIGHT,
  PERF_SAMPLE_WEIGHT_STRUCT,
} from '../abi/index.ts';
import type { BodyWriter } from './body-writer.ts';
import { branchFlagsTo } from './branch-word.ts';
import { encodeReadValues } from './read-values.ts';
import type { SampleId } from './record-base.ts';
import type { RegisterDump, Sample } from './sample.ts';
import type { SampleLayout } from './sample-layout.ts';

/**
 * Write the body of a sample in the layout of its attr. Fields that are absent are written as zero or empty.
 */
export function encodeSample(writer: BodyWriter, sample: Sample, layout: SampleLayout): void {
  const has = (bit: number) => (layout.sampleType & bit) !== 0;
  const word = (bit: number, value: bigint | undefined) => {
    if (has(bit)) writer.u64(value ?? 0n);
  };
  word(PERF_SAMPLE_IDENTIFIER, sample.identifier ?? sample.id);
  word(PERF_SAMPLE_IP, sample.ip);
  if (has(PERF_SAMPLE_TID)) writePair(writer, sample.pid, sample.tid);
  word(PERF_SAMPLE_TIME, sample.time);
  word(PERF_SAMPLE_ADDR, sample.addr);
  word(PERF_SAMPLE_ID, sample.id);
  word(PERF_SAMPLE_STREAM_ID, sample.streamId);
  if (has(PERF_SAMPLE_CPU)) writePair(writer, sample.cpu, 0);
  word(PERF_SAMPLE_PERIOD, sample.period);
  if (has(PERF_SAMPLE_READ)) encodeReadValues(writer, sample.read ?? { values: [] }, layout.readFormat);
  if (has(PERF_SAMPLE_CALLCHAIN)) writer.u64list(sample.callchain ?? []);
  if (has(PERF_SAMPLE_RAW)) writeRaw(writer, sample.raw ?? new Uint8Array());
  if (has(PERF_SAMPLE_BRANCH_STACK)) writeBranches(writer, sample, layout);
  if (has(PERF_SAMPLE_REGS_USER)) writeRegisters(writer, sample.userRegisters);
  if (has(PERF_SAMPLE_STACK_USER)) writeUserStack(writer, sample);
  word(PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT, sample.weight);
  word(PERF_SAMPLE_DATA_SRC, sample.dataSource);
  word(PERF_SAMPLE_TRANSACTION, sample.transaction);
  if (has(PERF_SAMPLE_REGS_INTR)) writeRegisters(writer, sample.interruptRegisters);
  word(PERF_SAMPLE_PHYS_ADDR, sample.physicalAddr);
  word(PERF_SAMPLE_CGROUP, sample.cgroup);
  word(PERF_SAMPLE_DATA_PAGE_SIZE, sample.dataPageSize);
  word(PERF_SAMPLE_CODE_PAGE_SIZE, sample.codePageSize);
  if (has(PERF_SAMPLE_AUX)) {
    const aux = sample.aux ?? new Uint8Array();
    writer.u64(BigInt(aux.length));
    writer.rest(aux);
  }
}

/** The trailer of other kernel records; nothing without `sample_id_all`. */
export function encodeSampleId(writer: BodyWriter, id: SampleId, layout: SampleLayout): void {
  if (!layout.sampleIdAll) return;
  const has = (bit: number) => (layout.sampleType & bit) !== 0;
  if (has(PERF_SAMPLE_TID)) writePair(writer, id.pid, id.tid);
  if (has(PERF_SAMPLE_TIME)) writer.u64(id.time ?? 0n);
  if (has(PERF_SAMPLE_ID)) writer.u64(id.id ?? 0n);
  if (has(PERF_SAMPLE_STREAM_ID)) writer.u64(id.streamId ?? 0n);
  if (has(PERF_SAMPLE_CPU)) writePair(writer, id.cpu, 0);
  if (has(PERF_SAMPLE_IDENTIFIER)) writer.u64(id.id ?? 0n);
}

function writePair(writer: BodyWriter, first: number | undefined, second: number | undefined): void {
  writer.i32(first ?? 0);
  writer.i32(second ?? 0);
}

function writeRaw(writer: BodyWriter, raw: Uint8Array): void {
  const size = Math.ceil((raw.length + 4) / 8) * 8 - 4;
  writer.u32(size);
  writer.bytes(raw, size);
}

function writeBranches(writer: BodyWriter, sample: Sample, layout: SampleLayout): void {
  const branches = sample.branches ?? [];
  writer.u64(BigInt(branches.length));
  if (layout.branchHasHwIndex) writer.u64(sample.branchHwIndex ?? 0n);
  for (const branch of branches) {
    writer.u64(branch.from);
    writer.u64(branch.to);
    writer.u64(branchFlagsTo(branch.flags, writer.littleEndian));
  }
  if (layout.branchHasCounters) for (const branch of branches) writer.u64(branch.counters ?? 0n);
}

function writeRegisters(writer: BodyWriter, dump: RegisterDump | undefined): void {
  writer.u64(BigInt(dump?.abi ?? 0));
  if (dump === undefined || dump.abi === 0) return;
  for (const register of dump.registers) writer.u64(register);
}

function writeUserStack(writer: BodyWriter, sample: Sample): void {
  const stack = sample.userStack;
  writer.u64(BigInt(stack?.bytes.length ?? 0));
  if (stack === undefined || stack.bytes.length === 0) return;
  writer.rest(stack.bytes);
  writer.u64(BigInt(stack.dynamicSize));
}
