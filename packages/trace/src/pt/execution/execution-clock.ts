/** How fast what runs; the defaults are those of a 3 GHz core with a 2.1 GHz TSC and a 25 MHz crystal. */
export interface ClockRates {
  /** CBR: the core's clock in units of the bus (100 MHz). */
  coreRatio: number;
  /** MSR_PLATFORM_INFO's ratio: the TSC's clock in the same units. */
  nomFreq: number;
  /** CPUID 15H: the TSC runs ebx/eax times as fast as the crystal. */
  cpuid15Eax: number;
  /** See `cpuid15Eax`. */
  cpuid15Ebx: number;
  /** MTC is sent each 2^mtcFreq ticks of the crystal. */
  mtcFreq: number;
  /** TSC at the beginning. */
  startTsc: number;
}

/** A core of 3 GHz, a TSC of 2.1 GHz, a crystal of 25 MHz. */
export const DEFAULT_RATES: ClockRates = {
  coreRatio: 30,
  nomFreq: 21,
  cpuid15Eax: 1,
  cpuid15Ebx: 84,
  mtcFreq: 3,
  startTsc: 0x123_4567_89ab,
};

/** The clocks of a CPU, all derived from the cycles of its core. Float64: exact for months. */
export class ExecutionClock {
  readonly rates: ClockRates;
  #cycles = 0;

  constructor(rates: ClockRates) {
    this.rates = rates;
  }

  advance(cycles: number): void {
    this.#cycles += cycles;
  }

  get coreCycles(): number {
    return this.#cycles;
  }

  get tsc(): number {
    const { startTsc, nomFreq, coreRatio } = this.rates;
    return startTsc + Math.floor((this.#cycles * nomFreq) / coreRatio);
  }

  /** Ticks of the crystal, the SDM's ART. */
  get crystal(): number {
    return Math.floor((this.tsc * this.rates.cpuid15Eax) / this.rates.cpuid15Ebx);
  }

  /** Number of the MTC that is due last. */
  get mtc(): number {
    return Math.floor(this.crystal / 2 ** this.rates.mtcFreq);
  }

  /** No later than the cycle in which that MTC is due. */
  cyclesOfMtc(number: number): number {
    const { startTsc, nomFreq, coreRatio, cpuid15Eax, cpuid15Ebx, mtcFreq } = this.rates;
    const tsc = Math.floor((number * 2 ** mtcFreq * cpuid15Ebx) / cpuid15Eax);
    return Math.floor(((tsc - startTsc) * coreRatio) / nomFreq);
  }

  /** TMA's fast counter: TSC ticks since the crystal's last. */
  get fastCounter(): number {
    const { cpuid15Eax, cpuid15Ebx } = this.rates;
    return this.tsc - Math.ceil((this.crystal * cpuid15Ebx) / cpuid15Eax);
  }
}
