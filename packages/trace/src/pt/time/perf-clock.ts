import { TWO_32 } from '@counterpoint/core/base';

/** How the TSC becomes perf's time. From `perf_event_mmap_page`, or from the record TIME_CONV. */
export interface PerfClock {
  /** Nanoseconds on perf's clock at TSC 0: 64 bits, which may wrap. */
  readonly timeZero: bigint;
  /** Bits, 0 to 63. */
  readonly timeShift: number;
  /** Nanoseconds are ticks times this, shifted right by `timeShift`. */
  readonly timeMult: number;
}

/**
 * Nanoseconds on perf's clock, from unsigned halves of a TSC (perf_event.h, `cap_user_time_zero`):
 *
 *   time_zero + (tsc >> shift) * mult + (((tsc & mask) * mult) >> shift)
 *
 * As float64: exact below 2^53 ns (104 days of uptime), within 2 ns above. For hot loops.
 */
export function tscToPerfNs(clock: PerfClock, tscLo: number, tscHi: number): number {
  const { timeShift: shift, timeMult: mult } = clock;
  const unit = 2 ** shift;
  const quotient = quotientOf(tscLo, tscHi, shift);
  const rest = remainderOf(tscLo, tscHi, shift);
  const high = Math.floor(rest / 0x1_0000);
  const low = rest - high * 0x1_0000;
  // rest * mult has up to 95 bits. In two parts, each step stays below 2^53.
  const part =
    shift >= 16
      ? Math.floor((high * mult + Math.floor((low * mult) / 0x1_0000)) / 2 ** (shift - 16))
      : Math.floor((rest * mult) / unit);
  return Number(clock.timeZero) + quotient * mult + part;
}

function quotientOf(lo: number, hi: number, shift: number): number {
  return shift >= 32
    ? Math.floor(hi / 2 ** (shift - 32))
    : hi * 2 ** (32 - shift) + Math.floor(lo / 2 ** shift);
}

function remainderOf(lo: number, hi: number, shift: number): number {
  return shift >= 32 ? (hi % 2 ** (shift - 32)) * TWO_32 + lo : lo % 2 ** shift;
}

/**
 * Nanoseconds on perf's clock, exact in 64 bits, as the kernel computes the times of a
 * recording. `tscToPerfNs` is faster.
 */
export function tscToPerfTime(clock: PerfClock, tsc: bigint): bigint {
  const shift = BigInt(clock.timeShift);
  const mult = BigInt(clock.timeMult);
  const rest = tsc & ((1n << shift) - 1n);
  return BigInt.asUintN(64, clock.timeZero + (tsc >> shift) * mult + ((rest * mult) >> shift));
}

/**
 * The TSC of a time on perf's clock. It is right to a few ticks, because the time has lost its fraction.
 */
export function perfTimeToTsc(clock: PerfClock, timeNs: bigint): bigint {
  const time = BigInt.asUintN(64, timeNs - clock.timeZero);
  const mult = BigInt(clock.timeMult);
  const shift = BigInt(clock.timeShift);
  return BigInt.asUintN(64, ((time / mult) << shift) + ((time % mult) << shift) / mult);
}
