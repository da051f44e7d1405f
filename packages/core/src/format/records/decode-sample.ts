import { floatAt } from '../../base/index.ts';
import {
  PERF_FORMAT_GROUP,
  PERF_FORMAT_ID,
  PERF_FORMAT_LOST,
  PERF_FORMAT_TOTAL_TIME_ENABLED,
  PERF_FORMAT_TOTAL_TIME_RUNNING,
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
import type { SampleFields } from './sample-fields.ts';
import type { SampleLayout } from './sample-layout.ts';

/** The bits of the parts after the call chain. */
const VARIABLE_BITS = ~(PERF_SAMPLE_PERIOD * 2 - 1) & ~PERF_SAMPLE_IDENTIFIER & ~PERF_SAMPLE_STREAM_ID;

/**
 * Decode the sample record at `[start, end)` into `out`. Returns false if the record is too
 * short for what its attr promises. Fields that the attr does not have, and those that the
 * record lacks, have their defaults.
 *
 * The order of the parts is the kernel's (`perf_output_sample`). Every read is checked against `end` first.
 */
export function decodeSampleInto(
  view: DataView,
  start: number,
  end: number,
  layout: SampleLayout,
  le: boolean,
  out: SampleFields,
): boolean {
  // Samples of one shape set the same fields at every decode. A part whose content is missing (a register
  // dump of a kernel thread, an empty user stack) sets its fields to their defaults. So a reset is needed
  // only after a sample of another shape, or after one that was cut.
  if (out.shape !== layout.shape) {
    out.reset();
    out.shape = layout.shape;
  }
  if (decodeFixedParts(view, start, end, layout, le, out)) return true;
  out.reset();
  decodeFixedParts(view, start, end, layout, le, out);
  return false;
}

function decodeFixedParts(
  view: DataView,
  start: number,
  end: number,
  layout: SampleLayout,
  le: boolean,
  out: SampleFields,
): boolean {
  const bits = layout.sampleType;
  const lo = le ? 0 : 4;
  const hi = 4 - lo;
  let at = start + 8;

  if ((bits & PERF_SAMPLE_IDENTIFIER) !== 0) {
    if (at + 8 > end) return false;
    out.idLo = view.getUint32(at + lo, le);
    out.idHi = view.getUint32(at + hi, le);
    at += 8;
  }
  if ((bits & PERF_SAMPLE_IP) !== 0) {
    if (at + 8 > end) return false;
    out.ipLo = view.getUint32(at + lo, le);
    out.ipHi = view.getUint32(at + hi, le);
    at += 8;
  }
  if ((bits & PERF_SAMPLE_TID) !== 0) {
    if (at + 8 > end) return false;
    out.pid = view.getInt32(at, le);
    out.tid = view.getInt32(at + 4, le);
    at += 8;
  }
  if ((bits & PERF_SAMPLE_TIME) !== 0) {
    if (at + 8 > end) return false;
    out.timeLo = view.getUint32(at + lo, le);
    out.timeHi = view.getUint32(at + hi, le);
    at += 8;
  }
  if ((bits & PERF_SAMPLE_ADDR) !== 0) {
    if (at + 8 > end) return false;
    out.addrLo = view.getUint32(at + lo, le);
    out.addrHi = view.getUint32(at + hi, le);
    at += 8;
  }
  if ((bits & PERF_SAMPLE_ID) !== 0) {
    if (at + 8 > end) return false;
    out.idLo = view.getUint32(at + lo, le);
    out.idHi = view.getUint32(at + hi, le);
    at += 8;
  }
  if ((bits & PERF_SAMPLE_STREAM_ID) !== 0) {
    if (at + 8 > end) return false;
    out.streamIdLo = view.getUint32(at + lo, le);
    out.streamIdHi = view.getUint32(at + hi, le);
    at += 8;
  }
  if ((bits & PERF_SAMPLE_CPU) !== 0) {
    if (at + 8 > end) return false;
    out.cpu = view.getInt32(at, le);
    at += 8;
  }
  if ((bits & PERF_SAMPLE_PERIOD) !== 0) {
    if (at + 8 > end) return false;
    out.periodLo = view.getUint32(at + lo, le);
    out.periodHi = view.getUint32(at + hi, le);
    at += 8;
  }
  if ((bits & PERF_SAMPLE_READ) !== 0) {
    const size = readValuesSize(view, at, end, layout.readFormat, le);
    if (size < 0) return false;
    out.readOffset = at;
    at += size;
  }
  if ((bits & PERF_SAMPLE_CALLCHAIN) !== 0) {
    if (at + 8 > end) return false;
    const count = view.getUint32(at + lo, le);
    if (view.getUint32(at + hi, le) !== 0 || count > (end - at - 8) >>> 3) return false;
    out.chainOffset = at + 8;
    out.chainCount = count;
    at += 8 + count * 8;
  }
  if ((bits & VARIABLE_BITS) === 0) {
    out.end = at;
    return true;
  }
  return decodeVariableParts(view, at, end, layout, le, out);
}

function decodeVariableParts(
  view: DataView,
  from: number,
  end: number,
  layout: SampleLayout,
  le: boolean,
  out: SampleFields,
): boolean {
  const bits = layout.sampleType;
  const lo = le ? 0 : 4;
  const hi = 4 - lo;
  let at = from;

  if ((bits & PERF_SAMPLE_RAW) !== 0) {
    // u32 size, then that many bytes; the kernel pads so that both together are a multiple of 8.
    if (at + 4 > end) return false;
    const size = view.getUint32(at, le);
    if (size > end - at - 4) return false;
    out.rawOffset = at + 4;
    out.rawSize = size;
    at += 4 + size;
    // Every part starts on a multiple of 8 from the record's start, and so did this one.
    at += (from - at) & 7;
  }
  if ((bits & PERF_SAMPLE_BRANCH_STACK) !== 0) {
    if (at + 8 > end) return false;
    const count = view.getUint32(at + lo, le);
    const tooMany = view.getUint32(at + hi, le) !== 0;
    at += 8;
    if (layout.branchHasHwIndex) {
      if (at + 8 > end) return false;
      out.branchHwIndexLo = view.getUint32(at + lo, le);
      out.branchHwIndexHi = view.getUint32(at + hi, le);
      at += 8;
    }
    const entrySize = layout.branchHasCounters ? 32 : 24;
    if (tooMany || count > Math.floor((end - at) / entrySize)) return false;
    out.branchOffset = at;
    out.branchCount = count;
    at += count * 24;
    if (layout.branchHasCounters) {
      out.branchCountersOffset = at;
      at += count * 8;
    }
  }
  if ((bits & PERF_SAMPLE_REGS_USER) !== 0) {
    if (at + 8 > end) return false;
    out.userRegsAbi = view.getUint32(at + lo, le);
    at += 8;
    out.userRegsOffset = 0;
    if (out.userRegsAbi !== 0) {
      if (at + layout.userRegisterCount * 8 > end) return false;
      out.userRegsOffset = at;
      at += layout.userRegisterCount * 8;
    }
  }
  if ((bits & PERF_SAMPLE_STACK_USER) !== 0) {
    if (at + 8 > end) return false;
    const size = view.getUint32(at + lo, le);
    const tooBig = view.getUint32(at + hi, le) !== 0;
    at += 8;
    out.userStackOffset = out.userStackSize = out.userStackDynamicSize = 0;
    if (size !== 0 || tooBig) {
      // The bytes, then how many of them are real.
      if (tooBig || size > end - at - 8) return false;
      out.userStackOffset = at;
      out.userStackSize = size;
      at += size;
      out.userStackDynamicSize = Math.min(size, view.getUint32(at + lo, le));
      at += 8;
    }
  }
  if ((bits & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT)) !== 0) {
    if (at + 8 > end) return false;
    out.weightLo = view.getUint32(at + lo, le);
    out.weightHi = view.getUint32(at + hi, le);
    at += 8;
  }
  if ((bits & PERF_SAMPLE_DATA_SRC) !== 0) {
    if (at + 8 > end) return false;
    out.dataSourceLo = view.getUint32(at + lo, le);
    out.dataSourceHi = view.getUint32(at + hi, le);
    at += 8;
  }
  if ((bits & PERF_SAMPLE_TRANSACTION) !== 0) {
    if (at + 8 > end) return false;
    out.transactionLo = view.getUint32(at + lo, le);
    out.transactionHi = view.getUint32(at + hi, le);
    at += 8;
  }
  if ((bits & PERF_SAMPLE_REGS_INTR) !== 0) {
    if (at + 8 > end) return false;
    out.interruptRegsAbi = view.getUint32(at + lo, le);
    at += 8;
    out.interruptRegsOffset = 0;
    if (out.interruptRegsAbi !== 0) {
      if (at + layout.interruptRegisterCount * 8 > end) return false;
      out.interruptRegsOffset = at;
      at += layout.interruptRegisterCount * 8;
    }
  }
  if ((bits & PERF_SAMPLE_PHYS_ADDR) !== 0) {
    if (at + 8 > end) return false;
    out.physicalAddrLo = view.getUint32(at + lo, le);
    out.physicalAddrHi = view.getUint32(at + hi, le);
    at += 8;
  }
  if ((bits & PERF_SAMPLE_CGROUP) !== 0) {
    if (at + 8 > end) return false;
    out.cgroupLo = view.getUint32(at + lo, le);
    out.cgroupHi = view.getUint32(at + hi, le);
    at += 8;
  }
  if ((bits & PERF_SAMPLE_DATA_PAGE_SIZE) !== 0) {
    if (at + 8 > end) return false;
    out.dataPageSizeLo = view.getUint32(at + lo, le);
    out.dataPageSizeHi = view.getUint32(at + hi, le);
    at += 8;
  }
  if ((bits & PERF_SAMPLE_CODE_PAGE_SIZE) !== 0) {
    if (at + 8 > end) return false;
    out.codePageSizeLo = view.getUint32(at + lo, le);
    out.codePageSizeHi = view.getUint32(at + hi, le);
    at += 8;
  }
  if ((bits & PERF_SAMPLE_AUX) !== 0) {
    if (at + 8 > end) return false;
    const size = view.getUint32(at + lo, le);
    if (view.getUint32(at + hi, le) !== 0 || size > end - at - 8) return false;
    out.auxOffset = at + 8;
    out.auxSize = size;
    at += 8 + size;
  }
  // A record may claim padding of its raw data that lies beyond its own end.
  out.end = Math.min(at, end);
  return true;
}

/** Bytes of a read-format block, or -1 if it does not fit. */
export function readValuesSize(
  view: DataView,
  at: number,
  end: number,
  readFormat: number,
  le: boolean,
): number {
  const times =
    ((readFormat & PERF_FORMAT_TOTAL_TIME_ENABLED) !== 0 ? 8 : 0) +
    ((readFormat & PERF_FORMAT_TOTAL_TIME_RUNNING) !== 0 ? 8 : 0);
  const perValue =
    8 + ((readFormat & PERF_FORMAT_ID) !== 0 ? 8 : 0) + ((readFormat & PERF_FORMAT_LOST) !== 0 ? 8 : 0);
  if ((readFormat & PERF_FORMAT_GROUP) === 0) {
    const size = times + perValue;
    return at + size <= end ? size : -1;
  }
  if (at + 8 + times > end) return -1;
  const count = floatAt(view, at, le);
  if (count > Math.floor((end - at - 8 - times) / perValue)) return -1;
  return 8 + times + count * perValue;
}
