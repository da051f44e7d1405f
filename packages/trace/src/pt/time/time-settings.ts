import type { Errata } from '../packets/errata.ts';
import { NO_ERRATA } from '../packets/errata.ts';

/**
 * What the trace does not say about its clocks; from the PMU's caps files, CPUID and MSRs at recording time.
 */
export interface TimeSettings {
  /** An MTC every 2^mtcFreq crystal ticks (IA32_RTIT_CTL.MTCFreq), 0 to 15. */
  readonly mtcFreq: number;
  /** The processor's maximum non-turbo ratio (MSR_PLATFORM_INFO[15:8]); 0: unknown. */
  readonly nomFreq: number;
  /** TSC ticks per crystal tick are ebx / eax (CPUID leaf 0x15); 0: unknown. */
  readonly cpuid0x15Eax: number;
  /** EBX of CPUID leaf 0x15; 0: unknown. Without it MTC packets give no time. */
  readonly cpuid0x15Ebx: number;
  /** `errataOf` the processor: some concern its clocks. `NO_ERRATA` where it is not known. */
  readonly errata: Errata;
}

export const NO_TIME_SETTINGS: TimeSettings = {
  mtcFreq: 0,
  nomFreq: 0,
  cpuid0x15Eax: 0,
  cpuid0x15Ebx: 0,
  errata: NO_ERRATA,
};

// What an update may answer; 0 and above is fine.
export const TIME_OK = 0;
/** Nothing has given a time, or a calibration, yet. */
export const TIME_UNKNOWN = -1;
/** CPUID 0x15 is needed and was not given. */
export const TIME_NEEDS_CPUID = -2;
/** A value that cannot be. */
export const TIME_BAD_PACKET = -3;
/** TMA without TSC, or two of them. */
export const TIME_BAD_CONTEXT = -4;

/** CTC has 16 bits in TMA, of which MTC gives 8 beginning at mtcFreq. */
export const TMA_CTC_MASK = 0xffff;
export const TMA_CTC_BITS = 16;
export const MTC_BITS = 8;

/**
 * Crystal ticks from one CTC value to another, over one wrap of the bits that MTC gives. More than one wrap
 * cannot be seen: then time is wrong until the next TSC. Negative where the values cannot be.
 */
export function ctcDistance(ctc: number, before: number, settings: TimeSettings): number {
  const wrapped = ctc < before ? ctc + 2 ** (settings.mtcFreq + MTC_BITS) : ctc;
  return wrapped < before ? TIME_BAD_PACKET : wrapped - before;
}

/** Crystal ticks as TSC ticks, or TIME_NEEDS_CPUID. */
export function ticksOfCtc(ctc: number, settings: TimeSettings): number {
  const { cpuid0x15Eax: eax, cpuid0x15Ebx: ebx } = settings;
  return eax === 0 || ebx === 0 ? TIME_NEEDS_CPUID : Math.floor((ctc * ebx) / eax);
}
