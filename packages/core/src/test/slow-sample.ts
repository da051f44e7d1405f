/**
 * The plain statement of how a sample is laid out, for comparison with the fast decoder: the list of
 * perf_event_open(2), "PERF_RECORD_SAMPLE", read word by word with a cursor that fails at the end.
 */
import { SAMPLE_BIT_NAMES } from '../format/abi/index.ts';
import type { PerfEventAttr, Sample } from '../format/records/index.ts';

const CUT = Symbol('the record ends');

class Cursor {
  readonly view: DataView;
  pos: number;
  readonly end: number;
  readonly le: boolean;

  constructor(view: DataView, pos: number, end: number, le: boolean) {
    this.view = view;
    this.pos = pos;
    this.end = end;
    this.le = le;
  }

  need(size: bigint): number {
    if (BigInt(this.end - this.pos) < size) throw CUT;
    this.pos += Number(size);
    return this.pos - Number(size);
  }

  u64 = () => this.view.getBigUint64(this.need(8n), this.le);
  u32 = () => this.view.getUint32(this.need(4n), this.le);
  i32 = () => this.view.getInt32(this.need(4n), this.le);
  bytes = (size: bigint) => {
    const at = this.need(size);
    return new Uint8Array(this.view.buffer.slice(this.view.byteOffset + at, this.view.byteOffset + this.pos));
  };
  times = <T>(count: bigint, least: bigint, read: () => T): T[] => {
    if (BigInt(this.end - this.pos) < count * least) throw CUT;
    return Array.from({ length: Number(count) }, read);
  };
}

/** The sample at `[start, end)` and where its parts end, or null where the record is too short. */
export function slowSample(
  view: DataView,
  start: number,
  end: number,
  attr: PerfEventAttr,
  le: boolean,
): { sample: Sample; end: number } | null {
  const cursor = new Cursor(view, start + 8, end, le);
  try {
    const sample = readSample(cursor, attr, start);
    return { sample, end: Math.min(cursor.pos, end) };
  } catch (cut) {
    if (cut !== CUT) throw cut;
    return null;
  }
}

function readSample(cursor: Cursor, attr: PerfEventAttr, start: number): Sample {
  const { u64, u32, i32, bytes, times } = cursor;
  const has = (name: string) => ((attr.sampleType >> BigInt(SAMPLE_BIT_NAMES.indexOf(name))) & 1n) === 1n;
  const format = (bit: bigint) => ((attr.readFormat >> bit) & 1n) === 1n;
  const registers = (mask: bigint) => {
    const count = mask.toString(2).replaceAll('0', '').length;
    const abi = Number(u64() & 0xffff_ffffn);
    return { abi, registers: abi === 0 ? [] : times(BigInt(count), 8n, u64) };
  };
  const sample: Sample = {};
  if (has('IDENTIFIER')) sample.identifier = u64();
  if (has('IP')) sample.ip = u64();
  if (has('TID')) Object.assign(sample, { pid: i32(), tid: i32() });
  if (has('TIME')) sample.time = u64();
  if (has('ADDR')) sample.addr = u64();
  if (has('ID')) sample.id = u64();
  if (has('STREAM_ID')) sample.streamId = u64();
  if (has('CPU')) {
    sample.cpu = i32();
    i32();
  }
  if (has('PERIOD')) sample.period = u64();
  if (has('READ')) {
    const isGroup = format(3n);
    const count = isGroup ? u64() : 1n;
    const first = isGroup ? 0n : u64();
    const timeEnabled = format(0n) ? { timeEnabled: u64() } : {};
    const timeRunning = format(1n) ? { timeRunning: u64() } : {};
    const least = 8n + (format(2n) ? 8n : 0n) + (format(4n) ? 8n : 0n) - (isGroup ? 0n : 8n);
    const values = times(count, least, () => ({
      value: isGroup ? u64() : first,
      ...(format(2n) ? { id: u64() } : {}),
      ...(format(4n) ? { lost: u64() } : {}),
    }));
    sample.read = { ...timeEnabled, ...timeRunning, values };
  }
  if (has('CALLCHAIN')) sample.callchain = times(u64(), 8n, u64);
  if (has('RAW')) {
    sample.raw = bytes(BigInt(u32()));
    cursor.pos = start + Math.ceil((cursor.pos - start) / 8) * 8;
  }
  if (has('BRANCH_STACK')) {
    const count = u64();
    const hasCounters = ((attr.branchSampleType >> 19n) & 1n) === 1n;
    if (((attr.branchSampleType >> 17n) & 1n) === 1n) sample.branchHwIndex = u64();
    sample.branches = times(count, hasCounters ? 32n : 24n, () => ({
      from: u64(),
      to: u64(),
      flags: cursor.le ? u64() : turnedFlags(u64()),
    }));
    if (hasCounters) for (const branch of sample.branches) branch.counters = u64();
  }
  if (has('REGS_USER')) sample.userRegisters = registers(attr.sampleRegsUser);
  if (has('STACK_USER')) {
    const size = u64();
    const stack = bytes(size);
    const dynamicSize = size === 0n ? 0n : u64();
    const low = Number(dynamicSize & 0xffff_ffffn);
    sample.userStack = { bytes: stack, dynamicSize: Math.min(low, stack.length) };
  }
  if (has('WEIGHT') || has('WEIGHT_STRUCT')) sample.weight = u64();
  if (has('DATA_SRC')) sample.dataSource = u64();
  if (has('TRANSACTION')) sample.transaction = u64();
  if (has('REGS_INTR')) sample.interruptRegisters = registers(attr.sampleRegsIntr);
  if (has('PHYS_ADDR')) sample.physicalAddr = u64();
  if (has('CGROUP')) sample.cgroup = u64();
  if (has('DATA_PAGE_SIZE')) sample.dataPageSize = u64();
  if (has('CODE_PAGE_SIZE')) sample.codePageSize = u64();
  if (has('AUX')) sample.aux = bytes(u64());
  return sample;
}

/** Bit fields of a big-endian machine, the first one in the highest bits, as text. */
function turnedFlags(word: bigint): bigint {
  const bits = word.toString(2).padStart(64, '0');
  const fields: string[] = [];
  let at = 0;
  for (const size of [1, 1, 1, 1, 16, 4, 2, 4, 3, 31]) {
    fields.unshift(bits.slice(at, at + size));
    at += size;
  }
  return BigInt(`0b${fields.join('')}`);
}
