/**
 * How many TSC ticks a core cycle takes, learned from the trace: CYC counts core cycles, which the
 * processor's frequency makes longer or shorter. Three sources, the later the better:
 *
 *   CBR   nominal ratio / present ratio, when the nominal ratio is known
 *   TSC   TSC ticks between two PSB / cycles counted between them
 *   MTC   crystal ticks between two MTC / cycles counted between them
 */
import type { TimeSettings } from './time-settings.ts';
import { ctcDistance, TIME_BAD_PACKET, TIME_OK, TIME_UNKNOWN, ticksOfCtc } from './time-settings.ts';

/** Ratios are whole numbers. The unit is 1/256 tick for a cycle. */
export const RATIO_ONE = 256;

/** MTC frequencies from which a lost CYC (4096 cycles) does not show any more; see erratum SKL168. */
const SKL168_MAX_MTC_FREQ = 10;
/** A little less than 4096, because frequencies vary. */
const SKL168_CYCLES = 0xf00;

export class TimeCalibration {
  readonly #settings: TimeSettings;
  /** The present ratio, in 1/RATIO_ONE. */
  #ratio = 0;
  /** Smallest and largest ratio since the last reset. They show how far the ratio can be trusted. */
  minRatio = Number.POSITIVE_INFINITY;
  maxRatio = 0;
  #tsc = 0;
  #cyclesSinceTsc = 0;
  #ctc = 0;
  #cyclesSinceMtc = 0;
  #hasMtc = false;
  #firstMtcAfterPsb = false;

  constructor(settings: TimeSettings) {
    this.#settings = settings;
  }

  /** 1/RATIO_ONE TSC ticks per cycle, or TIME_UNKNOWN. */
  ratio(): number {
    return this.minRatio <= this.maxRatio ? this.#ratio : TIME_UNKNOWN;
  }

  reset(): void {
    this.#ratio = 0;
    this.minRatio = Number.POSITIVE_INFINITY;
    this.maxRatio = 0;
    this.#firstMtcAfterPsb = false;
    this.overflow();
  }

  /** After packets were lost: keeps the ratio, and forgets what was counted. */
  overflow(): void {
    this.#tsc = 0;
    this.#cyclesSinceTsc = 0;
    this.#ctc = 0;
    this.#cyclesSinceMtc = 0;
    this.#hasMtc = false;
  }

  psb(): void {
    if (this.#settings.errata.skl168) this.#firstMtcAfterPsb = true;
  }

  /**
   * `tsc` is a float64, because only differences matter. It calibrates inside PSB+. Elsewhere, time
   * may have been lost before it.
   */
  tsc(tsc: number, inHeader: boolean): number {
    const before = this.#tsc;
    const cycles = this.#cyclesSinceTsc;
    this.#tsc = tsc;
    this.#cyclesSinceTsc = 0;
    if (!inHeader || before === 0 || cycles === 0 || this.#hasMtc) return TIME_OK;
    const ticks = tsc < before ? tsc + 2 ** 56 - before : tsc - before;
    return this.#set(Math.floor((ticks * RATIO_ONE) / cycles));
  }

  /** A CBR outside of PSB+ says that the frequency has changed. */
  cbr(coreBusRatio: number, inHeader: boolean): number {
    if (!inHeader) this.reset();
    if (this.#settings.nomFreq === 0) return TIME_OK;
    if (coreBusRatio === 0) return TIME_BAD_PACKET;
    return this.#set(Math.floor((this.#settings.nomFreq * RATIO_ONE) / coreBusRatio));
  }

  cyc(cycles: number): void {
    this.#cyclesSinceMtc += cycles;
    this.#cyclesSinceTsc += cycles;
  }

  mtc(payload: number): number {
    const settings = this.#settings;
    const ctc = payload * 2 ** settings.mtcFreq;
    const before = this.#ctc;
    const cycles = this.#cyclesSinceMtc;
    const suspect = this.#firstMtcAfterPsb;
    this.#firstMtcAfterPsb = false;
    // A period without cycles is added to the next one.
    if (this.#hasMtc && cycles === 0) return TIME_OK;
    const isFirst = !this.#hasMtc;
    this.#hasMtc = true;
    this.#cyclesSinceMtc = 0;
    this.#ctc = ctc;
    if (isFirst) return TIME_OK;
    const distance = ctcDistance(ctc, before, settings);
    if (distance < 0) return distance;
    const ticks = ticksOfCtc(distance, settings);
    if (ticks < 0) return ticks;
    if (suspect && this.#hasLostCyc(distance, ticks, cycles)) return TIME_OK;
    return this.#set(Math.floor((ticks * RATIO_ONE) / cycles));
  }

  /** Erratum SKL168: tells whether an MTC is missing, or the CYC that shows that the counter wrapped. */
  #hasLostCyc(distance: number, ticks: number, cycles: number): boolean {
    const { mtcFreq } = this.#settings;
    if (distance > 2 ** mtcFreq) return true;
    if (mtcFreq >= SKL168_MAX_MTC_FREQ || this.ratio() < 0) return false;
    return Math.floor((this.#ratio * (cycles + SKL168_CYCLES)) / RATIO_ONE) < ticks;
  }

  #set(ratio: number): number {
    this.#ratio = ratio;
    this.minRatio = Math.min(this.minRatio, ratio);
    this.maxRatio = Math.max(this.maxRatio, ratio);
    return TIME_OK;
  }
}
