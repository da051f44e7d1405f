/** Time along a trace: give it every packet, ask it for the TSC. */
import { toBigInt, toFloat } from '@counterpoint/core/base';
import type { Packet } from '../packets/packet.ts';
import {
  PACKET_CBR,
  PACKET_CYC,
  PACKET_MTC,
  PACKET_OVF,
  PACKET_PSB,
  PACKET_PSBEND,
  PACKET_TMA,
  PACKET_TSC,
} from '../packets/packet-kinds.ts';
import { TimeCalibration } from './time-calibration.ts';
import type { TimeSettings } from './time-settings.ts';
import { NO_TIME_SETTINGS, ticksOfCtc } from './time-settings.ts';
import { TscEstimate } from './tsc-estimate.ts';

/**
 * How sure the clock is. What happened lies between the last timing packet and the next:
 *
 *   estimate - errorTicks  <=  true TSC  <=  estimate + errorTicks + sinceTicks
 */
export interface TimeCertainty {
  /** `wall`: TSC packets tie it to the machine's clock; `relative`: only distances mean something; `none`. */
  readonly clock: 'wall' | 'relative' | 'none';
  /** The value of the last TSC packet: exact there. Null before the first. */
  readonly lastTsc: bigint | null;
  /** At the last timing packet the true TSC is within this many ticks; null if nothing bounds it. */
  readonly errorTicks: number | null;
  /**
   * At most this many ticks have passed since the last timing packet: an MTC would have
   * come. Null where none come.
   */
  readonly sinceTicks: number | null;
  /** MTC packets since the last TSC that could not be used. */
  readonly lostMtc: number;
  /** CYC packets since the last TSC that could not be used. */
  readonly lostCyc: number;
}

export class TraceClock {
  readonly calibration: TimeCalibration;
  readonly estimate: TscEstimate;
  /** Between PSB and PSBEND. */
  inHeader = false;
  /** Timing packets that gave no time: bad values, or CPUID 0x15 missing. */
  errors = 0;
  /** Packets that time moves with: TSC, TMA, MTC and CYC. One may say what the one before said. */
  moves = 0;
  /** All CYC packets, and the sum of what they say; a gap does not set them back. */
  cycPackets = 0;
  totalCycles = 0;
  #hasMoved = false;
  #lastTscLo = 0;
  #lastTscHi = 0;
  /** Ticks from MTC to MTC; negative without CPUID 0x15. */
  readonly #mtcPeriodTicks: number;
  #hasMtc = false;

  constructor(settings: TimeSettings = NO_TIME_SETTINGS) {
    this.calibration = new TimeCalibration(settings);
    this.estimate = new TscEstimate(settings);
    this.#mtcPeriodTicks = ticksOfCtc(2 ** settings.mtcFreq, settings);
  }

  /** Unsigned halves of the estimated TSC. */
  get tscLo(): number {
    return this.estimate.tscLo;
  }

  get tscHi(): number {
    return this.estimate.tscHi;
  }

  /** After a gap: nothing of before may be used. */
  reset(): void {
    this.calibration.reset();
    this.estimate.reset();
    this.inHeader = false;
    this.#hasMoved = false;
    this.#hasMtc = false;
  }

  /** Takes any packet; true where it told of time. */
  update(packet: Readonly<Packet>): boolean {
    const { calibration, estimate } = this;
    switch (packet.kind) {
      case PACKET_CYC:
        return this.cycles(toFloat(packet.lo >>> 0, packet.hi >>> 0));
      case PACKET_MTC:
        this.#hasMtc = true;
        this.moves++;
        return this.#told(Math.min(calibration.mtc(packet.lo), estimate.mtc(packet.lo)));
      case PACKET_TSC:
        this.moves++;
        this.#lastTscLo = packet.lo >>> 0;
        this.#lastTscHi = packet.hi >>> 0;
        calibration.tsc(toFloat(packet.lo >>> 0, packet.hi >>> 0), this.inHeader);
        return this.#told(estimate.tsc(packet.lo, packet.hi));
      case PACKET_TMA:
        this.moves++;
        return this.#told(estimate.tma(packet.lo, packet.extra));
      case PACKET_CBR:
        return this.#told(Math.min(calibration.cbr(packet.lo, this.inHeader), estimate.cbr(packet.lo)));
      case PACKET_PSB:
        this.inHeader = true;
        calibration.psb();
        return false;
      case PACKET_PSBEND:
        this.inHeader = false;
        return false;
      case PACKET_OVF:
        calibration.reset();
        return false;
      default:
        return false;
    }
  }

  /** What a CYC packet says. */
  cycles(cycles: number): boolean {
    const { calibration } = this;
    this.moves++;
    this.cycPackets++;
    this.totalCycles += cycles;
    const ratio = calibration.ratio();
    calibration.cyc(cycles);
    const spread = ratio > 0 ? calibration.maxRatio - calibration.minRatio : 0;
    return this.#told(this.estimate.cyc(cycles, ratio, spread));
  }

  certainty(): TimeCertainty {
    const { hasTsc, errorTicks, lostMtc, lostCyc } = this.estimate;
    return {
      lastTsc: hasTsc ? toBigInt(this.#lastTscLo, this.#lastTscHi) : null,
      clock: hasTsc ? 'wall' : this.#hasMoved ? 'relative' : 'none',
      errorTicks: hasTsc && Number.isFinite(errorTicks) ? errorTicks : null,
      sinceTicks: this.#hasMtc && this.#mtcPeriodTicks > 0 ? this.#mtcPeriodTicks : null,
      lostMtc,
      lostCyc,
    };
  }

  #told(code: number): boolean {
    if (code < 0) this.errors++;
    else this.#hasMoved = true;
    return true;
  }
}
