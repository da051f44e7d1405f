/** How the kernel's clock hangs together with the TSC of x86, by the first page of a ring. */
import {
  MMAP_CAP_USER_TIME_ZERO,
  MMAP_PAGE_CAPABILITIES,
  MMAP_PAGE_TIME_MULT,
  MMAP_PAGE_TIME_SHIFT,
  MMAP_PAGE_TIME_ZERO,
} from '@counterpoint/core/abi';
import type { PerfClock } from '@counterpoint/trace/intel-pt';

/** Null where the kernel does not tie its clock to the TSC. */
export function tscClock(eventPage: ArrayBuffer): PerfClock | null {
  const page = new DataView(eventPage);
  const timeMult = page.getUint32(MMAP_PAGE_TIME_MULT, true);
  if ((page.getUint32(MMAP_PAGE_CAPABILITIES, true) & MMAP_CAP_USER_TIME_ZERO) === 0 || timeMult === 0)
    return null;
  return {
    timeShift: page.getUint16(MMAP_PAGE_TIME_SHIFT, true),
    timeMult,
    timeZero: page.getBigUint64(MMAP_PAGE_TIME_ZERO, true),
  };
}

/** The TSC at a time of CLOCK_MONOTONIC, about; the time itself where nobody knows. */
export function tscAt(eventPage: ArrayBuffer, nowNs: bigint): bigint {
  const clock = tscClock(eventPage);
  if (clock === null) return nowNs;
  const { timeZero, timeMult, timeShift } = clock;
  return BigInt.asUintN(64, (BigInt.asUintN(64, nowNs - timeZero) << BigInt(timeShift)) / BigInt(timeMult));
}
