/**
 * The TSC at a place in the trace, from the packets that tell of time (SDM "Timing Packets"):
 *
 *     TSC        MTC   MTC   MTC        the TSC is exact at TSC packets; the crystal ticks (CTC) on from there,
 *      |-TMA-|----|-----|-----|---->    TMA says how the two lie to each other;
 *               ^   ^ ^     ^           CYC packets count core cycles in between
 *              CYC CYC CYC CYC
 *
 *   tsc = base (at the last TSC or MTC) + fast counter (ticks since, from CYC)
 */
import { TWO_32 } from '@counterpoint/core/base';
import { RATIO_ONE } from './time-calibration.ts';
import type { TimeSettings } from './time-settings.ts';
import {
  ctcDistance,
  MTC_BITS,
  TIME_BAD_CONTEXT,
  TIME_BAD_PACKET,
  TIME_OK,
  TMA_CTC_BITS,
  TMA_CTC_MASK,
  ticksOfCtc,
} from './time-settings.ts';

export class TscEstimate {
  readonly #settings: TimeSettings;
  /** The estimate, as unsigned halves. Relative to the beginning where `hasTsc` is false. */
  tscLo = 0;
  tscHi = 0;
  /** A TSC packet has been seen: the estimate is wall-clock time. */
  hasTsc = false;
  /** The core-to-bus ratio, 0 while unknown. */
  coreBusRatio = 0;
  /** MTC and CYC packets since the last TSC that could not be used. */
  lostMtc = 0;
  lostCyc = 0;
  /**
   * How far the true TSC may be from the estimate at the last timing packet, in ticks;
   * infinite where nothing bounds it.
   */
  errorTicks = Number.POSITIVE_INFINITY;
  #baseLo = 0;
  #baseHi = 0;
  /** Fast counter: ticks since base. */
  #ticks = 0;
  #ctc = 0;
  /** CTC at the last CYC-relevant point. */
  #ctcAtCyc = 0;
  #hasTma = false;
  #hasMtc = false;

  constructor(settings: TimeSettings) {
    this.#settings = settings;
  }

  reset(): void {
    this.tscLo = this.tscHi = this.#baseLo = this.#baseHi = 0;
    this.hasTsc = this.#hasTma = this.#hasMtc = false;
    this.coreBusRatio = this.lostMtc = this.lostCyc = 0;
    this.#ticks = this.#ctc = this.#ctcAtCyc = 0;
    this.errorTicks = Number.POSITIVE_INFINITY;
  }

  tsc(lo: number, hi: number): number {
    this.hasTsc = true;
    this.#hasTma = false;
    this.#hasMtc = false;
    this.#baseLo = this.tscLo = lo >>> 0;
    this.#baseHi = this.tscHi = hi >>> 0;
    this.#ctc = 0;
    this.#ticks = 0;
    this.lostMtc = 0;
    this.lostCyc = 0;
    this.errorTicks = 0;
    return TIME_OK;
  }

  cbr(ratio: number): number {
    if (ratio === 0) return TIME_BAD_PACKET;
    this.coreBusRatio = ratio;
    return TIME_OK;
  }

  tma(ctc: number, fastCounter: number): number {
    if (!this.hasTsc || this.#hasTma) return TIME_BAD_CONTEXT;
    const mtcTopBit = this.#settings.mtcFreq + MTC_BITS;
    this.#hasTma = true;
    this.#moveBase(-fastCounter);
    this.#ticks += fastCounter;
    // All the bits of MTC are here: as good as an MTC. Else the missing ones are taken from the next MTC.
    if (mtcTopBit <= TMA_CTC_BITS) this.#hasMtc = true;
    this.#ctc = this.#ctcAtCyc = ctc & (2 ** mtcTopBit - 1);
    return TIME_OK;
  }

  mtc(payload: number): number {
    // Between TSC and TMA it is not known yet how the two lie to each other.
    if (this.hasTsc && !this.#hasTma) return TIME_OK;
    const settings = this.#settings;
    const ctc = payload * 2 ** settings.mtcFreq;
    const hadMtc = this.#hasMtc;
    let before = this.#ctc;
    if (this.#ticks !== 0 || this.lostCyc !== 0 || !hadMtc) this.#ctcAtCyc = ctc;
    this.#hasMtc = true;
    this.#ticks = 0;
    this.#ctc = ctc;
    this.lostCyc = 0;
    if (!hadMtc) {
      // Where in this period tracing began is not known.
      if (!this.#hasTma) return TIME_OK;
      before = completeTmaCtc(before, ctc, settings);
    }
    const distance = ctcDistance(ctc, before, settings);
    if (distance < 0) {
      this.lostMtc++;
      return distance;
    }
    const ticks = ticksOfCtc(distance, settings);
    if (ticks < 0) return ticks;
    this.#moveBase(ticks);
    this.tscLo = this.#baseLo;
    this.tscHi = this.#baseHi;
    // To a crystal tick; where TMA left bits out, an MTC lost in between would not have shown.
    const unit = hadMtc ? 1 : 2 ** settings.mtcFreq;
    if (this.hasTsc) this.errorTicks = ticksOfCtc(unit, settings) + 1;
    return TIME_OK;
  }

  /**
   * `ratio`: what TimeCalibration says; 0 where it says nothing. `spread`: how far its ratios have differed.
   */
  cyc(cycles: number, ratio: number, spread = 0): number {
    if (ratio <= 0) {
      this.lostCyc++;
      this.errorTicks = Number.POSITIVE_INFINITY;
      return TIME_OK;
    }
    let count = cycles;
    if (this.#ticks === 0 && this.#ctc !== this.#ctcAtCyc) {
      // The packet spans several MTC periods: leave out what belongs to those that are over.
      const distance = ctcDistance(this.#ctc, this.#ctcAtCyc, this.#settings);
      if (distance < 0) return distance;
      const ticks = ticksOfCtc(distance, this.#settings);
      if (ticks < 0) return ticks;
      count = Math.max(0, cycles - Math.floor((ticks * RATIO_ONE) / ratio));
    }
    const ticks = Math.floor((count * ratio) / RATIO_ONE);
    this.#ticks += ticks;
    this.#tscFromBase();
    this.errorTicks += Math.ceil((count * spread) / RATIO_ONE) + 1;
    return TIME_OK;
  }

  #moveBase(ticks: number): void {
    const low = this.#baseLo + ticks;
    const carry = Math.floor(low / TWO_32);
    this.#baseLo = low - carry * TWO_32;
    this.#baseHi = (this.#baseHi + carry) >>> 0;
  }

  #tscFromBase(): void {
    const low = this.#baseLo + this.#ticks;
    const carry = Math.floor(low / TWO_32);
    this.tscLo = low - carry * TWO_32;
    this.tscHi = (this.#baseHi + carry) >>> 0;
  }
}

/**
 * The CTC at TMA when MTC goes above its 16 bits: the rest is taken from the first MTC behind it, one step
 * lower where the 16 bits wrapped in between.
 */
function completeTmaCtc(atTma: number, atMtc: number, settings: TimeSettings): number {
  const low = atMtc & TMA_CTC_MASK;
  let high = atMtc & ~TMA_CTC_MASK;
  if (low < atTma) high = (high - 2 ** TMA_CTC_BITS) & ((2 ** MTC_BITS - 1) << settings.mtcFreq);
  return (atTma | high) >>> 0;
}
